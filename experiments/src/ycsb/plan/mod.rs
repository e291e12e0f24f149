//! The plan of a run: which operation every worker carries out when, and what has to come of it.
//!
//! A plan is made before the clock starts and is the same for all contenders. It is immutable and free of references, so
//! that an `Arc<Plan>` can be handed to threads and tasks alike. A contender asks it for the requests of its workers,
//! one after another, and gives every result back to one of the `check_…` functions; afterwards it shows everything it
//! holds to an [`Audit`].
//!
//! | file | what it holds |
//! |---|---|
//! | `operation` | an operation, packed and unpacked |
//! | `generate` | making the traces of a workload |
//! | `check` | judging the result of one operation |
//! | `audit` | judging everything that is there after a run |

mod audit;
mod check;
mod generate;
mod operation;
#[cfg(test)]
mod tests;

pub use audit::{Audit, WriteOrder};
pub use check::{ScanCheck, Wrong};
pub use generate::Past;
pub use operation::{Kind, MAX_RECORDS, MAX_SCAN_LENGTH, Operation, Request};

use super::keyspace::{Keyspace, stamp};

/// How many operations of its own worker later a record is taken as inserted.
///
/// Operation `i` of a worker names only records that were there before the run, or that operation `j` of the *same*
/// worker inserts with `j + ACKNOWLEDGED_AFTER <= i`. (YCSB, too, picks among acknowledged inserts only.) A contender
/// that has several operations of a worker under way at once has to see to it that these inserts are complete before it
/// begins operation `i`; one that carries them out one by one has nothing to do.
pub const ACKNOWLEDGED_AFTER: usize = 1024;

/// The operations of one worker.
enum Trace {
    /// Inserts records `first`, `first + stride`, …: nothing needs to be kept for it.
    Load { first: u64, stride: u64, length: usize },
    /// What a workload asks for.
    Run { operations: Box<[Operation]>, scans: ScanBounds },
}

/// What is known about the results of a worker's scans; empty where a workload has none.
#[derive(Default)]
struct ScanBounds {
    /// For every operation, the greatest last key that is right.
    last_keys: Box<[u64]>,
    /// For every [`EXACT_SCANS`]th operation, the place of the first of the keys that were there before the run.
    places: Box<[u32]>,
}

/// Every which scan is checked key by key. The check needs a key out of the middle of all, which is not in the caches:
/// done for every scan, it would be felt.
const EXACT_SCANS: usize = 16;

impl Trace {
    fn len(&self) -> usize {
        match self {
            Trace::Load { length, .. } => *length,
            Trace::Run { operations, .. } => operations.len(),
        }
    }

    #[inline]
    fn operation(&self, index: usize) -> Operation {
        match self {
            Trace::Load { first, stride, .. } => {
                Operation::new(Kind::Insert, first + stride * index as u64, 0)
            }
            Trace::Run { operations, .. } => operations[index],
        }
    }
}

/// What the workers of a run do, and how to tell whether it was done right.
pub struct Plan {
    keyspace: Keyspace,
    traces: Box<[Trace]>,
    /// The sequence number of every worker's first operation, and one past the last of all.
    sequences: Box<[u32]>,
    records_before: u64,
    records_after: u64,
    /// The keys that are there before the run, ascending, if there are scans to be checked.
    sorted: Box<[u64]>,
}

impl Plan {
    /// The plan that inserts records `0..records` into an empty contender: worker after worker takes the next record,
    /// as YCSB's clients do.
    pub fn load(keyspace: Keyspace, records: u64, workers: usize) -> Self {
        let stride = workers as u64;
        let traces = (0..stride)
            .map(|first| Trace::Load {
                first,
                stride,
                length: records.saturating_sub(first).div_ceil(stride) as usize,
            })
            .collect();
        Self::assemble(keyspace, traces, 0, 0, records, Box::default())
    }

    fn assemble(
        keyspace: Keyspace,
        traces: Box<[Trace]>,
        first_sequence: u32,
        records_before: u64,
        records_after: u64,
        sorted: Box<[u64]>,
    ) -> Self {
        let mut next = first_sequence;
        let sequences = std::iter::once(next)
            .chain(traces.iter().map(|trace| {
                let length =
                    u32::try_from(trace.len()).expect("sequence numbers were counted before any work");
                next = next.checked_add(length).expect("sequence numbers were counted before any work");
                next
            }))
            .collect();
        Self { keyspace, traces, sequences, records_before, records_after, sorted }
    }

    /// How many workers there are traces for.
    pub fn workers(&self) -> usize {
        self.traces.len()
    }

    /// How many operations a worker carries out.
    pub fn length(&self, worker: usize) -> usize {
        self.traces[worker].len()
    }

    /// How many operations all workers carry out together.
    pub fn operations(&self) -> u64 {
        u64::from(self.end_sequence() - self.first_sequence())
    }

    /// How many records are there before the run; they are numbered from zero.
    pub fn records_before(&self) -> u64 {
        self.records_before
    }

    /// How many records have to be there after the run.
    pub fn records_after(&self) -> u64 {
        self.records_after
    }

    /// Which key a record has.
    pub fn keyspace(&self) -> &Keyspace {
        &self.keyspace
    }

    /// An operation of a worker, for messages and tests.
    #[inline]
    pub fn operation(&self, worker: usize, index: usize) -> Operation {
        self.traces[worker].operation(index)
    }

    /// An operation of a worker, as it is to be carried out.
    #[inline]
    pub fn request(&self, worker: usize, index: usize) -> Request {
        let operation = self.traces[worker].operation(index);
        let key = self.keyspace.key(operation.record());
        let value = || stamp(key, self.sequences[worker] + index as u32);
        match operation.kind() {
            Kind::Read => Request::Read { key },
            Kind::Update => Request::Update { key, value: value() },
            Kind::Insert => Request::Insert { key, value: value() },
            Kind::Scan => Request::Scan { from: key, length: operation.scan_length() },
            Kind::ReadModifyWrite => Request::ReadModifyWrite { key, value: value() },
        }
    }

    /// What is left for a run that comes after this one on the same contender.
    pub fn past(&self) -> Past {
        Past { records: self.records_after, next_sequence: self.end_sequence() }
    }

    fn first_sequence(&self) -> u32 {
        self.sequences[0]
    }

    /// One past the greatest sequence number that has been given out.
    fn end_sequence(&self) -> u32 {
        self.sequences[self.sequences.len() - 1]
    }

    /// Which operation of this plan, as worker and index, has a sequence number.
    fn locate(&self, sequence: u32) -> Option<(usize, usize)> {
        if !(self.first_sequence()..self.end_sequence()).contains(&sequence) {
            return None;
        }
        let worker = self.sequences.partition_point(|first| *first <= sequence) - 1;
        Some((worker, (sequence - self.sequences[worker]) as usize))
    }
}
