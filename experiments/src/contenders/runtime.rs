//! The tree on the runtime.
//!
//! A worker's trace is carried out by *lanes*: each takes every so-manieth operation and begins one when the one before
//! is done, so that as many operations are under way as there are lanes.

use super::{Abilities, Contender, Entry, Layout, Prefetch, Primitive, Settings};
use crate::ycsb::plan::{ACKNOWLEDGED_AFTER, Audit, Plan, Request, WriteOrder, Wrong};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xtasking::platform::Simulation;
use xtasking::{
    Context, OptimisticLatched, OptimisticSequenced, Priority, Promise, ReaderWriterLatch, Runtime,
    Sequencing, SpinLatch,
};
use xtasking_index::node::words;
use xtasking_index::{Hinted, Layout as NodeLayout, Sorted, Tree, Write, Wrote, carry};

/// How the runtime's tree is asked for.
pub const XTASKING: Entry = Entry {
    name: "xtasking",
    about: "the B-link tree of annotated tasks",
    bytes_per_record: 28,
    abilities: Abilities::ALL,
    by_default: true,
    build: |settings| build(settings),
};

/// The same without prefetching.
pub const NO_PREFETCH: Entry = Entry {
    name: "no-prefetch",
    about: "xtasking with its prefetching off",
    bytes_per_record: 28,
    abilities: Abilities::ALL,
    by_default: false,
    build: |settings| build(&Settings { prefetch: Prefetch::Off, ..settings.clone() }),
};

/// Operations of a worker under way at once, unless set.
const IN_FLIGHT: usize = 64;
/// Bytes of a node, unless set.
const NODE_SIZE: usize = 1024;

fn build(settings: &Settings) -> Box<dyn Contender> {
    match (settings.layout.unwrap_or(Layout::Hinted), settings.node_size.unwrap_or(NODE_SIZE)) {
        (Layout::Hinted, 512) => OnRuntime::<Hinted<{ words(512) }>>::boxed(settings),
        (Layout::Hinted, 2048) => OnRuntime::<Hinted<{ words(2048) }>>::boxed(settings),
        (Layout::Hinted, 4096) => OnRuntime::<Hinted<{ words(4096) }>>::boxed(settings),
        (Layout::Hinted, _) => OnRuntime::<Hinted<{ words(1024) }>>::boxed(settings),
        (Layout::Sorted, 512) => OnRuntime::<Sorted<{ words(512) }>>::boxed(settings),
        (Layout::Sorted, 2048) => OnRuntime::<Sorted<{ words(2048) }>>::boxed(settings),
        (Layout::Sorted, 4096) => OnRuntime::<Sorted<{ words(4096) }>>::boxed(settings),
        (Layout::Sorted, _) => OnRuntime::<Sorted<{ words(1024) }>>::boxed(settings),
    }
}

struct OnRuntime<L: NodeLayout> {
    rt: Runtime,
    tree: Tree<u64, u64, L>,
    in_flight: usize,
}

impl<L: NodeLayout> OnRuntime<L> {
    fn boxed(settings: &Settings) -> Box<dyn Contender> {
        let builder = match settings.simulation {
            Some(seed) => Runtime::builder().platform(Simulation::new(settings.workers, seed)),
            None => Runtime::builder().workers(settings.workers),
        };
        let builder = match settings.prefetch {
            Prefetch::Automatic => builder,
            Prefetch::Off => builder.prefetch_distance(0),
            Prefetch::Distance(distance) => builder.prefetch_distance(distance),
        };
        let rt = builder.build().expect("the number of workers was checked before any work");
        let tree = match settings.primitive.unwrap_or(Primitive::Latched) {
            Primitive::Latched => Tree::with_primitive(&rt, OptimisticLatched),
            Primitive::Sequenced => Tree::with_primitive(&rt, OptimisticSequenced),
            Primitive::SpinLatch => Tree::with_primitive(&rt, SpinLatch),
            Primitive::ReaderWriterLatch => Tree::with_primitive(&rt, ReaderWriterLatch),
            Primitive::Sequencing => Tree::with_primitive(&rt, Sequencing),
        };
        let in_flight = settings.in_flight.unwrap_or(IN_FLIGHT).min(ACKNOWLEDGED_AFTER);
        Box::new(Self { rt, tree, in_flight })
    }
}

