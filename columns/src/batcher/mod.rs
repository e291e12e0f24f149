//! Collection of single requests, from any thread, into batches.
//!
//! | module | contents |
//! |---|---|
//! | `policy` | when a batch is sent, and the deadline of requests |
//! | `collector` | the thread that collects requests, and sends or refuses them |
//! | `forecast` | the prediction of a batch's latency |

mod collector;
mod forecast;
mod policy;

pub use policy::BatchPolicy;

use crate::failure::Failure;
use crate::request::{Change, Query};
use crate::table::Table;
use arrow_array::RecordBatch;
use collector::{Collector, Message, PendingRequest, RequestKind};
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;
use xtasking::{Handle, Runtime};

/// Collects single requests of many threads into batches, and answers each.
///
/// A [`BatchPolicy`] decides when a batch is sent. Within a batch, all changes are made before the
/// first query is answered, and batches are served in order. So a query sees all changes that its
/// thread submitted before it, and perhaps some that were submitted after it.
///
/// Dropping the batcher waits until all pending requests are answered. On a worker of its runtime,
/// which must not wait, they are answered afterwards.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use arrow_schema::{DataType, Field, Schema};
/// use xtasking::Runtime;
/// use xtasking_columns::{BatchPolicy, Batcher, Change, Filter, Query, Table};
///
/// let rt = Arc::new(Runtime::builder().workers(2).build()?);
/// let schema = Arc::new(Schema::new(vec![Field::new("flight", DataType::Int64, false)]));
/// let table = Arc::new(Table::new(&rt, schema.clone(), 2)?);
/// let batcher = Batcher::open(&rt, &table, BatchPolicy::default())?;
///
/// let flights = RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from(vec![7, 8, 7]))])?;
/// let inserted = batcher.change(Change::Insert(flights));
/// let found = batcher.query(Query::rows(Filter::all().equals("flight", 7), ["flight"]));
/// assert_eq!(inserted.join()??, 3);
/// assert_eq!(found.join()??.num_rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Batcher {
    rt: Arc<Runtime>,
    requests: mpsc::Sender<Message>,
    collector: Option<JoinHandle<()>>,
}

impl Batcher {
    /// Opens a batcher for a table. It starts a thread, which sleeps while no request is pending.
    ///
    /// # Errors
    ///
    /// An error of the system that prevents the start of a thread.
    /// [`Unsupported`](io::ErrorKind::Unsupported) in a
    /// [simulation](xtasking::platform::Simulation), which cannot schedule that thread.
    pub fn open(rt: &Arc<Runtime>, table: &Arc<Table>, policy: BatchPolicy) -> io::Result<Self> {
        if rt.is_simulated() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a simulation cannot schedule the thread of a batcher; send batches to the table instead",
            ));
        }
        let (requests, messages) = mpsc::channel();
        let collector = Collector::new(rt.clone(), table.clone(), policy, requests.clone());
        let collector = std::thread::Builder::new()
            .name("xtasking-batch".to_string())
            .spawn(move || collector.run(&messages))?;
        Ok(Self { rt: rt.clone(), requests, collector: Some(collector) })
    }

    /// Submits a query. Join or await the handle for its answer.
    ///
    /// The answer is a [`Failure`] if the query is invalid or [refused](Failure::Refused). The
    /// handle itself fails if the runtime shuts down first or the table is lost.
    pub fn query(&self, query: Query) -> Handle<Result<RecordBatch, Failure>> {
        let (promise, handle) = self.rt.promise();
        self.submit(RequestKind::Query(query, promise));
        handle
    }

    /// Submits a change. The handle yields the number of rows affected, and fails like that of a
    /// [query](Self::query).
    pub fn change(&self, change: Change) -> Handle<Result<u64, Failure>> {
        let (promise, handle) = self.rt.promise();
        self.submit(RequestKind::Change(change, promise));
        handle
    }

    fn submit(&self, kind: RequestKind) {
        // If the collector is gone, this drops the promise, and the handle fails.
        let _ = self.requests.send(Message::Request(PendingRequest { kind, arrived: Instant::now() }));
    }
}

impl Drop for Batcher {
    fn drop(&mut self) {
        let _ = self.requests.send(Message::Close);
        // On a worker the collector ends by itself: it waits for batches that may need this worker.
        if let Some(collector) = self.collector.take()
            && self.rt.may_block()
        {
            // The collector can only fail by a panic. Then nothing is left to wait for.
            let _ = collector.join();
        }
    }
}
