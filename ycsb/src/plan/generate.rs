//! Generates the traces of a workload. All random numbers are drawn here, before the clock starts.

use super::{ACKNOWLEDGED_AFTER, EXACT_SCANS, Operation, OperationKind, Plan, ScanBounds, Trace};
use crate::distribution::{Latest, Scrambled, Zipfian};
use crate::keyspace::Keyspace;
use crate::workload::{RequestDistribution, ScanLengths, Workload};
use std::thread;
use xtasking_harness_core::random::Random;

/// The state of a contender before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    /// The number of records, which are numbered from zero.
    pub records: u64,
    /// The first sequence number that has not been given out.
    pub next_sequence: u32,
}

impl Plan {
    /// Generates the plan of a run: `operations` of a workload, divided among the workers. Equal
    /// arguments give equal plans.
    ///
    /// # Panics
    ///
    /// If there are no workers or no records before the run, or too few sequence numbers are left.
    pub fn run(
        keyspace: Keyspace,
        workload: &Workload,
        operations: u64,
        workers: usize,
        past: Past,
        seed: u64,
    ) -> Self {
        let lengths = shares(operations, workers);
        let kinds = draw_kinds(workload, &lengths, past, seed);
        let (inserted, records_after) = number_inserts(&kinds, past.records);
        let sorted = workload.scans().then(|| SortedKeys::new(keyspace, past.records));
        let generator = Generator { workload, keyspace, past, operations, seed, sorted: sorted.as_ref() };
        let inputs: Vec<_> = kinds.into_iter().zip(inserted).collect();
        let traces =
            on_all_cores(inputs, |worker, (kinds, inserted)| generator.trace(worker, &kinds, &inserted));
        let sorted = sorted.map(|sorted| sorted.keys.into()).unwrap_or_default();
        Self::assemble(keyspace, traces.into(), past.next_sequence, past.records, records_after, sorted)
    }
}

/// Returns the number of operations of each worker; they differ by at most one.
fn shares(operations: u64, workers: usize) -> Vec<usize> {
    let (share, rest) = (operations / workers as u64, operations % workers as u64);
    (0..workers as u64).map(|worker| (share + u64::from(worker < rest)) as usize).collect()
}

/// The random number streams of a worker.
#[derive(Clone, Copy)]
enum Stream {
    Kinds,
    Records,
}

/// Creates a stream. The first sequence number makes the streams of runs differ.
fn stream(seed: u64, stream: Stream, worker: usize, past: Past) -> Random {
    Random::new(seed, &[stream as u64, worker as u64, u64::from(past.next_sequence)])
}

/// Draws the kind of every operation of every worker.
fn draw_kinds(workload: &Workload, lengths: &[usize], past: Past, seed: u64) -> Vec<Vec<OperationKind>> {
    let mix = workload.mix();
    lengths
        .iter()
        .enumerate()
        .map(|(worker, &length)| {
            let mut random = stream(seed, Stream::Kinds, worker, past);
            (0..length).map(|_| mix.draw(&mut random)).collect()
        })
        .collect()
}

/// Numbers the records that workers insert, in the order in which workers of equal speed insert
/// them. Returns the records of each worker, and the number of records after the run.
fn number_inserts(kinds: &[Vec<OperationKind>], records: u64) -> (Vec<Vec<u64>>, u64) {
    let mut inserted = vec![Vec::new(); kinds.len()];
    let mut next = records;
    for index in 0..kinds.iter().map(Vec::len).max().unwrap_or(0) {
        for (kinds, inserted) in kinds.iter().zip(&mut inserted) {
            if kinds.get(index) == Some(&OperationKind::Insert) {
                inserted.push(next);
                next += 1;
            }
        }
    }
    (inserted, next)
}

/// Maps inputs to outputs in order, with one thread per core.
fn on_all_cores<I: Send, O: Send>(inputs: Vec<I>, work: impl Fn(usize, I) -> O + Sync) -> Vec<O> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(inputs.len());
    let chunk = inputs.len().div_ceil(threads.max(1)).max(1);
    let mut inputs: Vec<_> = inputs.into_iter().enumerate().collect();
    let mut chunks = Vec::new();
    while !inputs.is_empty() {
        let rest = inputs.split_off(chunk.min(inputs.len()));
        chunks.push(std::mem::replace(&mut inputs, rest));
    }
    thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = chunks
            .into_iter()
            .map(|chunk| {
                scope.spawn(move || chunk.into_iter().map(|(i, input)| work(i, input)).collect::<Vec<_>>())
            })
            .collect();
        running
            .into_iter()
            .flat_map(|thread| thread.join().expect("generating a trace does not panic"))
            .collect()
    })
}

/// Draws the record of a request.
enum Chooser {
    Uniform,
    Scrambled(Scrambled),
    Latest(Latest),
}

/// Draws the length of a scan.
enum Lengths {
    Uniform { min: u64, count: u64 },
    Zipfian { min: u64, zipfian: Zipfian },
}

struct Generator<'a> {
    workload: &'a Workload,
    keyspace: Keyspace,
    past: Past,
    operations: u64,
    seed: u64,
    sorted: Option<&'a SortedKeys>,
}

