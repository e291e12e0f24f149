//! Runs one round: a runtime, its load, and its end.

use super::books::Books;
use super::forest::{self, SoakTree};
use super::jobs::{self, INJECTED};
use super::population::Population;
use super::watchdog::Watchdog;
use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use xtasking::{Failure, Handle, JoinError, Runtime, Shutdown};
use xtasking_harness::failure::{Wrong, report_line};
use xtasking_harness::random::Random;

/// Counts of one or several rounds.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) tasks: u64,
    panicked: u64,
    cancelled: u64,
    poisoned: u64,
    objects: u64,
    descriptors: u64,
    pub(super) ending: &'static str,
}

impl AddAssign for Outcome {
    fn add_assign(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.panicked += other.panicked;
        self.cancelled += other.cancelled;
        self.poisoned += other.poisoned;
        self.objects += other.objects;
        self.descriptors = self.descriptors.max(other.descriptors);
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tasks, panicked, cancelled, poisoned, objects, descriptors, .. } = self;
        write!(
            f,
            "{tasks} tasks, of which {panicked} panicked, {cancelled} were cancelled, \
                {poisoned} first_violation poison; "
        )?;
        write!(f, "{objects} objects; at most {descriptors} bytes of descriptors")
    }
}

/// How a runtime is ended.
#[derive(Clone, Copy)]
enum Ending {
    Drain,
    Cancel,
    Drop,
    DropInTask,
}

impl Ending {
    const ALL: [Self; 4] = [Self::Drain, Self::Cancel, Self::Drop, Self::DropInTask];

    fn name(self) -> &'static str {
        match self {
            Self::Drain => "drained",
            Self::Cancel => "cancelled",
            Self::Drop => "dropped",
            Self::DropInTask => "dropped by one of its tasks",
        }
    }
}

/// A round.
pub(super) struct Round<'a> {
    random: Random,
    rt: Runtime,
    books: Arc<Books>,
    handles: Vec<Handle<()>>,
    population: Population,
    outcome: Outcome,
    watchdog: &'a Watchdog,
}

/// Maximal number of tasks that wait or run at once, without follow-ups.
const IN_FLIGHT: u64 = 4000;
/// Bytes that the descriptors of this many tasks may take, several times more than they need…
const DESCRIPTORS: u64 = 8 << 20;
/// …plus what the heap of each worker retains.
const DESCRIPTORS_EACH: u64 = 1 << 18;
/// One round in this many is as many times longer, so that leaks within a round exceed the bound.
const LONG_ROUND_INTERVAL: u64 = 16;
/// Time limit until no task is in flight.
const SETTLE_LIMIT: Duration = Duration::from_secs(30);
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
        let rt = Runtime::builder()
            .workers(workers)
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
        let tree = forest::create_tree(&self.rt, &mut self.random);
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
                handles.extend(use_handle(jobs::spawn(rt, population, random, books), random));
                if step % 64 == 0 {
                    watchdog.alive();
                    maintain(rt, population, random, books);
                }
                if handles.len() > IN_FLIGHT as usize / 2 {
                    for handle in handles.drain(..) {
                        judge(handle.join(), books, outcome)?;
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
        for handle in self.handles.drain(..) {
            judge(handle.join(), &self.books, &mut self.outcome)?;
        }
        if !settles(self.watchdog, || self.books.bodies.open() == 0) {
            let open = self.books.bodies.open();
            return Err(Wrong::new(format!("{open} bodies neither ran nor were dropped")));
        }
        self.population.clear_poison();
        Ok(())
    }

    /// Checks that each worker runs a task pinned to it.
    fn count_workers(&self) -> Result<(), Wrong> {
        self.watchdog.alive();
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
            self.handles.extend(use_handle(task, &mut self.random));
        }
        let entries = self.random.below(100);
        (0..entries).for_each(|key| tree.insert(&self.rt, RETAINED_KEYS + key, key, |_, _| ()));
        let ending = Ending::ALL[self.random.below(4) as usize];
        if self.random.below(2) == 0 {
            thread::sleep(Duration::from_micros(self.random.below(3000)));
        }
        let Self { rt, books, handles, population, mut outcome, watchdog, .. } = self;
        watchdog.alive();
        match ending {
            Ending::Drain => rt.shutdown(Shutdown::Drain),
            Ending::Cancel => rt.shutdown(Shutdown::Cancel),
            Ending::Drop => drop(rt),
            Ending::DropInTask => drop_in_task(rt),
        }
        watchdog.alive();
        for handle in handles {
            if !matches!(ending, Ending::DropInTask) && !handle.is_finished() {
                return Err(Wrong::new(format!(
                    "a handle has no result after its runtime was {}",
                    ending.name()
                )));
            }
            judge(handle.join(), &books, &mut outcome)?;
        }
        drop(population);
        // If something is still open after that, the books report it.
        settles(watchdog, || books.is_closed());
        books.close()?;
        if matches!(ending, Ending::Drain | Ending::Drop) {
            forest::inspect(&tree, entries)?;
        }
        outcome.tasks = books.bodies.begun();
        outcome.panicked = books.panicked.get();
        outcome.objects = books.accounts.begun();
        outcome.ending = ending.name();
        Ok(outcome)
    }
}

/// Keys from here on are inserted by operations without handles.
const RETAINED_KEYS: u64 = 1 << 32;

/// Waits until a condition becomes true. Returns false at the time limit.
fn settles(watchdog: &Watchdog, is_true: impl Fn() -> bool) -> bool {
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

/// Treats a handle as users do: keeps, drops or cancels it.
fn use_handle(handle: Option<Handle<()>>, random: &mut Random) -> Option<Handle<()>> {
    let handle = handle?;
    match random.below(8) {
        0 => None,
        1 => {
            handle.cancel();
            Some(handle)
        }
        _ => Some(handle),
    }
}

/// Runs occasional maintenance beside the tasks.
fn maintain(rt: &Runtime, population: &mut Population, random: &mut Random, books: &Books) {
    match random.below(8) {
        0 | 1 => population.renew(rt, random),
        2 | 3 => population.clear_poison(),
        4 => thread::yield_now(),
        _ => {}
    }
    while books.bodies.open() > IN_FLIGHT {
        thread::sleep(Duration::from_micros(100));
    }
}

/// Lets a task drop the last handle of the runtime.
fn drop_in_task(rt: Runtime) {
    let rt = Arc::new(rt);
    let (last, (promise, begun)) = (rt.clone(), rt.promise());
    rt.task(()).spawn(move |(), _| {
        promise.fulfil(());
        // Waits until this task is the last owner.
        while Arc::strong_count(&last) > 1 {
            thread::yield_now();
        }
        drop(last);
    });
    drop(rt);
    // From now on the runtime ends by itself.
    let _ = begun.join();
}

/// Counts a result; an impossible one is an error.
fn judge(result: Result<(), JoinError>, books: &Books, outcome: &mut Outcome) -> Result<(), Wrong> {
    match result {
        Ok(()) => {}
        Err(JoinError::Panicked(payload)) if payload.message() == INJECTED => {}
        Err(JoinError::Cancelled) => outcome.cancelled += 1,
        Err(JoinError::Poisoned) => outcome.poisoned += 1,
        Err(error) => return Err(Wrong::new(format!("a task failed unexpectedly: {error}"))),
    }
    books.first_violation()
}

/// Counts a failure as [`judge`] does, for tasks without handles.
fn judge_failure(failure: &Failure, books: &Books) {
    match &failure.error {
        JoinError::Panicked(payload) if payload.message() == INJECTED => {}
        JoinError::Poisoned => {}
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
