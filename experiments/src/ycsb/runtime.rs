//! The contender of this project: the B-link tree, whose operations are chains of annotated tasks.
//!
//! *Lanes* carry out a worker's trace. Of n lanes, lane i runs operations i, i + n, i + 2n, …, one
//! after another, so that n operations are in flight at any time.

use super::bundles;
use super::contender::{Abilities, Contender, ContenderProfile, Entry};
use super::settings::{ContenderSettings, Layout, Prefetch, Primitive};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xtasking::platform::Simulation;
use xtasking::{
    Context, Priority, Promise, Runtime,
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
};
use xtasking_harness::failure::Wrong;
use xtasking_harness::page;
use xtasking_index::node::words;
use xtasking_index::{
    HintedNode, Layout as NodeLayout, SortedNode, Tree, Words, WriteMode, WriteOutcome, with_state,
};
use xtasking_ycsb::plan::{ACKNOWLEDGED_AFTER, Audit, Operation, Plan, Request, WriteOrder};

/// The tree with default settings.
pub const XTASKING: Entry = Entry {
    name: "xtasking",
    about: "the B-link tree of XTasking, on annotated tasks",
    is_parallel: true,
    start: |settings| Ok(build(&settings, Way::Lanes)),
    more: ContenderProfile { bytes_per_record: 28, abilities: Abilities::ALL, is_default: true },
};

/// The tree without prefetching.
pub const NO_PREFETCH: Entry = Entry {
    name: "no-prefetch",
    about: "xtasking without prefetching",
    is_parallel: true,
    start: |settings| Ok(build(&ContenderSettings { prefetch: Prefetch::Off, ..settings }, Way::Lanes)),
    more: ContenderProfile { bytes_per_record: 28, abilities: Abilities::ALL, is_default: false },
};

/// The tree, called with bundles.
pub const BUNDLES: Entry = Entry {
    name: "xtasking-bundles",
    about: "the same tree, a bundle of requests for each worker",
    is_parallel: true,
    start: |settings| Ok(build(&settings, Way::Bundles)),
    more: ContenderProfile {
        bytes_per_record: 28,
        // Bundles have no scans, and operations that depend on earlier inserts would have to wait.
        abilities: Abilities { can_insert: false, can_update: true, can_scan: false },
        is_default: true,
    },
};

/// How the tree is called.
#[derive(Clone, Copy)]
enum Way {
    /// A chain of tasks for each operation.
    Lanes,
    /// A bundle for each worker.
    Bundles,
}

/// Default number of operations in flight per worker.
const DEFAULT_IN_FLIGHT: usize = 64;
/// Default size of a node in bytes.
const DEFAULT_NODE_SIZE: usize = 1024;

fn build(settings: &ContenderSettings, way: Way) -> Box<dyn Contender> {
    match (settings.layout.unwrap_or(Layout::Hinted), settings.node_size.unwrap_or(DEFAULT_NODE_SIZE)) {
        (Layout::Hinted, 512) => TreeOnRuntime::<HintedNode<{ words(512) }>>::boxed(settings, way),
        (Layout::Hinted, 2048) => TreeOnRuntime::<HintedNode<{ words(2048) }>>::boxed(settings, way),
        (Layout::Hinted, 4096) => TreeOnRuntime::<HintedNode<{ words(4096) }>>::boxed(settings, way),
        (Layout::Hinted, _) => TreeOnRuntime::<HintedNode<{ words(1024) }>>::boxed(settings, way),
        (Layout::Sorted, 512) => TreeOnRuntime::<SortedNode<{ words(512) }>>::boxed(settings, way),
        (Layout::Sorted, 2048) => TreeOnRuntime::<SortedNode<{ words(2048) }>>::boxed(settings, way),
        (Layout::Sorted, 4096) => TreeOnRuntime::<SortedNode<{ words(4096) }>>::boxed(settings, way),
        (Layout::Sorted, _) => TreeOnRuntime::<SortedNode<{ words(1024) }>>::boxed(settings, way),
    }
}

struct TreeOnRuntime<L: NodeLayout<Keys = Words>> {
    rt: Runtime,
    tree: Tree<u64, u64, L>,
    in_flight: usize,
    way: Way,
}

