//! Replies that come before the last ones of their requests, brought into order.

use crate::engine::Finished;
use crate::resp::ProtocolError;
use std::collections::BTreeMap;

/// The last replies to requests, with their session.
pub(super) struct LastReplies {
    pub(super) finished: Finished,
    /// What was wrong with the bytes after the requests.
    pub(super) error: Option<ProtocolError>,
    /// How many parts come before.
    pub(super) parts: u64,
}

/// What has come of the replies to the requests under way. Tasks of several workers bring them.
#[derive(Default)]
pub(super) struct Parts {
    /// How many were taken.
    taken: u64,
    /// Parts that have come before earlier ones.
    early: BTreeMap<u64, Vec<u8>>,
    end: Option<LastReplies>,
}

impl Parts {
    pub(super) fn put(&mut self, number: u64, replies: Vec<u8>) {
        self.early.insert(number, replies);
    }

    pub(super) fn put_end(&mut self, end: LastReplies) {
        self.end = Some(end);
    }

    /// Takes the next part, if it has come.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let replies = self.early.remove(&self.taken)?;
        self.taken += 1;
        Some(replies)
    }

    /// Takes the end, if it has come and all parts were taken. The next requests begin anew.
    pub(super) fn take_end(&mut self) -> Option<LastReplies> {
        let end = self.end.take_if(|end| end.parts == self.taken)?;
        self.taken = 0;
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_in_order() {
        let mut parts = Parts::default();
        parts.put(1, vec![1]);
        assert_eq!(parts.take(), None);
        parts.put(0, vec![0]);
        assert_eq!([parts.take(), parts.take(), parts.take()], [Some(vec![0]), Some(vec![1]), None]);
    }
}
