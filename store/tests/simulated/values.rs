//! What a history says of the values of a key.

use std::collections::BTreeMap;

/// What is known of the values of a key.
#[derive(Default)]
pub struct Values {
    pub writers: BTreeMap<u64, usize>,
    /// The last value that each transaction has written.
    pub last: BTreeMap<usize, u64>,
    pub next: BTreeMap<Option<u64>, u64>,
    pub previous: BTreeMap<u64, Option<u64>>,
    /// The transactions that have seen a value as the last one.
    pub reads: Vec<(usize, Option<u64>)>,
    pub is_register: bool,
    /// Of a queue: which transaction has taken a value.
    pub takers: BTreeMap<u64, usize>,
    /// The transactions that have seen these as the first values of a queue.
    pub windows: Vec<(usize, Vec<u64>)>,
    /// The longest list that was seen.
    pub longest: Vec<u64>,
    /// The last transaction that has seen the list or queue, with what it has seen.
    pub final_read: Option<(usize, Vec<u64>)>,
}

impl Values {
    /// Notes that one value follows another. Returns false if something else is known.
    pub fn link(&mut self, previous: Option<u64>, next: u64) -> bool {
        *self.next.entry(previous).or_insert(next) == next
            && *self.previous.entry(next).or_insert(previous) == previous
    }
}