impl<L: NodeLayout> Contender for OnRuntime<L> {
    fn run(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        let begin = Instant::now();
        let mut handles = Vec::new();
        for worker in 0..plan.workers() {
            let lanes = self.in_flight.min(plan.length(worker));
            // Later operations may rely on inserts of earlier ones only where a run inserts into what was loaded.
            let inserts = plan.records_before() > 0 && plan.records_after() > plan.records_before();
            let progress = inserts.then(|| Arc::new(Progress::new(lanes)));
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
        // Entries that could not be read would only be reported as missing.
        failure.map_or(audited, Err)
    }
}

/// How far the lanes of a worker are.
struct Progress {
    /// For each lane, the operation that it is at: those before are done.
    at: Box<[AtomicUsize]>,
}

impl Progress {
    fn new(lanes: usize) -> Self {
        Self { at: (0..lanes).map(AtomicUsize::new).collect() }
    }

    /// All operations before this one are done.
    fn done_before(&self) -> usize {
        // Acquire pairs with the Release of `Lane::done`: whoever goes on comes after what was inserted.
        self.at.iter().map(|at| at.load(Ordering::Acquire)).min().unwrap_or(usize::MAX)
    }
}

/// One operation under way, and those that come after it.
struct Lane<L: NodeLayout> {
    tree: Tree<u64, u64, L>,
    plan: Arc<Plan>,
    worker: usize,
    lane: usize,
    lanes: usize,
    index: usize,
    /// Where operations rely on the inserts of earlier ones.
    progress: Option<Arc<Progress>>,
    /// All operations before this one are known to be done.
    horizon: usize,
    promise: Promise<Result<(), Wrong>>,
}

impl<L: NodeLayout> AsRef<Tree<u64, u64, L>> for Box<Lane<L>> {
    fn as_ref(&self) -> &Tree<u64, u64, L> {
        &self.tree
    }
}

impl<L: NodeLayout> Lane<L> {
    /// Begins the operation that the lane is at.
    fn begin(mut self: Box<Self>, cx: &mut Context) {
        if self.index >= self.plan.length(self.worker) {
            return self.promise.fulfil(Ok(()));
        }
        if !self.may_begin() {
            // The others have to catch up first.
            return cx.task(()).priority(Priority::Low).spawn(move |(), cx| self.begin(cx));
        }
        match self.plan.request(self.worker, self.index) {
            Request::Read { key } => carry(self).get(cx, key, move |lane, found, cx| {
                let checked = lane.plan.check_read(key, found);
                lane.done(checked, cx);
            }),
            Request::Update { key, value } => carry(self).write(cx, key, value, Write::Update, Self::updated),
            Request::Insert { key, value } => {
                carry(self).write(cx, key, value, Write::Insert, move |lane, wrote, cx| {
                    let checked = lane.plan.check_insert(key, wrote.is_inserted());
                    lane.done(checked, cx);
                });
            }
            Request::Scan { from, length } => carry(self).scan(cx, from, length, |lane, entries, cx| {
                let checked = lane.plan.scan_check(lane.worker, lane.index).all(&lane.plan, &entries);
                lane.done(checked, cx);
            }),
            Request::ReadModifyWrite { key, value } => {
                carry(self).get(cx, key, move |lane, found, cx| match lane.plan.check_read(key, found) {
                    Ok(()) => carry(lane).write(cx, key, value, Write::Update, Self::updated),
                    wrong => lane.done(wrong, cx),
                })
            }
        }
    }

    fn updated(self: Box<Self>, wrote: Wrote<u64>, cx: &mut Context) {
        let checked = match wrote {
            Wrote::Replaced(_) => Ok(()),
            _ => self.plan.check_update(self.plan.keyspace().key(self.operation().record()), false),
        };
        self.done(checked, cx);
    }

    fn operation(&self) -> crate::ycsb::plan::Operation {
        self.plan.operation(self.worker, self.index)
    }

    /// Whether everything is done that this operation may rely on.
    fn may_begin(&mut self) -> bool {
        let Some(progress) = &self.progress else { return true };
        let needed = (self.index + 1).saturating_sub(ACKNOWLEDGED_AFTER);
        if self.horizon < needed {
            self.horizon = progress.done_before();
        }
        self.horizon >= needed
    }

    /// The operation has ended.
    fn done(mut self: Box<Self>, checked: Result<(), Wrong>, cx: &mut Context) {
        // A lane that has met something wrong does no more, and nobody waits for it.
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
