//! The slow log: requests that took long.

use super::ClientInfo;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most arguments of an entry. The last one says how many are left out.
const MOST_ARGS: usize = 32;
/// The most bytes of an argument.
const LONGEST_ARG: usize = 128;

/// The last requests that took long.
#[derive(Debug, Default)]
pub struct SlowLog {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// The last one first.
    kept: VecDeque<SlowRequest>,
    next_id: u64,
}

/// A request that took long.
#[derive(Clone, Debug)]
pub struct SlowRequest {
    /// Its number, which no other has had.
    pub id: u64,
    /// When it ran, in seconds since 1970.
    pub at: u64,
    /// How long it took.
    pub microseconds: u64,
    /// Its arguments, without what is too long or secret.
    pub args: Vec<Vec<u8>>,
    /// The address of the client.
    pub address: Box<str>,
    /// The name that the client has given itself.
    pub client_name: Vec<u8>,
}

impl SlowLog {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        // Nothing panics inside.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a request, and forgets the oldest beyond `most`.
    pub(crate) fn push<'a>(
        &self,
        client: &ClientInfo,
        args: impl ExactSizeIterator<Item = &'a [u8]>,
        now: u64,
        microseconds: u64,
        most: usize,
    ) {
        let mut entry = SlowRequest {
            id: 0,
            at: now / 1000,
            microseconds,
            args: shorten(args),
            address: client.address().into(),
            client_name: client.state().name,
        };
        let mut entries = self.lock();
        entry.id = entries.next_id;
        entries.next_id += 1;
        entries.kept.push_front(entry);
        entries.kept.truncate(most);
    }

    /// Returns the last requests, at most `most`, the last one first.
    pub fn last(&self, most: usize) -> Vec<SlowRequest> {
        self.lock().kept.iter().take(most).cloned().collect()
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.lock().kept.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn clear(&self) {
        self.lock().kept.clear();
    }
}

/// Copies arguments, but not too many, and not the end of long ones.
fn shorten<'a>(args: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let count = args.len();
    let kept = if count > MOST_ARGS { MOST_ARGS - 1 } else { count };
    let mut short: Vec<Vec<u8>> = args.take(kept).map(shorten_one).collect();
    if count > kept {
        short.push(format!("... ({} more arguments)", count - kept).into_bytes());
    }
    short
}

fn shorten_one(arg: &[u8]) -> Vec<u8> {
    let Some((kept, rest)) = arg.split_at_checked(LONGEST_ARG).filter(|(_, rest)| !rest.is_empty()) else {
        return arg.to_vec();
    };
    [kept, format!("... ({} more bytes)", rest.len()).as_bytes()].concat()
}
