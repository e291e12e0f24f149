//! Tables: partitions, and the dispatch of batches to them.
//!
//! | module | contents |
//! |---|---|
//! | `builder` | options of a table |
//! | `dispatcher` | the order of batches, and their tasks on the partitions |
//! | `result_collector` | the answers to a batch, from the partitions' results |
//! | `shares` | the partitions' shares of the rows |
//! | `rebalance` | moves of rows between partitions |
//! | `memory` | the addresses of the rows |

mod builder;
mod dispatcher;
mod memory;
mod rebalance;
mod result_collector;
mod shares;

use crate::answers::Answers;
use crate::chunk::chunk_rows_for;
use crate::failure::Failure;
use crate::plan::{ChangePlan, QueryBatch, TableSchema};
use crate::request::Batch;
use crate::statistics::bounds_of_changes;
use arrow_schema::SchemaRef;
pub use builder::TableBuilder;
use dispatcher::{PlannedBatch, TableObjects};
pub use memory::PartitionMemory;
use rebalance::{ChunkCensus, Rebalance};
use result_collector::{FailedRequests, ResultCollector};
use shares::Shares;
use xtasking::{
    Handle, JoinError, Runtime,
    primitive::{Sequencing, SpinLatch},
};

/// A table of rows in memory, in partitions that are scanned in parallel.
///
/// Each partition is an [object](xtasking::Object) of the runtime, and a batch runs a task on each.
/// Another object dispatches all batches, so that they reach every partition in the same order. A
/// batch sees all changes of earlier batches, and none of later ones.
pub struct Table {
    pub(crate) columns: TableSchema,
    objects: TableObjects,
    chunk_rows: usize,
}

impl Table {
    /// Creates an empty table with a number of partitions (at least 1) of equal shares, and the
    /// defaults of the [`builder`](Self::builder).
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] for a column of a type that a table cannot store.
    pub fn new(rt: &Runtime, schema: SchemaRef, partitions: usize) -> Result<Self, Failure> {
        Self::builder(schema).partitions(partitions).build(rt)
    }

    /// Returns options for a table with these columns. Set the size of the L1 cache if it is known:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_schema::{DataType, Field, Schema};
    /// use xtasking::Runtime;
    /// use xtasking_columns::Table;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let schema = Arc::new(Schema::new(vec![Field::new("flight", DataType::Int64, false)]));
    /// let table = Table::builder(schema).l1_cache_bytes(48 << 10).build(&rt)?;
    /// assert_eq!((table.partitions(), table.chunk_rows()), (2, 3072));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(schema: SchemaRef) -> TableBuilder {
        TableBuilder::new(schema)
    }

    /// Returns the rows of a chunk for an L1 cache of this size: a column takes half of it, as
    /// closely as possible.
    pub fn chunk_rows_for(l1_cache_bytes: u64) -> usize {
        chunk_rows_for(l1_cache_bytes)
    }

    /// Returns the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.columns.schema
    }

    /// Returns the number of partitions.
    pub fn partitions(&self) -> usize {
        self.objects.partitions.len()
    }

    /// Returns the number of rows of a full chunk. All columns of a chunk are scanned while they
    /// are in the cache.
    pub fn chunk_rows(&self) -> usize {
        self.chunk_rows
    }

    /// Serves a batch, and blocks until it is answered. To avoid blocking, await the handle of
    /// [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// [`Failure::Lost`] if the runtime shuts down, if a partition was lost, or on a worker of the
    /// same runtime, which must not block; there the batch is not sent. The failures of single
    /// requests are among the answers.
    pub fn run(&self, rt: &Runtime, batch: Batch) -> Result<Answers, Failure> {
        check_may_block(rt)?;
        self.send(rt, batch).join().map_err(|error| Failure::Lost(error.to_string()))
    }

    /// Sends a batch without waiting. Batches of one thread, or of one task, are served in the
    /// order in which they were sent.
    pub fn send(&self, rt: &Runtime, batch: Batch) -> Handle<Answers> {
        let (promise, handle) = rt.promise();
        self.send_with(rt, batch, |answers| promise.fulfil(answers));
        handle
    }

    /// Sends a batch, and passes its answers to a continuation that runs in a task. The
    /// continuation is dropped without a call if there are no answers.
    pub(crate) fn send_with(
        &self,
        rt: &Runtime,
        batch: Batch,
        on_answers: impl FnOnce(Answers) + Send + 'static,
    ) {
        let (changes, failed_changes) =
            split(batch.changes.iter().map(|change| ChangePlan::new(&self.columns, change)));
        let (queries, failed_queries) = QueryBatch::new(&self.columns, &batch.queries);
        let failed = FailedRequests { changes: failed_changes, queries: failed_queries };
        let collector = ResultCollector::new(failed, Box::new(on_answers));
        // Not on a worker of its own: the partition that has finished adds its result at once,
        // while that worker may be in a long task.
        let collector = rt.plain(collector).pin(SpinLatch).build();
        let bounds = bounds_of_changes(&changes, &self.columns.kinds);
        let planned = PlannedBatch { changes, queries, bounds, collector };
        let partitions = self.objects.partitions.clone();
        rt.task(self.objects.dispatcher.write()).spawn(move |dispatcher, cx| {
            dispatcher.run_or_defer(cx, move |dispatcher, cx| dispatcher.send(planned, &partitions, cx));
        });
    }

    /// Sets the partitions' shares of the rows, existing and future, in proportion to weights. The
    /// handle yields the number of rows moved.
    ///
    /// Rebalancing is possible at any time: earlier batches are served before, later ones
    /// afterwards. Rows move in whole chunks. A partition of weight 0 keeps none and serves no
    /// batch. All batches still pass the first partition's worker, which indexes and dispatches
    /// them.
    ///
    /// # Errors
    ///
    /// [`Failure::InvalidWeights`] if the number of weights differs from that of the partitions, if
    /// a weight is negative or not finite, or if all are 0.
    pub fn balance(&self, rt: &Runtime, weights: &[f64]) -> Result<Handle<u64>, Failure> {
        let shares = Shares::new(weights).filter(|_| weights.len() == self.partitions());
        let shares = shares.ok_or_else(|| Failure::InvalidWeights(weights.to_vec(), self.partitions()))?;
        let (promise, handle) = rt.promise();
        let census = rt.plain(ChunkCensus::new(self.partitions())).pin(Sequencing).build();
        let rebalance = Rebalance { objects: self.objects.clone(), shares, census, promise };
        rt.task(self.objects.dispatcher.write()).spawn(move |dispatcher, cx| {
            dispatcher.run_or_defer(cx, move |dispatcher, cx| rebalance.begin(dispatcher, cx));
        });
        Ok(handle)
    }
}