impl Generator<'_> {
    fn trace(&self, worker: usize, kinds: &[OperationKind], inserted: &[u64]) -> Trace {
        let mut random = stream(self.seed, Stream::Records, worker, self.past);
        let (mut chooser, mut lengths) = (self.chooser(), self.lengths());
        let mut operations = Vec::with_capacity(kinds.len());
        let (mut last_keys, mut positions) = (Vec::new(), Vec::new());
        // `begun` inserts precede this operation; the first `acknowledged` of them do so by at
        // least `ACKNOWLEDGED_AFTER` operations.
        let (mut begun, mut acknowledged) = (0, 0);
        for (index, &kind) in kinds.iter().enumerate() {
            if index >= ACKNOWLEDGED_AFTER && kinds[index - ACKNOWLEDGED_AFTER] == OperationKind::Insert {
                acknowledged += 1;
            }
            let record = if kind == OperationKind::Insert {
                begun += 1;
                inserted[begun - 1]
            } else {
                self.existing(&mut chooser, &inserted[..acknowledged], &mut random)
            };
            let length = if kind == OperationKind::Scan { lengths.draw(&mut random) } else { 0 };
            operations.push(Operation::new(kind, record, length));
            if let Some(sorted) = self.sorted {
                let (position, last_key) = match kind {
                    OperationKind::Scan => sorted.expect(self.keyspace, record, length),
                    _ => (0, u64::MAX),
                };
                last_keys.push(last_key);
                if index % EXACT_SCANS == 0 {
                    positions.push(position);
                }
            }
        }
        let scans = ScanBounds { last_keys: last_keys.into(), positions: positions.into() };
        Trace::Run { operations: operations.into(), scans }
    }

    fn chooser(&self) -> Chooser {
        let theta = self.workload.zipfian_constant;
        match self.workload.request_distribution {
            RequestDistribution::Uniform => Chooser::Uniform,
            RequestDistribution::Zipfian => {
                // YCSB spreads the frequent records over twice the expected inserts as well; a
                // record that does not exist yet is drawn again.
                let expected = self.operations as f64 * self.workload.proportion(OperationKind::Insert) * 2.0;
                Chooser::Scrambled(Scrambled::new(self.past.records + expected as u64, theta))
            }
            RequestDistribution::Latest => Chooser::Latest(Latest::new(self.past.records, theta)),
        }
    }

    fn lengths(&self) -> Lengths {
        let (min, max) = (self.workload.min_scan_length, self.workload.max_scan_length);
        let count = max - min + 1;
        match self.workload.scan_lengths {
            ScanLengths::Uniform => Lengths::Uniform { min, count },
            // The constant of YCSB's generator, independent of that of the requests.
            ScanLengths::Zipfian => Lengths::Zipfian { min, zipfian: Zipfian::new(count, 0.99) },
        }
    }

    /// Draws an existing record: one from before the run, or an acknowledged one of this worker.
    fn existing(&self, chooser: &mut Chooser, acknowledged: &[u64], random: &mut Random) -> u64 {
        let before = self.past.records;
        match chooser {
            Chooser::Uniform => random.below(before),
            Chooser::Scrambled(scrambled) => loop {
                let record = scrambled.draw(random);
                if record < before || acknowledged.binary_search(&record).is_ok() {
                    return record;
                }
            },
            Chooser::Latest(latest) => {
                let own = acknowledged.len() as u64;
                let age = latest.draw(before + own, random);
                if age < own { acknowledged[(own - 1 - age) as usize] } else { before - 1 - (age - own) }
            }
        }
    }
}

impl Lengths {
    fn draw(&mut self, random: &mut Random) -> u64 {
        match self {
            Lengths::Uniform { min, count } => *min + random.below(*count),
            Lengths::Zipfian { min, zipfian } => *min + zipfian.draw(random),
        }
    }
}

/// The keys before a run in ascending order, from which the end of every scan is computed.
struct SortedKeys {
    keys: Vec<u64>,
    /// The position of every record's key in `keys`.
    ranks: Vec<u32>,
}

impl SortedKeys {
    fn new(keyspace: Keyspace, records: u64) -> Self {
        let mut keys: Vec<u64> = (0..records).map(|record| keyspace.key(record)).collect();
        keys.sort_unstable();
        let mut ranks = vec![0; records as usize];
        for (rank, &key) in keys.iter().enumerate() {
            ranks[keyspace.record(key) as usize] = rank as u32;
        }
        Self { keys, ranks }
    }

    /// Computes the bounds of a scan of `length` entries from `record`: the position of its first
    /// key from before the run, and its greatest possible last key, which is `u64::MAX` if the key
    /// space may end before. Concurrent inserts can only make the last key smaller.
    fn expect(&self, keyspace: Keyspace, record: u64, length: u64) -> (u32, u64) {
        let key = keyspace.key(record);
        let (position, last) = match self.ranks.get(record as usize) {
            Some(&rank) => (rank, u64::from(rank) + length - 1),
            None => {
                // This run inserts the record; the scan has it first, and then the others.
                let position = self.keys.partition_point(|other| *other < key) as u32;
                if length == 1 {
                    return (position, key);
                }
                (position, u64::from(position) + length - 2)
            }
        };
        (position, self.keys.get(last as usize).copied().unwrap_or(u64::MAX))
    }
}
