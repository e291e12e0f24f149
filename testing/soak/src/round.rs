//! Runs one round: a runtime, its load, and its end.

use super::books::Books;
use super::ending::Ending;
use super::fates;
use super::forest::{self, SoakTree};
use super::jobs::{self, INJECTED};
use super::pending::Pending;
use super::population::Population;
use super::watchdog::Watchdog;
use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use xtasking::queues::{RankOrder, Topology};
use xtasking::{Failure, JoinError, QueuePolicy, Runtime};
use xtasking_harness::failure::{Wrong, report_line};
use xtasking_harness::random::Random;

/// Counts of one or several rounds.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) tasks: u64,
    panicked: u64,
    pub(super) cancelled: u64,
    pub(super) late: u64,
    pub(super) poisoned: u64,
    refused: u64,
    resizes: u64,
    objects: u64,
    descriptors: u64,
    pub(super) ending: &'static str,
    /// Whether the tree had sequenced nodes.
    pub(super) is_sequenced: bool,
}

impl AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.panicked += other.panicked;
        self.cancelled += other.cancelled;
        self.late += other.late;
        self.poisoned += other.poisoned;
        self.refused += other.refused;
        self.resizes += other.resizes;
        self.objects += other.objects;
        self.descriptors = self.descriptors.max(other.descriptors);
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tasks, panicked, cancelled, late, poisoned, refused, .. } = self;
        write!(
            f,
            "{tasks} tasks, of which {panicked} panicked, {cancelled} were cancelled, {late} were late, \
                {poisoned} met poison and {refused} had no room; "
        )?;
        let Self { resizes, objects, descriptors, .. } = self;
        write!(f, "{objects} objects; {resizes} resizes; at most {descriptors} bytes of descriptors")
    }
}

/// A round.
pub(super) struct Round<'a> {
    random: Random,
    rt: Runtime,
    books: Arc<Books>,
    handles: Vec<Pending>,
    population: Population,
    outcome: Outcome,
    watchdog: &'a Watchdog,
}

/// The queue policies; half of the rounds have the default.
const POLICIES: [QueuePolicy; 8] = [
    QueuePolicy::Local,
    QueuePolicy::Local,
    QueuePolicy::Local,
    QueuePolicy::Local,
    QueuePolicy::WorkStealing,
    QueuePolicy::XQueue(Topology::All),
    QueuePolicy::XQueue(Topology::Kautz),
    QueuePolicy::Ranked(RankOrder::Relaxed),
];

/// Maximal number of tasks that wait or run at once, without follow-ups.
const IN_FLIGHT: u64 = 4000;
/// Bytes that the descriptors of this many tasks may take, several times more than they need…
const DESCRIPTORS: u64 = 8 << 20;
/// …plus what the heap of each worker retains.
const DESCRIPTORS_EACH: u64 = 1 << 18;
/// One round in this many is as many times longer, so that leaks within a round exceed the bound.
const LONG_ROUND_INTERVAL: u64 = 16;
/// Time limit until no task is in flight, also on a busy machine.
const SETTLE_LIMIT: Duration = Duration::from_secs(300);
/// Duration after which a task is reported; bodies take microseconds.
const OVERRUN: Duration = Duration::from_secs(10);

impl<'a> Round<'a> {
    pub(super) fn new(seed: u64, max_workers: usize, watchdog: &'a Watchdog) -> Result<Self, Wrong> {
        let mut random = Random::new(seed, &[]);
        let books = Arc::new(Books::default());
        // In half of the rounds the maximal number.
        let fewer = random.below(2) == 0;
        let workers = if fewer { 1 + random.below(max_workers as u64) as usize } else { max_workers };
        let hook = books.clone();
        let builder = Runtime::builder().workers(workers).most_workers(max_workers);
        let builder = match random.below(3) {
            0 => builder.most_tasks(1 + random.below(1000) as usize),
            _ => builder,
        };
        let rt = builder
            .pool(POLICIES[random.below(POLICIES.len() as u64) as usize])
            .prefetch_distance(random.below(20) as usize)
            .counters(true)
            .on_failure(move |failure| judge_failure(&failure, &hook))
            .watchdog(OVERRUN, |overrun| report_line(&format_args!("note: {overrun}")))
            .build()
            .map_err(|error| Wrong::new(format!("no runtime with {workers} workers: {error}")))?;
        let population = Population::new(&rt, &mut random, &books);
        let outcome = Outcome::default();
        Ok(Self { random, rt, books, handles: Vec::new(), population, outcome, watchdog })
    }

