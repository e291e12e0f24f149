//! A table, its partitions, and the tasks of a batch.

use crate::answer::{Answers, Failure};
use crate::partition::{Found, Partition};
use crate::plan::{Asked, Columns, Planned};
use crate::request::Batch;
use arrow_schema::SchemaRef;
use std::ops::Range;
use std::sync::Arc;
use xtasking::{Context, Handle, Object, Plain, Promise, Runtime, Sequencing};

/// A table: rows in memory, in partitions that are scanned side by side.
///
/// Each partition is an [object](xtasking::Object) of the runtime, and a batch is a task on each of them. All batches are
/// sent by an object of their own, so that they pass over every partition in the same order: each sees all that earlier
/// ones have changed, and nothing of later ones.
pub struct Table {
    columns: Columns,
    partitions: Arc<[Object<Plain<Partition>>]>,
    gate: Object<Plain<Gate>>,
}

/// Which batches come in which order.
struct Gate {
    /// The partition that takes the first of the next rows.
    turn: usize,
}

/// A batch whose requests were checked. Those that failed are left out.
struct Sent {
    changes: Vec<Planned>,
    queries: Vec<Asked>,
}

/// What the partitions have made of a batch so far.
struct Gathered {
    left: usize,
    changed: Vec<u64>,
    found: Vec<Option<Found>>,
    sent: Arc<Sent>,
    /// The failures of those that were left out, by their places in the batch.
    failed: Failed,
    promise: Option<Promise<Answers>>,
}

struct Failed {
    changes: Vec<(usize, Failure)>,
    queries: Vec<(usize, Failure)>,
}

/// Rows of a chunk: a column of them takes half of a first cache of 32 KiB.
const ROWS: usize = 2048;

impl Table {
    /// An empty table of so many partitions (at least one), each of which belongs to a worker's pool.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] for a column of a type that a table cannot have.
    pub fn new(rt: &Runtime, schema: SchemaRef, partitions: usize) -> Result<Self, Failure> {
        let columns = Columns::new(schema)?;
        let partition = |_| {
            let partition = Partition::new(columns.kinds.clone(), ROWS);
            rt.plain(partition).pin(Sequencing).build()
        };
        let partitions = (0..partitions.max(1)).map(partition).collect();
        let gate = rt.plain(Gate { turn: 0 }).pin(Sequencing).build();
        Ok(Self { columns, partitions, gate })
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.columns.schema
    }

    /// Serves a batch, and waits for its answers. Whoever cannot block awaits what [`send`](Self::send) gives.
    ///
    /// # Errors
    ///
    /// [`Failure::Lost`] if the runtime stops meanwhile, or on a worker of the same runtime. Whether a single request was
    /// served is among the answers.
    pub fn run(&self, rt: &Runtime, batch: Batch) -> Result<Answers, Failure> {
        self.send(rt, batch).join().map_err(|error| Failure::Lost(error.to_string()))
    }

    /// Sends a batch on its way. Batches of one thread, or of one task, are served in the order in which they were sent.
    pub fn send(&self, rt: &Runtime, batch: Batch) -> Handle<Answers> {
        let (promise, handle) = rt.promise();
        let (changes, failed_changes) = split(batch.changes.iter().map(|change| self.columns.plan(change)));
        let (queries, failed_queries) = split(batch.queries.iter().map(|query| self.columns.ask(query)));
        let sent = Arc::new(Sent { changes, queries });
        let gathered = Gathered {
            left: self.partitions.len(),
            changed: vec![0; sent.changes.len()],
            found: sent.queries.iter().map(|query| Some(Found::new(&query.gives))).collect(),
            sent: sent.clone(),
            failed: Failed { changes: failed_changes, queries: failed_queries },
            promise: Some(promise),
        };
        let gathered = rt.plain(gathered).pin(Sequencing).build();
        let partitions = self.partitions.clone();
        rt.task(self.gate.write()).spawn(move |gate, cx| {
            pass(cx, &partitions, gate.turn, &sent, &gathered);
            gate.turn = (gate.turn + 1) % partitions.len();
        });
        handle
    }
}

/// Sends a batch to all partitions, of which that of this turn takes the first new rows.
fn pass(
    cx: &mut Context,
    partitions: &[Object<Plain<Partition>>],
    turn: usize,
    sent: &Arc<Sent>,
    gathered: &Object<Plain<Gathered>>,
) {
    let count = partitions.len();
    for (number, partition) in partitions.iter().enumerate() {
        let (sent, gathered) = (sent.clone(), gathered.clone());
        let place = (number + count - turn) % count;
        cx.task(partition.write()).spawn(move |partition, cx| {
            let counts = partition.change(&sent.changes, |rows| part(rows, place, count));
            let found = partition.answer(&sent.queries);
            cx.task(gathered.write()).spawn(move |gathered, _| gathered.add(counts, found));
        });
    }
}

/// One of so many alike parts of rows. If there is only one row it is in the first.
fn part(rows: usize, place: usize, count: usize) -> Range<usize> {
    let end = |parts: usize| (rows * parts).div_ceil(count);
    end(place)..end(place + 1)
}

/// Those that are right, and the failures of the others with their places.
fn split<T>(all: impl Iterator<Item = Result<T, Failure>>) -> (Vec<T>, Vec<(usize, Failure)>) {
    let (mut right, mut failed) = (Vec::new(), Vec::new());
    for (place, one) in all.enumerate() {
        match one {
            Ok(one) => right.push(one),
            Err(failure) => failed.push((place, failure)),
        }
    }
    (right, failed)
}

impl Gathered {
    /// Adds what a partition has made of the batch; the last one's completes it.
    fn add(&mut self, counts: Vec<u64>, found: Vec<Found>) {
        self.changed.iter_mut().zip(counts).for_each(|(all, more)| *all += more);
        for (all, more) in self.found.iter_mut().zip(found) {
            if let Some(all) = all {
                all.merge(more);
            }
        }
        self.left -= 1;
        if self.left == 0
            && let Some(promise) = self.promise.take()
        {
            let found = self.found.iter_mut().zip(&self.sent.queries);
            let rows = found.filter_map(|(found, asked)| found.take().map(|found| found.finish(asked)));
            let answers = Answers {
                changed: put_back(self.changed.drain(..).map(Ok), std::mem::take(&mut self.failed.changes)),
                rows: put_back(rows, std::mem::take(&mut self.failed.queries)),
            };
            promise.fulfil(answers);
        }
    }
}

/// Puts failures back to their places among the others.
fn put_back<T>(
    served: impl Iterator<Item = Result<T, Failure>>,
    failed: Vec<(usize, Failure)>,
) -> Vec<Result<T, Failure>> {
    let mut all: Vec<_> = served.collect();
    // By place, so that each comes to where it was.
    failed.into_iter().for_each(|(place, failure)| all.insert(place, Err(failure)));
    all
}
