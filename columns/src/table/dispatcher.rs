//! The dispatcher of a table: the object that all batches pass in order.

use super::result_collector::ResultCollector;
use super::shares::Shares;
use crate::partition::{IndexedChanges, IndexedQueries, Partition};
use crate::plan::{ChangePlan, QueryBatch};
use crate::statistics::{KeyBounds, Statistics};
use crate::value::WordKind;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use xtasking::{Context, Group, Object, Plain};

/// The objects of a table.
#[derive(Clone)]
pub(super) struct TableObjects {
    pub partitions: Arc<[Object<Plain<Partition>>]>,
    pub dispatcher: Object<Plain<Dispatcher>>,
}

/// The state of the dispatcher.
pub(super) struct Dispatcher {
    /// Statistics of the rows that earlier batches inserted.
    statistics: Statistics,
    pub shares: Shares,
    /// The partitions that have a share of the rows.
    pub active: Box<[usize]>,
    /// The number of the next batch.
    next_batch: u64,
    /// The group of the tasks dispatched since the last rebalance. The first of them creates it.
    pub in_flight: Option<Group>,
    /// While rows are moved: takes the steps that arrive meanwhile. The tasks of the rebalance own
    /// them: if those are dropped at a shutdown, so are the steps, and their promises.
    pub deferred: Option<Sender<DeferredStep>>,
}

/// A step that arrived at the dispatcher while rows were moved.
pub(super) type DeferredStep = Box<dyn FnOnce(&mut Dispatcher, &mut Context) + Send>;

/// A batch whose requests were checked, without those that failed.
pub(super) struct PlannedBatch {
    pub changes: Vec<ChangePlan>,
    pub queries: QueryBatch,
    /// The bounds of the keys that the changes bring into each column.
    pub bounds: Vec<KeyBounds>,
    pub collector: Object<Plain<ResultCollector>>,
}

impl Dispatcher {
    /// Creates a dispatcher for columns of these kinds and partitions with these shares.
    pub fn new(kinds: &[WordKind], shares: Shares) -> Self {
        let active = shares.with_share();
        let statistics = Statistics::new(kinds);
        Self { statistics, shares, active, next_batch: 0, in_flight: None, deferred: None }
    }

    /// Runs a step now, or after the rows have been moved.
    pub fn run_or_defer(
        &mut self,
        cx: &mut Context,
        step: impl FnOnce(&mut Self, &mut Context) + Send + 'static,
    ) {
        match &self.deferred {
            // An error drops the step: the rebalance was dropped.
            Some(deferred) => _ = deferred.send(Box::new(step)),
            None => step(self, cx),
        }
    }

    /// Dispatches a batch to all active partitions.
    pub fn send(
        &mut self,
        batch: PlannedBatch,
        partitions: &Arc<[Object<Plain<Partition>>]>,
        cx: &mut Context,
    ) {
        let PlannedBatch { changes, queries, bounds, collector } = batch;
        self.statistics.record(&bounds, &changes);
        let statistics = self.statistics.sort_sample();
        let changes = IndexedChanges::new(changes, statistics, |rows| self.shares.assign(rows));
        let work = Arc::new((changes, IndexedQueries::new(queries, statistics)));
        let number = self.next_batch;
        self.next_batch += 1;
        let group = self.in_flight.get_or_insert_with(|| cx.group());
        let partition_count = self.active.len();
        for &place in &self.active {
            let partition = &partitions[place];
            let (work, collector) = (work.clone(), collector.clone());
            cx.task(partition.write()).of(group).spawn(move |partition, cx| {
                let (changes, queries) = &*work;
                partition.begin_batch(number);
                let (counts, found) = partition.run_batch(changes, queries, place);
                cx.task(collector.write())
                    .spawn(move |collector, _| collector.add(partition_count, counts, found, &work.1.batch));
            });
        }
    }
}