    /// Runs the whole round.
    pub(super) fn run(mut self) -> Result<Outcome, Wrong> {
        for _ in 0..self.random.below(3) {
            jobs::chain(&self.rt, &mut self.random, &self.books);
        }
        let (tree, is_sequenced) = forest::create_tree(&self.rt, &mut self.random);
        self.outcome.is_sequenced = is_sequenced;
        self.work_beside(&tree)?;
        self.calm_down()?;
        self.count_workers()?;
        self.population.audit(&self.rt)?;
        self.check_descriptors()?;
        self.end(tree)
    }

    /// Spawns tasks, while a thread exercises the tree.
    fn work_beside(&mut self, tree: &SoakTree) -> Result<(), Wrong> {
        let length = if self.random.below(LONG_ROUND_INTERVAL) == 0 { LONG_ROUND_INTERVAL } else { 1 };
        let steps = length * (1000 + self.random.below(30_000));
        let stream = Random::new(self.random.below(u64::MAX), &[]);
        let Self { random, rt, books, handles, population, outcome, watchdog } = self;
        let (rt, watchdog) = (&*rt, *watchdog);
        thread::scope(|scope| {
            let exercising = scope.spawn(move || forest::exercise(rt, tree, stream, watchdog));
            let worked = (0..steps).try_for_each(|step| {
                if let Some(pending) = jobs::spawn(rt, population, random, books) {
                    handles.extend(pending.treat(random, books, outcome)?);
                }
                if step % 64 == 0 {
                    watchdog.alive();
                    maintain(rt, population, random, books);
                }
                if step % 512 == 0 {
                    outcome.resizes += 1;
                    resize(rt, 1 + random.below(rt.workers() as u64) as usize)?;
                }
                if handles.len() > IN_FLIGHT as usize / 2 {
                    for pending in handles.drain(..) {
                        pending.join(false, books, outcome)?;
                    }
                }
                Ok(())
            });
            let exercised =
                exercising.join().map_err(|_| Wrong::new("the thread that exercises the tree panicked"));
            worked.and(exercised?)
        })?;
        self.books.first_violation()
    }

    /// Waits for all tasks except the chains.
    fn calm_down(&mut self) -> Result<(), Wrong> {
        self.watchdog.alive();
        for pending in self.handles.drain(..) {
            pending.join(false, &self.books, &mut self.outcome)?;
        }
        if !settles(self.watchdog, || self.books.bodies.open() == 0) {
            let open = self.books.bodies.open();
            return Err(Wrong::new(format!("{open} bodies neither ran nor were dropped")));
        }
        self.population.mend_all(&self.rt)
    }

    /// Checks that each worker runs a task pinned to it.
    fn count_workers(&self) -> Result<(), Wrong> {
        self.watchdog.alive();
        resize(&self.rt, self.rt.workers())?;
        for worker in 0..self.rt.workers() {
            match self.rt.task(()).core(worker as u16).submit(|(), cx| cx.worker()).join() {
                Ok(ran_on) if ran_on == worker => {}
                other => return Err(Wrong::new(format!("worker {worker} did not answer: {other:?}"))),
            }
        }
        Ok(())
    }

