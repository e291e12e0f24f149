//! Moves of rows between partitions, while batches arrive.
//!
//! Steps: the dispatcher defers what arrives; all tasks dispatched before complete; each partition
//! counts its chunks; chunks move in pairs of partitions; the dispatcher runs the deferred steps.
//! So every batch finds each row exactly once.

use super::dispatcher::{DeferredStep, Dispatcher, TableObjects};
use super::shares::Shares;
use std::sync::mpsc::{self, Receiver};
use xtasking::{Context, Object, Plain, Promise};

/// The partitions' chunks, and the moves made so far.
pub(super) struct ChunkCensus {
    /// The number of chunks of each partition that has reported.
    chunks: Vec<Option<usize>>,
    /// The number of moves, and of the rows moved.
    moves: usize,
    rows: u64,
}

impl ChunkCensus {
    /// Creates a census without reports.
    pub fn new(partitions: usize) -> Self {
        Self { chunks: vec![None; partitions], moves: 0, rows: 0 }
    }
}

/// One rebalance.
pub(super) struct Rebalance {
    pub objects: TableObjects,
    pub shares: Shares,
    pub census: Object<Plain<ChunkCensus>>,
    /// Yields the number of rows moved.
    pub promise: Promise<u64>,
}

impl Rebalance {
    /// Defers what arrives, and waits for the tasks in flight.
    pub fn begin(self, dispatcher: &mut Dispatcher, cx: &mut Context) {
        let (sender, deferred) = mpsc::channel();
        if !planted!("batch-beside-moves") {
            dispatcher.deferred = Some(sender);
        }
        let in_flight = dispatcher.in_flight.take().unwrap_or_else(|| cx.group());
        cx.task(()).after(in_flight).spawn(move |(), cx| self.count_chunks(deferred, cx));
    }

    fn count_chunks(self, deferred: Receiver<DeferredStep>, cx: &mut Context) {
        let group = cx.group();
        for (place, partition) in self.objects.partitions.iter().enumerate() {
            let both = cx.task((partition.write(), self.census.write())).of(&group);
            both.spawn(move |(partition, census), _| census.chunks[place] = Some(partition.chunks()));
        }
        let census = self.census.clone();
        cx.task(census.read()).after(group).spawn(move |census, cx| {
            // If a partition has not reported, it is lost. Then nothing is moved, and dropping the
            // promise fails the caller's handle.
            match census.chunks.iter().copied().collect::<Option<Vec<usize>>>() {
                Some(chunks) => {
                    let moves = self.shares.moves(&chunks);
                    self.move_chunks(moves, deferred, cx);
                }
                None => {
                    let dispatcher = cx.task(self.objects.dispatcher.write());
                    dispatcher.spawn(move |dispatcher, cx| run_deferred(dispatcher, &deferred, cx));
                }
            }
        });
    }

    fn move_chunks(
        self,
        moves: Vec<(usize, usize, usize)>,
        deferred: Receiver<DeferredStep>,
        cx: &mut Context,
    ) {
        let Self { objects, shares, census, promise } = self;
        let count = moves.len();
        let group = cx.group();
        for (from, to, chunks) in moves {
            let [from, to] = [from, to].map(|at| &objects.partitions[at]);
            let arrived = to.clone();
            let all = cx.task((from.write(), to.write(), census.write())).of(&group);
            all.spawn(move |(from, to, census), cx| {
                census.rows += from.move_chunks_to(chunks, to);
                census.moves += 1;
                // A task of its own, so that it runs on the worker, and the node, of the receiving
                // partition.
                cx.task(arrived.write()).as_sibling().spawn(|partition, _| partition.relocate_guests());
            });
        }
        let at = objects.dispatcher.clone();
        cx.task((at.write(), census.read())).after(group).spawn(move |(dispatcher, census), cx| {
            // A partition without a share has no rows left, and serves no batch.
            if census.moves == count {
                let asked = if planted!("moved-rows-not-asked") { &dispatcher.shares } else { &shares };
                dispatcher.active = asked.with_share();
                dispatcher.shares = shares;
                promise.fulfil(census.rows);
            }
            run_deferred(dispatcher, &deferred, cx);
        });
    }
}

/// Runs the deferred steps, up to the next rebalance.
fn run_deferred(dispatcher: &mut Dispatcher, deferred: &Receiver<DeferredStep>, cx: &mut Context) {
    dispatcher.deferred = None;
    deferred.try_iter().for_each(|step| dispatcher.run_or_defer(cx, step));
}
