//! Where single requests are handed in, from any thread.

mod collector;
mod forecast;

use crate::answer::Failure;
use crate::request::{Change, Query};
use crate::table::Table;
use arrow_array::RecordBatch;
use collector::{Collector, Message, Request, What};
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use xtasking::{Handle, Runtime};

/// When a batch is closed, and what is promised to those in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    most: usize,
    wait: Duration,
    promise: Option<Duration>,
}

impl Default for Terms {
    /// Batches of at most 4096 requests, which wait for nobody, and no promise.
    fn default() -> Self {
        Self { most: 4096, wait: Duration::ZERO, promise: None }
    }
}

impl Terms {
    /// A batch has at most so many requests, and one at least. It is closed when it has.
    #[must_use]
    pub fn most(mut self, requests: usize) -> Self {
        self.most = requests.max(1);
        self
    }

    /// The first request of a batch waits so long for others, or until there are enough. Without it, it waits only while two
    /// earlier batches are served, as these then are what keeps the table busy.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// A request is answered within this time, or refused at once. What can be promised is predicted from the batches of
    /// late, so it is kept for nearly all requests, not for each of them.
    #[must_use]
    pub fn promise(mut self, promise: Duration) -> Self {
        self.promise = Some(promise);
        self
    }
}

/// Collects single requests into batches, and gives each caller its own answer.
///
/// A batch is closed by the number of its requests or by a deadline, as its [`Terms`] say. In a batch all changes are made
/// before the first query is answered, and batches are served in order: so a query sees all changes that its thread has
/// handed in before, and perhaps some that come after it.
///
/// What is collected when the desk is dropped is still served.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use arrow_schema::{DataType, Field, Schema};
/// use xtasking::Runtime;
/// use xtasking_columns::{Change, Desk, Filter, Query, Table, Terms};
///
/// let rt = Arc::new(Runtime::builder().workers(2).build()?);
/// let schema = Arc::new(Schema::new(vec![Field::new("flight", DataType::Int64, false)]));
/// let table = Arc::new(Table::new(&rt, schema.clone(), 2)?);
/// let desk = Desk::open(&rt, &table, Terms::default())?;
///
/// let flights = RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from(vec![7, 8, 7]))])?;
/// let inserted = desk.change(Change::Insert(flights));
/// let found = desk.query(Query::rows(Filter::all().equals("flight", 7), ["flight"]));
/// assert_eq!(inserted.join()??, 3);
/// assert_eq!(found.join()??.num_rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Desk {
    rt: Arc<Runtime>,
    requests: mpsc::Sender<Message>,
    collector: Option<JoinHandle<()>>,
}

impl Desk {
    /// Opens a desk at a table. It has a thread of its own, which sleeps while nothing is to be done.
    ///
    /// # Errors
    ///
    /// What keeps the system from starting a thread; and [`Unsupported`](io::ErrorKind::Unsupported) in a
    /// [simulation](xtasking::platform::Simulation), which stands still while the desk's thread waits for its batches, and knows
    /// nothing of that thread while others wait for it.
    pub fn open(rt: &Arc<Runtime>, table: &Arc<Table>, terms: Terms) -> io::Result<Self> {
        if rt.is_simulated() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a desk has a thread of its own, for which no simulation waits: send batches to the table",
            ));
        }
        let (requests, messages) = mpsc::channel();
        let collector = Collector::new(rt.clone(), table.clone(), terms, requests.clone());
        let collector = std::thread::Builder::new()
            .name("xtasking-desk".to_string())
            .spawn(move || collector.run(&messages))?;
        Ok(Self { rt: rt.clone(), requests, collector: Some(collector) })
    }

    /// Hands a query in. The handle is joined or awaited; it gives what the query has found.
    ///
    /// The answer is a [`Failure`] if the query is wrong, or [refused](Failure::Refused). The handle itself fails if the
    /// runtime stops before there is an answer, or the table is lost.
    pub fn query(&self, query: Query) -> Handle<Result<RecordBatch, Failure>> {
        let (promise, handle) = self.rt.promise();
        self.hand_in(What::Query(query, promise));
        handle
    }

    /// Hands a change in. The handle gives how many rows it has concerned; otherwise, as of a [query](Self::query).
    pub fn change(&self, change: Change) -> Handle<Result<u64, Failure>> {
        let (promise, handle) = self.rt.promise();
        self.hand_in(What::Change(change, promise));
        handle
    }

    fn hand_in(&self, what: What) {
        // If the collector is gone the promise goes as well, which its handle tells.
        let _ = self.requests.send(Message::Request(Request { what, came: Instant::now() }));
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.requests.send(Message::Close);
        if let Some(collector) = self.collector.take() {
            // It has panicked, if it fails; then there is nothing left to wait for.
            let _ = collector.join();
        }
    }
}