    fn check_descriptors(&mut self) -> Result<(), Wrong> {
        let counters = self.rt.counters().ok_or_else(|| Wrong::new("the counters are off"))?;
        let bytes = counters.allocations.page_bytes;
        self.outcome.descriptors = bytes;
        let bound = DESCRIPTORS + DESCRIPTORS_EACH * self.rt.workers() as u64;
        if bytes > bound {
            return Err(Wrong::new(format!("descriptors take {bytes} bytes; the bound is {bound}")));
        }
        Ok(())
    }

    /// Ends the runtime while tasks are in flight, and closes the books.
    fn end(mut self, tree: SoakTree) -> Result<Outcome, Wrong> {
        for _ in 0..self.random.below(2000) {
            let task = jobs::spawn(&self.rt, &self.population, &mut self.random, &self.books);
            if let Some(pending) = task {
                self.handles.extend(pending.treat(&mut self.random, &self.books, &mut self.outcome)?);
            }
        }
        let entries = self.random.below(100);
        (0..entries).for_each(|key| tree.insert(&self.rt, RETAINED_KEYS + key, key, |_, _| ()));
        let ending = Ending::any(&mut self.random);
        if self.random.below(2) == 0 {
            thread::sleep(Duration::from_micros(self.random.below(3000)));
        }
        let Self { rt, books, handles, population, mut outcome, watchdog, .. } = self;
        watchdog.alive();
        let ended = ending.end(rt);
        watchdog.alive();
        for pending in handles {
            let has_outcome = || pending.is_finished();
            if !has_outcome() && (ended.is_over || !settles(watchdog, has_outcome)) {
                let text = format!("a handle has no result after its runtime was {}", ending.name());
                return Err(Wrong::new(text));
            }
            pending.join(ended.cancels, &books, &mut outcome)?;
        }
        drop(population);
        // If something is still open after that, the books report it.
        settles(watchdog, || books.is_closed(ended.cancels));
        books.close(ended.cancels)?;
        if ended.is_over && !ended.cancels {
            forest::inspect(&tree, entries)?;
        }
        outcome.tasks = books.bodies.begun();
        outcome.panicked = books.fates.count_with(fates::PANICKED) as u64;
        outcome.refused = books.refused.get();
        outcome.objects = books.accounts.begun();
        outcome.ending = ending.name();
        Ok(outcome)
    }
}

/// Keys from here on are inserted by operations without handles.
const RETAINED_KEYS: u64 = 1 << 32;

/// Waits until a condition becomes true. Returns false at the time limit.
pub(super) fn settles(watchdog: &Watchdog, is_true: impl Fn() -> bool) -> bool {
    let end = Instant::now() + SETTLE_LIMIT;
    while !is_true() {
        watchdog.alive();
        if Instant::now() > end {
            return false;
        }
        thread::sleep(Duration::from_micros(100));
    }
    true
}

/// Runs occasional maintenance beside the tasks.
fn maintain(rt: &Runtime, population: &mut Population, random: &mut Random, books: &Books) {
    match random.below(8) {
        0 | 1 => population.renew(rt, random),
        2 | 3 => population.mend_some(rt, random),
        4 => thread::yield_now(),
        _ => {}
    }
    while books.bodies.open() > IN_FLIGHT {
        thread::sleep(Duration::from_micros(100));
    }
}

/// Changes the number of workers.
fn resize(rt: &Runtime, workers: usize) -> Result<(), Wrong> {
    rt.resize(workers).map_err(|error| Wrong::new(format!("{workers} workers are refused: {error}")))
}

/// Checks the failure of a task without a handle.
fn judge_failure(failure: &Failure, books: &Books) {
    match &failure.error {
        JoinError::Panicked(payload) if payload.message() == INJECTED && failure.task_name().is_some() => {
            books.heard.add(1);
        }
        JoinError::Poisoned => books.heard_poisoned.add(1),
        JoinError::DeadlineExceeded => books.heard_late.add(1),
        _ => books.report(failure.to_string()),
    }
}

/// Suppresses the messages of injected panics on the error stream.
pub(super) fn silence_injected_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload_as_str() != Some(INJECTED) {
            before(info);
        }
    }));
}
