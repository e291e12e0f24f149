//! One round: a runtime, what is done to it, and how it ends.

use super::books::Books;
use super::forest::{self, Grove};
use super::jobs::{self, PROVOKED};
use super::population::Population;
use super::vigil::Vigil;
use crate::ycsb::distribution::Random;
use crate::ycsb::plan::Wrong;
use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use xtasking::{Failure, Handle, JoinError, Runtime, Shutdown};

/// What a round, or many, has done.
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
            "{tasks} tasks, of which {panicked} panicked, {cancelled} were cancelled, {poisoned} found poison; "
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

/// See the module's documentation.
pub(super) struct Round<'a> {
    random: Random,
    rt: Runtime,
    books: Arc<Books>,
    handles: Vec<Handle<()>>,
    population: Population,
    outcome: Outcome,
    vigil: &'a Vigil,
}

/// The most tasks that wait or run at once, follow-ups aside.
const IN_FLIGHT: u64 = 4000;
/// Bytes that the descriptors of so many tasks may take, some times more than they need…
const DESCRIPTORS: u64 = 8 << 20;
/// …with what the heap of each worker keeps.
const DESCRIPTORS_EACH: u64 = 1 << 18;
/// One round in so many is as many times longer: so long that what leaks in it becomes too much.
const LONG: u64 = 16;
/// How long it may take until nothing is on its way any more.
const SETTLES: Duration = Duration::from_secs(30);
/// A task that runs that long is told of; its bodies take microseconds.
const OVERRUN: Duration = Duration::from_secs(10);

impl<'a> Round<'a> {
    pub(super) fn new(seed: u64, most_workers: usize, vigil: &'a Vigil) -> Result<Self, Wrong> {
        let mut random = Random::new(seed, &[]);
        let books = Arc::new(Books::default());
        // Mostly as many as were asked for.
        let fewer = random.below(2) == 0;
        let workers = if fewer { 1 + random.below(most_workers as u64) as usize } else { most_workers };
        let hook = books.clone();
        let rt = Runtime::builder()
            .workers(workers)
            .prefetch_distance(random.below(20) as usize)
            .counters(true)
            .on_failure(move |failure| judge_unseen(&failure, &hook))
            .watchdog(OVERRUN, |overrun| eprintln!("note: {overrun}"))
            .build()
            .map_err(|error| Wrong::new(format!("no runtime with {workers} workers: {error}")))?;
        let population = Population::new(&rt, &mut random, &books);
        let outcome = Outcome::default();
        Ok(Self { random, rt, books, handles: Vec::new(), population, outcome, vigil })
    }

    /// The whole round.
    pub(super) fn run(mut self) -> Result<Outcome, Wrong> {
        for _ in 0..self.random.below(3) {
            jobs::chain(&self.rt, &mut self.random, &self.books);
        }
        let tree = forest::plant(&self.rt, &mut self.random);
        self.work_beside(&tree)?;
        self.calm_down()?;
        self.count_workers()?;
        self.population.audit(&self.rt)?;
        self.check_descriptors()?;
        self.end(tree)
    }

    /// Spawns tasks, while a thread tends the tree.
    fn work_beside(&mut self, tree: &Grove) -> Result<(), Wrong> {
        let length = if self.random.below(LONG) == 0 { LONG } else { 1 };
        let steps = length * (1000 + self.random.below(30_000));
        let stream = Random::new(self.random.below(u64::MAX), &[]);
        let Self { random, rt, books, handles, population, outcome, vigil } = self;
        let (rt, vigil) = (&*rt, *vigil);
        thread::scope(|scope| {
            let tending = scope.spawn(move || forest::tend(rt, tree, stream, vigil));
            let worked = (0..steps).try_for_each(|step| {
                handles.extend(abuse(jobs::spawn(rt, population, random, books), random));
                if step % 64 == 0 {
                    vigil.alive();
                    maintain(rt, population, random, books);
                }
                if handles.len() > IN_FLIGHT as usize / 2 {
                    for handle in handles.drain(..) {
                        judge(handle.join(), books, outcome)?;
                    }
                }
                Ok(())
            });
            let tended = tending.join().map_err(|_| Wrong::new("the thread that tends the tree panicked"));
            worked.and(tended?)
        })?;
        self.books.found()
    }