/// Fails on a worker of the runtime, before anything is sent that the worker could not wait for.
pub(crate) fn check_may_block(rt: &Runtime) -> Result<(), Failure> {
    if rt.may_block() { Ok(()) } else { Err(Failure::Lost(JoinError::WouldBlock.to_string())) }
}

/// Separates the results from the failures, which keep their numbers.
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
    use std::sync::{Arc, mpsc};
    use std::time::{Duration, Instant};
    use xtasking::Shutdown;

    #[test]
    fn the_dispatcher_runs_on_the_first_partitions_worker() {
        let rt = Runtime::builder().workers(3).build().unwrap();
        for _ in 0..3 {
            let table = Table::new(&rt, Arc::new(Schema::empty()), 2).unwrap();
            let worker = rt.task(table.objects.dispatcher.write()).submit(|_, cx| cx.worker());
            assert_eq!(worker.join().unwrap(), 0);
        }
    }

    /// Batches and balances that wait for a rebalance fail with it, and nothing keeps the table.
    #[test]
    fn a_cancelled_rebalance_fails_what_it_has_deferred() {
        let rt = Runtime::builder().workers(2).build().unwrap();
        let table = Table::new(&rt, Arc::new(Schema::empty()), 2).unwrap();
        let ((begin, begun), (open, gate)) = (mpsc::channel(), mpsc::channel::<()>());
        // The rebalance waits for this partition.
        rt.task(table.objects.partitions[1].write()).spawn(move |_, _| {
            begin.send(()).unwrap();
            _ = gate.recv();
        });
        begun.recv().unwrap();
        let mut moved = vec![table.balance(&rt, &[1.0, 3.0]).unwrap()];
        let answered = table.send(&rt, Batch::new());
        moved.push(table.balance(&rt, &[1.0, 1.0]).unwrap());
        let defers =
            rt.task(table.objects.dispatcher.read()).submit(|dispatcher, _| dispatcher.deferred.is_some());
        assert!(defers.join().unwrap());
        let kept = Arc::downgrade(&table.objects.partitions);
        drop(table);
        // The partition's task outlasts the limit; the others are cancelled before it ends.
        assert!(rt.shutdown_within(Shutdown::Cancel, Duration::ZERO).is_err());
        drop(open);
        let limit = Duration::from_secs(60);
        assert!(answered.join_timeout(limit).expect("the batch ends").is_err());
        for moved in moved {
            assert!(moved.join_timeout(limit).expect("the balance ends").is_err());
        }
        let began = Instant::now();
        while kept.upgrade().is_some() {
            assert!(began.elapsed() < limit, "the table is freed");
            std::thread::yield_now();
        }
    }

    /// A partition that was lost while it had no share gets none: the others take the new rows.
    #[test]
    fn a_lost_partition_gets_no_rows() {
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
            Ok::<_, Failure>((answers.rows_affected(0)?, count))
        };
        assert_eq!(add(), Ok((10, 10)));
        table.balance(&rt, &[1.0, 0.0]).unwrap().join().unwrap();
        let lost =
            rt.task(table.objects.partitions[1].write()).submit(|_, _| panic!("the partition is lost"));
        assert!(lost.join().is_err());
        assert!(table.balance(&rt, &[1.0, 1.0]).unwrap().join().is_err());
        assert!(table.memory(&rt).join().is_err());
        assert_eq!(add(), Ok((10, 20)));
        let lost =
            rt.task(table.objects.partitions[0].write()).submit(|_, _| panic!("the partition is lost"));
        assert!(lost.join().is_err());
        assert!(matches!(add(), Err(Failure::Lost(_))));
    }
}
