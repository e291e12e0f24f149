//! Messages that a session has not taken yet.

use super::channels::Message;

/// The most bytes of messages that wait for a session.
const MOST_WAITING: usize = 32 << 20;

/// Messages that wait, in the order in which they are to be sent.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: Vec<Message>,
    bytes: usize,
}

/// What a message has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    /// It is the first that waits.
    pub(super) was_empty: bool,
    /// More waits than may.
    pub(super) is_full: bool,
}

impl Inbox {
    /// Adds a message, unless more wait than may.
    pub(super) fn push(&mut self, message: Message) -> Received {
        if self.bytes > MOST_WAITING {
            return Received { was_empty: false, is_full: true };
        }
        let was_empty = self.waiting.is_empty();
        self.bytes += size_of::<Message>() + message.len();
        self.waiting.push(message);
        Received { was_empty, is_full: self.bytes > MOST_WAITING }
    }

    /// Returns how many wait, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.waiting.len(), self.bytes)
    }

    pub(super) fn take(&mut self) -> Vec<Message> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::super::channels::Published;
    use super::{Inbox, MOST_WAITING, Message};

    #[test]
    fn a_session_that_takes_nothing_is_noticed() {
        let mut inbox = Inbox::default();
        let payload = vec![0; MOST_WAITING / 2].into();
        let published = Published { pattern: None, channel: b"c"[..].into(), payload };
        let message = Message::Published(published);
        let first = inbox.push(message.clone());
        assert!(first.was_empty && !first.is_full);
        let second = inbox.push(message.clone());
        assert!(!second.was_empty && second.is_full);
        assert!(inbox.push(message.clone()).is_full);
        assert_eq!(inbox.take().len(), 2);
        assert!(!inbox.push(message).is_full);
    }
}