impl<L: NodeLayout<Keys = Words>> TreeOnRuntime<L> {
    fn boxed(settings: &ContenderSettings, way: Way) -> Box<dyn Contender> {
        let builder = match settings.simulation {
            Some(seed) => Runtime::builder().platform(Simulation::new(settings.workers, seed)),
            None => Runtime::builder().workers(settings.workers),
        };
        let builder = match settings.prefetch {
            Prefetch::Automatic => builder,
            Prefetch::Off => builder.prefetch_distance(0),
            Prefetch::Distance(distance) => builder.prefetch_distance(distance),
        };
        let rt = if settings.simulation.is_none() { page::start(builder) } else { builder.build() };
        let rt =
            rt.expect("the number of workers, and that threads can be started, was checked before any work");
        let tree = match settings.primitive.unwrap_or(Primitive::Latched) {
            Primitive::Latched => Tree::with_primitive(&rt, OptimisticLatched),
            Primitive::Sequenced => Tree::with_primitive(&rt, OptimisticSequenced),
            Primitive::SpinLatch => Tree::with_primitive(&rt, SpinLatch),
            Primitive::ReaderWriterLatch => Tree::with_primitive(&rt, ReaderWriterLatch),
            Primitive::Sequencing => Tree::with_primitive(&rt, Sequencing),
        };
        let in_flight = settings.in_flight.unwrap_or(DEFAULT_IN_FLIGHT).min(ACKNOWLEDGED_AFTER);
        Box::new(Self { rt, tree, in_flight, way })
    }

    /// Carries out a plan with several operations of each worker in flight.
    fn run_lanes(&self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        let begin = Instant::now();
        let mut handles = Vec::new();
        for worker in 0..plan.workers() {
            let lanes = self.in_flight.min(plan.length(worker));
            // Operations depend on earlier inserts only if this run inserts into loaded records.
            let inserts = plan.records_before() > 0 && plan.records_after() > plan.records_before();
            let progress = inserts.then(|| Arc::new(LaneProgress::new(lanes)));
            for lane in 0..lanes {
                let (promise, handle) = self.rt.promise();
                let (tree, plan, progress) = (self.tree.clone(), plan.clone(), progress.clone());
                let lane =
                    Lane { tree, plan, worker, lane, lanes, index: lane, progress, horizon: 0, promise };
                let lane = Box::new(lane);
                self.rt.task(()).core(worker as u16).spawn(move |(), cx| lane.begin(cx));
                handles.push(handle);
            }
        }
        for handle in handles {
            handle.join().map_err(|error| Wrong::new(error.to_string()))??;
        }
        Ok(begin.elapsed())
    }
}

impl<L: NodeLayout<Keys = Words>> Contender for TreeOnRuntime<L> {
    fn run(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        match self.way {
            Way::Lanes => self.run_lanes(plan),
            Way::Bundles => bundles::run(&self.rt, &self.tree, plan),
        }
    }

    fn verify(&mut self, plan: &Arc<Plan>) -> Result<(), Wrong> {
        let client = self.tree.client(&self.rt);
        let failed = |error: xtasking::JoinError| Wrong::new(error.to_string());
        let count = client.count().map_err(failed)?;
        let mut failure = None;
        let audited = Audit::new(plan, WriteOrder::Any).walk(count, |from, limit, entries| {
            match client.scan(from, limit) {
                Ok(found) => entries.extend(found),
                Err(error) => failure = Some(failed(error)),
            }
        });
        // A failed scan is reported first: the audit would only report its entries as missing.
        failure.map_or(audited, Err)
    }
}

/// The progress of a worker's lanes.
struct LaneProgress {
    /// For each lane, the index of its current operation; its earlier ones are done.
    at: Box<[AtomicUsize]>,
}

impl LaneProgress {
    fn new(lanes: usize) -> Self {
        Self { at: (0..lanes).map(AtomicUsize::new).collect() }
    }