    /// Waits for all tasks but the chains.
    fn calm_down(&mut self) -> Result<(), Wrong> {
        self.vigil.alive();
        for handle in self.handles.drain(..) {
            judge(handle.join(), &self.books, &mut self.outcome)?;
        }
        if !settles(self.vigil, || self.books.bodies.open() == 0) {
            let open = self.books.bodies.open();
            return Err(Wrong::new(format!("{open} bodies neither ran nor were dropped")));
        }
        self.population.clear_poison();
        Ok(())
    }

    /// Every worker runs what is pinned to it.
    fn count_workers(&self) -> Result<(), Wrong> {
        self.vigil.alive();
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
            return Err(Wrong::new(format!("descriptors take {bytes} bytes; {bound} are the bound")));
        }
        Ok(())
    }

    /// Ends the runtime while tasks are on their way, and closes the books.
    fn end(mut self, tree: Grove) -> Result<Outcome, Wrong> {
        for _ in 0..self.random.below(2000) {
            let task = jobs::spawn(&self.rt, &self.population, &mut self.random, &self.books);
            self.handles.extend(abuse(task, &mut self.random));
        }
        let planted = self.random.below(100);
        (0..planted).for_each(|key| tree.insert(&self.rt, KEPT + key, key, |_, _| ()));
        let ending = Ending::ALL[self.random.below(4) as usize];
        if self.random.below(2) == 0 {
            thread::sleep(Duration::from_micros(self.random.below(3000)));
        }
        let Self { rt, books, handles, population, mut outcome, vigil, .. } = self;
        vigil.alive();
        match ending {
            Ending::Drain => rt.shutdown(Shutdown::Drain),
            Ending::Cancel => rt.shutdown(Shutdown::Cancel),
            Ending::Drop => drop(rt),
            Ending::DropInTask => drop_in_task(rt),
        }
        vigil.alive();
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
        // Whatever is still open after that, the books tell.
        settles(vigil, || books.is_closed());
        books.close()?;
        if matches!(ending, Ending::Drain | Ending::Drop) {
            forest::inspect(&tree, planted)?;
        }
        outcome.tasks = books.bodies.begun();
        outcome.panicked = books.panicked.get();
        outcome.objects = books.accounts.begun();
        outcome.ending = ending.name();
        Ok(outcome)
    }
}

/// Keys from here on are put into the tree by operations that nobody waits for.
const KEPT: u64 = 1 << 32;

/// Waits until something becomes true; whether it does in time.
fn settles(vigil: &Vigil, is_true: impl Fn() -> bool) -> bool {
    let end = Instant::now() + SETTLES;
    while !is_true() {
        vigil.alive();
        if Instant::now() > end {
            return false;
        }
        thread::sleep(Duration::from_micros(100));
    }
    true
}

/// Does to a handle what users do: keeps, drops or cancels it.
fn abuse(handle: Option<Handle<()>>, random: &mut Random) -> Option<Handle<()>> {
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

/// What is done now and then beside the tasks.
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

/// The last handle of the runtime goes with a task.
fn drop_in_task(rt: Runtime) {
    let rt = Arc::new(rt);
    let (last, (promise, begun)) = (rt.clone(), rt.promise());
    rt.task(()).spawn(move |(), _| {
        promise.fulfil(());
        // So that this task is the last to have it.
        while Arc::strong_count(&last) > 1 {
            thread::yield_now();
        }
        drop(last);
    });
    drop(rt);
    // From now on the runtime ends in its own time.
    let _ = begun.join();
}

/// Counts a result; anything but those that can come of such tasks is wrong.
fn judge(result: Result<(), JoinError>, books: &Books, outcome: &mut Outcome) -> Result<(), Wrong> {
    match result {
        Ok(()) => {}
        Err(JoinError::Panicked(payload)) if payload.message() == PROVOKED => {}
        Err(JoinError::Cancelled) => outcome.cancelled += 1,
        Err(JoinError::Poisoned) => outcome.poisoned += 1,
        Err(error) => return Err(Wrong::new(format!("a task that must not fail so: {error}"))),
    }
    books.found()
}

/// As [`judge`], for tasks that nobody waits for.
fn judge_unseen(failure: &Failure, books: &Books) {
    match &failure.error {
        JoinError::Panicked(payload) if payload.message() == PROVOKED => {}
        JoinError::Poisoned => {}
        _ => books.find(failure.to_string()),
    }
}

/// Keeps the messages of panics that are part of the test off the error stream.
pub(super) fn silence_provoked_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload_as_str() != Some(PROVOKED) {
            before(info);
        }
    }));
}
