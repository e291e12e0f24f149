//! The audit of all entries after a run. It finds what single results cannot show, such as an
//! update that was reported as done and then lost.

use super::{OperationKind, Plan};
use crate::keyspace::sequence;
use xtasking_harness_core::wrong::Wrong;

/// The order in which a contender carries out two writes of one worker to the same record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// The order of the trace: the last write wins.
    Trace,
    /// Any order, because several operations of a worker may be in flight.
    Any,
}

/// Marks a record that has not been shown. No write has this number, as the end of a plan is one
/// past its last number.
const ABSENT: u32 = u32::MAX;

/// Entries that one scan of the audit requests.
const SCAN_CHUNK: usize = 1024;

/// Checks all entries of a contender after a run, in ascending order of keys.
///
/// - Every record is present once, and there are no other entries.
/// - Every value was written by an operation on its record.
/// - A record that this run has written holds one of these writes.
/// - With [`WriteOrder::Trace`], no worker's write is older than a later one of the same worker.
pub struct Audit<'plan> {
    plan: &'plan Plan,
    order: WriteOrder,
    previous: Option<u64>,
    sequences: Vec<u32>,
    shown: u64,
}

impl<'plan> Audit<'plan> {
    /// Creates an audit of the entries after `plan` has run.
    pub fn new(plan: &'plan Plan, order: WriteOrder) -> Self {
        let sequences = vec![ABSENT; plan.records_after as usize];
        Self { plan, order, previous: None, sequences, shown: 0 }
    }

    /// Scans all entries, and checks them. `scan` appends up to a number of entries, in ascending
    /// order, from a key on; `count` is the number of entries that the contender reports.
    ///
    /// # Errors
    ///
    /// The first violation.
    pub fn walk(
        mut self,
        count: u64,
        mut scan: impl FnMut(u64, usize, &mut Vec<(u64, u64)>),
    ) -> Result<(), Wrong> {
        let mut entries = Vec::with_capacity(SCAN_CHUNK);
        let mut from = Some(0);
        while let Some(key) = from {
            entries.clear();
            scan(key, SCAN_CHUNK, &mut entries);
            for &(key, value) in &entries {
                self.entry(key, value)?;
            }
            from = entries.last().and_then(|(last, _)| last.checked_add(1));
        }
        self.finish(count)
    }

    /// Checks the next entry.
    ///
    /// # Errors
    ///
    /// If the key is out of order or unknown, or the value does not belong to it.
    pub fn entry(&mut self, key: u64, value: u64) -> Result<(), Wrong> {
        if let Some(previous) = self.previous.filter(|previous| *previous >= key) {
            return Err(self.plan.about(key, &format!("listed after key {previous:#018x}")));
        }
        self.previous = Some(key);
        let record = self.plan.keyspace.record(key);
        let Some(slot) = self.sequences.get_mut(record as usize) else {
            return Err(self.plan.about(key, "this key was never inserted"));
        };
        self.plan.check_read(key, Some(value))?;
        *slot = sequence(key, value).expect("`check_read` accepted the value");
        self.shown += 1;
        Ok(())
    }

    /// Checks that all entries have been shown and no write is lost; `count` is the number of
    /// entries that the contender reports.
    ///
    /// # Errors
    ///
    /// The first violation.
    pub fn finish(self, count: u64) -> Result<(), Wrong> {
        let expected = self.plan.records_after;
        // Keys ascend strictly and each belongs to a record, so equal numbers mean that none is
        // missing.
        if self.shown != expected {
            let record = self.sequences.iter().position(|sequence| *sequence == ABSENT).unwrap_or_default();
            let what = format!("missing after the run: {} of {expected} keys are present", self.shown);
            return Err(self.plan.about(self.plan.keyspace.key(record as u64), &what));
        }
        if count != expected {
            return Err(Wrong::new(format!("the index reports {count} keys instead of {expected}")));
        }
        self.values_come_from_their_records()?;
        self.writes_are_not_lost()
    }

    /// Checks that every value of this run was written by an operation on its record.
    fn values_come_from_their_records(&self) -> Result<(), Wrong> {
        for (record, &sequence) in self.sequences.iter().enumerate() {
            let Some((worker, index)) = self.plan.locate(sequence) else { continue };
            let operation = self.plan.operation(worker, index);
            if !operation.kind().writes() || operation.record() != record as u64 {
                let what = format!("its value was written by another operation, a {operation:?}");
                return Err(self.plan.about(self.plan.keyspace.key(record as u64), &what).at(worker, index));
            }
        }
        Ok(())
    }

    /// Checks that every write of this run is present, or was overwritten by another write of this
    /// run.
    fn writes_are_not_lost(&self) -> Result<(), Wrong> {
        for worker in 0..self.plan.workers() {
            let (first, end) = (self.plan.sequences[worker], self.plan.sequences[worker + 1]);
            for index in 0..self.plan.length(worker) {
                let operation = self.plan.operation(worker, index);
                if !operation.kind().writes() {
                    continue;
                }
                let found = self.sequences[operation.record() as usize];
                let written = first + index as u32;
                let older_of_this_worker =
                    self.order == WriteOrder::Trace && (first..end).contains(&found) && found < written;
                if found < self.plan.first_sequence() || older_of_this_worker {
                    let key = self.plan.keyspace.key(operation.record());
                    let what = if operation.kind() == OperationKind::Insert {
                        "the insert was lost".to_string()
                    } else {
                        format!("the {} was lost: the record has an older value", operation.kind().name())
                    };
                    return Err(self.plan.about(key, &what).at(worker, index));
                }
            }
        }
        Ok(())
    }
}
