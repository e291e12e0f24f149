//! Which values a reply may have.
//!
//! The writes of a record are numbered in the order in which they are sent. A write that is
//! acknowledged replaces those that were acknowledged before it was sent. So a read has the value
//! of one of the writes from such a floor to the last one that is sent before the reply comes. The
//! two are the same unless several connections write the record at the same time. A connection sees
//! its own writes, as its requests are served in order.

use super::records::Values;
use std::collections::VecDeque;
use xtasking_harness::failure::Wrong;

/// What is known of a record.
#[derive(Clone, Copy, Default)]
struct Writes {
    /// The number of the last write that was sent; 0 is the one that loaded the record.
    sent: u32,
    acknowledged: u32,
    /// No read that is sent from now on has the value of an earlier write.
    floor: u32,
    /// The connection of all writes that are under way, or [`SEVERAL`].
    writer: u32,
}

const SEVERAL: u32 = u32::MAX;

/// A write that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Write {
    pub record: u64,
    pub version: u32,
    /// Whether all earlier writes are applied before this one.
    is_ordered: bool,
}

/// The records of a server.
pub(super) struct Oracle {
    records: Vec<Writes>,
    /// Whether each record from `visible` on was acknowledged.
    inserted: VecDeque<bool>,
    visible: u64,
    pub values: Values,
}

impl Oracle {
    /// Makes an oracle for records that are loaded.
    pub fn new(records: u64, values: Values) -> Self {
        let loaded = vec![Writes::default(); records as usize];
        Self { records: loaded, inserted: VecDeque::new(), visible: records, values }
    }

    /// Returns the number of records that can be read: all records of smaller numbers are there.
    pub fn visible(&self) -> u64 {
        self.visible
    }

    /// Adds a record.
    pub fn insert(&mut self) -> u64 {
        self.records.push(Writes::default());
        self.inserted.push_back(false);
        self.records.len() as u64 - 1
    }

    /// Notes that a record was added.
    pub fn inserted(&mut self, record: u64) {
        self.inserted[(record - self.visible) as usize] = true;
        while self.inserted.front() == Some(&true) {
            self.inserted.pop_front();
            self.visible += 1;
        }
    }

    /// Begins a write of a record by a connection.
    pub fn write(&mut self, record: u64, connection: u32) -> Write {
        let writes = &mut self.records[record as usize];
        if writes.acknowledged == writes.sent {
            writes.writer = connection;
        } else if writes.writer != connection {
            writes.writer = SEVERAL;
        }
        writes.sent += 1;
        Write { record, version: writes.sent, is_ordered: writes.writer == connection }
    }

    /// Notes that a write was acknowledged.
    pub fn acknowledge(&mut self, write: Write) {
        let writes = &mut self.records[write.record as usize];
        writes.acknowledged += 1;
        if write.is_ordered {
            writes.floor = writes.floor.max(write.version);
        }
    }

    /// Begins a read by a connection: returns the first write whose value it may have.
    pub fn read(&self, record: u64, connection: u32) -> u32 {
        let writes = &self.records[record as usize];
        let is_own = writes.acknowledged != writes.sent && writes.writer == connection;
        if is_own { writes.sent } else { writes.floor }
    }

    /// Checks what a read has given.
    ///
    /// # Errors
    ///
    /// If it is not the value of a write from `floor` on: says which one belongs there.
    #[inline]
    pub fn check(&self, record: u64, floor: u32, value: &[u8]) -> Result<(), Wrong> {
        let last = self.records[record as usize].sent;
        if (floor..=last).rev().any(|version| self.values.matches(record, version, value)) {
            return Ok(());
        }
        let mut expected = Vec::new();
        self.values.append(record, last, &mut expected);
        Err(Wrong::new(format!(
            "record {record} has the value \"{}\" where that of a write from {floor} to {last} belongs, \
             such as \"{}\"",
            start(value),
            start(&expected)
        )))
    }
}

/// Shows the start of some bytes.
pub(super) fn start(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle() -> Oracle {
        Oracle::new(3, Values { size: 16, seed: 1 })
    }

    /// Returns the writes whose values a read may have.
    fn possible(oracle: &Oracle, record: u64, floor: u32) -> Vec<u32> {
        let is_possible = |version: &u32| {
            let mut value = Vec::new();
            oracle.values.append(record, *version, &mut value);
            oracle.check(record, floor, &value).is_ok()
        };
        (0..10).filter(is_possible).collect()
    }

    #[test]
    fn a_read_has_the_value_of_the_last_write() {
        let mut oracle = oracle();
        assert_eq!(possible(&oracle, 2, oracle.read(2, 0)), [0]);
        let write = oracle.write(2, 0);
        // The writer itself sees it, as requests of a connection are served in order.
        assert_eq!(possible(&oracle, 2, oracle.read(2, 0)), [1]);
        assert_eq!(possible(&oracle, 2, oracle.read(2, 1)), [0, 1]);
        let sent_before = oracle.read(2, 1);
        oracle.acknowledge(write);
        assert_eq!(possible(&oracle, 2, oracle.read(2, 1)), [1]);
        assert_eq!(possible(&oracle, 2, sent_before), [0, 1]);
        assert_eq!(possible(&oracle, 1, oracle.read(1, 1)), [0]);
    }

    #[test]
    fn writes_of_several_connections_have_no_order_until_another_one_follows() {
        let mut oracle = oracle();
        let (first, second) = (oracle.write(0, 0), oracle.write(0, 1));
        oracle.acknowledge(second);
        assert_eq!(possible(&oracle, 0, oracle.read(0, 1)), [0, 1, 2]);
        oracle.acknowledge(first);
        assert_eq!(possible(&oracle, 0, oracle.read(0, 1)), [1, 2]);
        let third = oracle.write(0, 1);
        oracle.acknowledge(third);
        assert_eq!(possible(&oracle, 0, oracle.read(0, 0)), [3]);
    }

    #[test]
    fn a_record_can_be_read_once_all_before_it_are_there() {
        let mut oracle = oracle();
        let (first, second) = (oracle.insert(), oracle.insert());
        oracle.inserted(second);
        assert_eq!((first, second, oracle.visible()), (3, 4, 3));
        oracle.inserted(first);
        assert_eq!(oracle.visible(), 5);
    }
}
