//! A table, its partitions, and the tasks of a batch.

mod balance;
mod builder;
mod gate;
mod gathered;
mod memory;
mod shares;

use crate::answer::{Answers, Failure};
use crate::chunk::rows_for;
use crate::plan::Columns;
use crate::request::Batch;
use crate::statistics::brought;
use arrow_schema::SchemaRef;
use balance::{Balance, Census};
pub use builder::TableBuilder;
use gate::{Parts, Sent};
use gathered::{Failed, Gathered};
pub use memory::PartitionMemory;
use shares::Shares;
use xtasking::{Handle, Runtime, Sequencing, SpinLatch};

/// A table: rows in memory, in partitions that are scanned side by side.
///
/// Each partition is an [object](xtasking::Object) of the runtime, and a batch is a task on each of them. All batches are
/// sent by an object of their own, so that they pass over every partition in the same order: each sees all that earlier
/// ones have changed, and nothing of later ones.
pub struct Table {
    pub(crate) columns: Columns,
    parts: Parts,
    chunk_rows: usize,
}

impl Table {
    /// An empty table of so many partitions (at least one) with equal shares of the rows, as [`builder`](Self::builder) makes
    /// it that is told nothing else.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] for a column of a type that a table cannot have.
    pub fn new(rt: &Runtime, schema: SchemaRef, partitions: usize) -> Result<Self, Failure> {
        Self::builder(schema).partitions(partitions).build(rt)
    }

    /// A table in the making, of such columns. Whoever knows how large the first cache is says so:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_schema::{DataType, Field, Schema};
    /// use xtasking::Runtime;
    /// use xtasking_columns::Table;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let schema = Arc::new(Schema::new(vec![Field::new("flight", DataType::Int64, false)]));
    /// let table = Table::builder(schema).first_cache(48 << 10).build(&rt)?;
    /// assert_eq!((table.partitions(), table.chunk_rows()), (2, 3072));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(schema: SchemaRef) -> TableBuilder {
        TableBuilder::new(schema)
    }

    /// How many rows a chunk has for a first cache of so many bytes: a column of it takes half, or as nearly as can be.
    pub fn chunk_rows_for(first_cache: u64) -> usize {
        rows_for(first_cache)
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.columns.schema
    }

    /// How many partitions it has.
    pub fn partitions(&self) -> usize {
        self.parts.partitions.len()
    }

    /// How many rows a chunk has at most. All columns of a chunk are scanned while they are in the cache.
    pub fn chunk_rows(&self) -> usize {
        self.chunk_rows
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
        self.send_then(rt, batch, |answers| promise.fulfil(answers));
        handle
    }

    /// The same, with what is to be done with the answers, in a task. It is dropped if there are none.
    pub(crate) fn send_then(&self, rt: &Runtime, batch: Batch, then: impl FnOnce(Answers) + Send + 'static) {
        let (changes, failed_changes) = split(batch.changes.iter().map(|change| self.columns.plan(change)));
        let (queries, failed_queries) = self.columns.ask(&batch.queries);
        let failed = Failed { changes: failed_changes, queries: failed_queries };
        let gathered = Gathered::new(failed, Box::new(then));
        // Whoever has found something adds it there and then: a worker that has no part in it may be busy otherwise.
        let gathered = rt.plain(gathered).pin(SpinLatch).build();
        let bounds = brought(&changes, &self.columns.kinds);
        let sent = Sent { changes, queries, bounds, gathered };
        let partitions = self.parts.partitions.clone();
        rt.task(self.parts.gate.write()).spawn(move |gate, cx| {
            gate.pass(cx, move |gate, cx| gate.send(sent, &partitions, cx));
        });
    }

    /// Gives each partition a share of the rows in proportion to its weight, those that are there and those that will come.
    /// The handle tells how many rows were moved.
    ///
    /// That may be done at any time: batches that were sent before are served before, later ones afterwards. Rows go by
    /// whole chunks. A partition of weight 0 keeps none, and is not asked any more; but all batches pass the first one's worker
    /// still, which makes their indexes and tells the partitions.
    ///
    /// # Errors
    ///
    /// [`Failure::Weights`] if there is not a weight for each partition, if one is negative or no number, or all are 0.
    pub fn balance(&self, rt: &Runtime, weights: &[f64]) -> Result<Handle<u64>, Failure> {
        let shares = Shares::new(weights).filter(|_| weights.len() == self.partitions());
        let shares = shares.ok_or_else(|| Failure::Weights(weights.to_vec(), self.partitions()))?;
        let (promise, handle) = rt.promise();
        let census = rt.plain(Census::new(self.partitions())).pin(Sequencing).build();
        let balance = Balance { parts: self.parts.clone(), shares, census, promise };
        rt.task(self.parts.gate.write()).spawn(move |gate, cx| {
            gate.pass(cx, move |gate, cx| balance.begin(gate, cx));
        });
        Ok(handle)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Aggregate, Filter, Query};
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, RecordBatch};
    use arrow_schema::{DataType, Field, Schema};
    use std::sync::Arc;

    #[test]
    fn the_gate_is_at_home_with_the_first_partition() {
        let rt = Runtime::builder().workers(3).build().unwrap();
        for _ in 0..3 {
            let table = Table::new(&rt, Arc::new(Schema::empty()), 2).unwrap();
            let worker = rt.task(table.parts.gate.write()).submit(|_, cx| cx.worker());
            assert_eq!(worker.join().unwrap(), 0);
        }
    }

    /// One that was lost while it had no share gets none: what is added goes to the others.
    #[test]
    fn no_row_goes_to_a_partition_that_was_lost() {
        let rt = Runtime::builder().workers(2).build().unwrap();
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]));
        let table = Table::new(&rt, schema.clone(), 2).unwrap();
        let add = || {
            let mut batch = Batch::new();
            let rows = vec![Arc::new(Int64Array::from_iter_values(0..10)) as _];
            batch.insert(RecordBatch::try_new(schema.clone(), rows).unwrap());
            batch.query(Query::aggregates(Filter::all(), [Aggregate::Count]));
            let answers = table.run(&rt, batch)?;
            let count = answers.rows(0)?.column(0).as_primitive::<Int64Type>().value(0);
            Ok::<_, Failure>((answers.changed(0)?, count))
        };
        assert_eq!(add(), Ok((10, 10)));
        table.balance(&rt, &[1.0, 0.0]).unwrap().join().unwrap();
        let lost = rt.task(table.parts.partitions[1].write()).submit(|_, _| panic!("it is lost"));
        assert!(lost.join().is_err());
        assert!(table.balance(&rt, &[1.0, 1.0]).unwrap().join().is_err());
        assert!(table.memory(&rt).join().is_err());
        assert_eq!(add(), Ok((10, 20)));
        let lost = rt.task(table.parts.partitions[0].write()).submit(|_, _| panic!("it is lost"));
        assert!(lost.join().is_err());
        assert!(matches!(add(), Err(Failure::Lost(_))));
    }
}
