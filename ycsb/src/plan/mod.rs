//! The plan of a run: the operations of every worker, and the checks of their results.
//!
//! A plan is generated before the clock starts, and is the same for all contenders. It is
//! immutable, so that threads and tasks can share an `Arc<Plan>`. A contender takes the requests of
//! its workers from it, passes every result to one of the `check_…` functions, and finally shows
//! all entries to an [`Audit`].
//!
//! | file | what it holds |
//! |---|---|
//! | `operation` | an operation, packed and unpacked |
//! | `generate` | the generation of traces |
//! | `check` | checks of single results |
//! | `audit` | the audit of all entries after a run |

mod audit;
mod check;
mod generate;
mod operation;
#[cfg(test)]
mod tests;

pub use audit::{Audit, WriteOrder};
pub use check::ScanCheck;
pub use generate::Past;
pub use operation::{MAX_RECORDS, MAX_SCAN_LENGTH, Operation, OperationKind, Request};

use super::keyspace::{Keyspace, stamp};

/// The number of operations of the same worker after which an inserted record may be used.
///
/// Operation `i` of a worker uses only records from before the run, or records that operation `j`
/// of the *same* worker inserts with `j + ACKNOWLEDGED_AFTER <= i`. (YCSB also picks among
/// acknowledged inserts only.) A contender with several operations of a worker in flight must
/// complete these inserts before it begins operation `i`. One that carries out operations one by
/// one does so anyway.
pub const ACKNOWLEDGED_AFTER: usize = 1024;

/// The operations of one worker.
enum Trace {
    /// Inserts records `first`, `first + stride`, …; computed, not stored.
    Load { first: u64, stride: u64, length: usize },
    /// The operations of a workload.
    Run { operations: Box<[Operation]>, scans: ScanBounds },
}

/// The expected bounds of a worker's scans; empty if a workload has none.
#[derive(Default)]
struct ScanBounds {
    /// For every operation, the greatest valid last key.
    last_keys: Box<[u64]>,
    /// For every [`EXACT_SCANS`]th operation, the position in `Plan::sorted` of its first key from
    /// before the run.
    positions: Box<[u32]>,
}

/// The interval of operations at which a scan is compared key by key. This misses the caches, and
/// would slow down the run if it were done for every scan.
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
                Operation::new(OperationKind::Insert, first + stride * index as u64, 0)
            }
            Trace::Run { operations, .. } => operations[index],
        }
    }
}

/// The operations of a run, and the data to check their results.
pub struct Plan {
    keyspace: Keyspace,
    traces: Box<[Trace]>,
    /// The sequence number of every worker's first operation, and one past the last number.
    sequences: Box<[u32]>,
    records_before: u64,
    records_after: u64,
    /// The keys before the run in ascending order, if there are scans to check.
    sorted: Box<[u64]>,
}

impl Plan {
    /// Creates the plan that inserts records `0..records` into an empty contender. Workers take
    /// records round-robin, as YCSB's clients do.
    ///
    /// # Panics
    ///
    /// If there are no workers, or records for more than 2^32 - 1 sequence numbers.
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
                let length = u32::try_from(trace.len()).expect("sequence numbers have 32 bits");
                next = next.checked_add(length).expect("sequence numbers have 32 bits");
                next
            }))
            .collect();
        Self { keyspace, traces, sequences, records_before, records_after, sorted }
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.traces.len()
    }

    /// Returns the number of operations of a worker.
    pub fn length(&self, worker: usize) -> usize {
        self.traces[worker].len()
    }

    /// Returns the number of operations of all workers.
    pub fn operations(&self) -> u64 {
        u64::from(self.end_sequence() - self.first_sequence())
    }

    /// Returns the number of records before the run; they are numbered from zero.
    pub fn records_before(&self) -> u64 {
        self.records_before
    }

    /// Returns the number of records after the run.
    pub fn records_after(&self) -> u64 {
        self.records_after
    }

    /// Returns the bijection between records and keys.
    pub fn keyspace(&self) -> &Keyspace {
        &self.keyspace
    }

    /// Returns an operation of a worker.
    #[inline]
    pub fn operation(&self, worker: usize, index: usize) -> Operation {
        self.traces[worker].operation(index)
    }

    /// Returns an operation of a worker as a request with key and value.
    #[inline]
    pub fn request(&self, worker: usize, index: usize) -> Request {
        let operation = self.traces[worker].operation(index);
        let key = self.keyspace.key(operation.record());
        let value = || stamp(key, self.sequences[worker] + index as u32);
        match operation.kind() {
            OperationKind::Read => Request::Read { key },
            OperationKind::Update => Request::Update { key, value: value() },
            OperationKind::Insert => Request::Insert { key, value: value() },
            OperationKind::Scan => Request::Scan { from: key, length: operation.scan_length() },
            OperationKind::ReadModifyWrite => Request::ReadModifyWrite { key, value: value() },
        }
    }

    /// Returns the state that this plan leaves behind, from which the next run on the same
    /// contender starts.
    pub fn past(&self) -> Past {
        Past { records: self.records_after, next_sequence: self.end_sequence() }
    }

    fn first_sequence(&self) -> u32 {
        self.sequences[0]
    }

    /// Returns one past the last sequence number.
    fn end_sequence(&self) -> u32 {
        self.sequences[self.sequences.len() - 1]
    }

    /// Returns worker and index of the operation with a sequence number, or `None` if it is not in
    /// this plan.
    fn locate(&self, sequence: u32) -> Option<(usize, usize)> {
        if !(self.first_sequence()..self.end_sequence()).contains(&sequence) {
            return None;
        }
        let worker = self.sequences.partition_point(|first| *first <= sequence) - 1;
        Some((worker, (sequence - self.sequences[worker]) as usize))
    }
}