    /// Returns an index below which all operations are done.
    fn done_before(&self) -> usize {
        // Acquire pairs with the Release of `Lane::done`: an operation that begins after this load
        // sees the inserts before it.
        self.at.iter().map(|at| at.load(Ordering::Acquire)).min().unwrap_or(usize::MAX)
    }
}

/// One operation in flight, and the position of the next ones.
struct Lane<L: NodeLayout<Keys = Words>> {
    tree: Tree<u64, u64, L>,
    plan: Arc<Plan>,
    worker: usize,
    lane: usize,
    lanes: usize,
    index: usize,
    /// Present if operations depend on earlier inserts.
    progress: Option<Arc<LaneProgress>>,
    /// All operations below this index are known to be done.
    horizon: usize,
    promise: Promise<Result<(), Wrong>>,
}

impl<L: NodeLayout<Keys = Words>> AsRef<Tree<u64, u64, L>> for Box<Lane<L>> {
    fn as_ref(&self) -> &Tree<u64, u64, L> {
        &self.tree
    }
}

impl<L: NodeLayout<Keys = Words>> Lane<L> {
    /// Begins the current operation.
    fn begin(mut self: Box<Self>, cx: &mut Context) {
        if self.index >= self.plan.length(self.worker) {
            return self.promise.fulfil(Ok(()));
        }
        if !self.can_begin() {
            // Other lanes have to catch up first.
            return cx.task(()).priority(Priority::Low).spawn(move |(), cx| self.begin(cx));
        }
        match self.plan.request(self.worker, self.index) {
            Request::Read { key } => with_state(self).get(cx, key, move |lane, found, cx| {
                let checked = lane.plan.check_read(key, found);
                lane.done(checked, cx);
            }),
            Request::Update { key, value } => {
                with_state(self).write(cx, key, value, WriteMode::Update, Self::updated)
            }
            Request::Insert { key, value } => {
                with_state(self).write(cx, key, value, WriteMode::Insert, move |lane, wrote, cx| {
                    let checked = lane.plan.check_insert(key, wrote.is_inserted());
                    lane.done(checked, cx);
                });
            }
            Request::Scan { from, length } => with_state(self).scan(cx, from, length, |lane, entries, cx| {
                let checked = lane.plan.scan_check(lane.worker, lane.index).all(&lane.plan, &entries);
                lane.done(checked, cx);
            }),
            Request::ReadModifyWrite { key, value } => {
                with_state(self).get(cx, key, move |lane, found, cx| match lane.plan.check_read(key, found) {
                    Ok(()) => with_state(lane).write(cx, key, value, WriteMode::Update, Self::updated),
                    wrong => lane.done(wrong, cx),
                })
            }
        }
    }

    fn updated(self: Box<Self>, wrote: WriteOutcome<u64>, cx: &mut Context) {
        let checked = match wrote {
            WriteOutcome::Replaced(_) => Ok(()),
            _ => self.plan.check_update(self.plan.keyspace().key(self.operation().record()), false),
        };
        self.done(checked, cx);
    }

    fn operation(&self) -> Operation {
        self.plan.operation(self.worker, self.index)
    }

    /// Returns true if the inserts that the current operation may depend on are done.
    fn can_begin(&mut self) -> bool {
        let Some(progress) = &self.progress else { return true };
        let needed = (self.index + 1).saturating_sub(ACKNOWLEDGED_AFTER);
        if self.horizon < needed {
            self.horizon = progress.done_before();
        }
        self.horizon >= needed
    }

    /// Ends the current operation, and begins the next one unless its result was wrong.
    fn done(mut self: Box<Self>, checked: Result<(), Wrong>, cx: &mut Context) {
        // A lane stops after a wrong result; no other lane must wait for it.
        let next = if checked.is_ok() { self.index + self.lanes } else { usize::MAX };
        if let Some(progress) = &self.progress {
            // Release pairs with the Acquire of `done_before`.
            progress.at[self.lane].store(next, Ordering::Release);
        }
        match checked {
            Ok(()) => {
                self.index = next;
                self.begin(cx);
            }
            Err(wrong) => {
                let wrong = wrong.at(self.worker, self.index);
                self.promise.fulfil(Err(wrong));
            }
        }
    }
}
