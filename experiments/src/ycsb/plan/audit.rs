//! Judging everything that is there after a run: what single results cannot show, such as an update that was reported
//! and then lost.

use super::{Kind, Plan, Wrong};
use crate::ycsb::keyspace::sequence;

/// In which order a contender carries out two writes of one worker to the same record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// The order of the trace: the last one wins.
    Trace,
    /// Any order, because several operations of a worker may be under way at once.
    Any,
}

/// Marks a record that has not been shown; never given out, since a plan's end is one past its last number.
const ABSENT: u32 = u32::MAX;

/// How many entries are asked for at once where a contender is walked through.
const CHUNK: usize = 1024;

/// Looks at all entries of a contender after a run, in ascending order of keys.
///
/// Every record must be there once, nothing else may be, every value must have been written by an operation on that very
/// record, and a record that was written in this run must carry one of these writes: by the same worker none that it has
/// overwritten itself.
pub struct Audit<'plan> {
    plan: &'plan Plan,
    order: WriteOrder,
    previous: Option<u64>,
    sequences: Vec<u32>,
    shown: u64,
}

impl<'plan> Audit<'plan> {
    /// An audit of what is there after `plan` has run.
    pub fn new(plan: &'plan Plan, order: WriteOrder) -> Self {
        let sequences = vec![ABSENT; plan.records_after as usize];
        Self { plan, order, previous: None, sequences, shown: 0 }
    }

    /// Shows everything that `scan` gives, which appends so many entries from a key on as a [`ScanCheck`] would have
    /// them, and judges it; `count` is the size that the contender claims to have.
    ///
    /// [`ScanCheck`]: super::ScanCheck
    pub fn walk(
        mut self,
        count: u64,
        mut scan: impl FnMut(u64, usize, &mut Vec<(u64, u64)>),
    ) -> Result<(), Wrong> {
        let mut entries = Vec::with_capacity(CHUNK);
        let mut from = Some(0);
        while let Some(key) = from {
            entries.clear();
            scan(key, CHUNK, &mut entries);
            for &(key, value) in &entries {
                self.entry(key, value)?;
            }
            from = entries.last().and_then(|(last, _)| last.checked_add(1));
        }
        self.finish(count)
    }

    /// Shows the next entry.
    pub fn entry(&mut self, key: u64, value: u64) -> Result<(), Wrong> {
        if let Some(previous) = self.previous.filter(|previous| *previous >= key) {
            return Err(self.plan.about(key, &format!("listed after key {previous:#018x}")));
        }
        self.previous = Some(key);
        let record = self.plan.keyspace.record(key);
        let Some(place) = self.sequences.get_mut(record as usize) else {
            return Err(self.plan.about(key, "this key was never inserted"));
        };
        self.plan.check_read(key, Some(value))?;
        *place = sequence(key, value).expect("the value was just checked");
        self.shown += 1;
        Ok(())
    }

    /// Judges what has been shown; `count` is the size that the contender claims to have.
    pub fn finish(self, count: u64) -> Result<(), Wrong> {
        let expected = self.plan.records_after;
        // Keys ascend and each belongs to a record, so that equal numbers mean that none is missing.
        if self.shown != expected {
            let record = self.sequences.iter().position(|sequence| *sequence == ABSENT).unwrap_or_default();
            let what = format!("missing afterwards: {} of {expected} keys are there", self.shown);
            return Err(self.plan.about(self.plan.keyspace.key(record as u64), &what));
        }
        if count != expected {
            return Err(Wrong::new(format!("it claims to hold {count} keys instead of {expected}")));
        }
        self.values_come_from_their_records()?;
        self.writes_are_not_lost()
    }

    /// Every value written in this run was written by an operation on the record that it is found in.
    fn values_come_from_their_records(&self) -> Result<(), Wrong> {
        for (record, &sequence) in self.sequences.iter().enumerate() {
            let Some((worker, index)) = self.plan.locate(sequence) else { continue };
            let operation = self.plan.operation(worker, index);
            if !operation.kind().writes() || operation.record() != record as u64 {
                let what = format!("its value carries the number of another operation, a {operation:?}");
                return Err(self.plan.about(self.plan.keyspace.key(record as u64), &what).at(worker, index));
            }
        }
        Ok(())
    }

    /// Every write of this run is still there, or has been overwritten by another one of this run.
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
                    let what = if operation.kind() == Kind::Insert {
                        "the insert was lost".to_string()
                    } else {
                        format!(
                            "the {} was lost: an older value is there afterwards",
                            operation.kind().name()
                        )
                    };
                    return Err(self.plan.about(key, &what).at(worker, index));
                }
            }
        }
        Ok(())
    }
}
