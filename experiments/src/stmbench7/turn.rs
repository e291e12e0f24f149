//! One turn: all operations on a fresh world, and the checks afterwards.

use super::build::Blueprint;
use super::chain::{Chain, Step};
use super::concurrent::{Concurrent, Seen, Shared, carry_out};
use super::delays::{Delays, Told};
use super::effort::{Effort, Times};
use super::mix::Mix;
use super::operations::{Operation, Scratch};
use super::options::LongReads;
use super::replay::{Record, replay};
use super::sizes::Sizes;
use super::snapshot::Snapshot;
use super::survey::{Reading, Surveys};
use crate::failure::Failure;
use crate::lineup::cannot_start;
use crate::virtual_time::{Clocks, Spread, VirtualTime, costs};
use crate::ycsb::distribution::Random;
use crate::ycsb::plan::Wrong;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use xtasking::{Claim, Context, Control, Held, Pool, Runtime};
use xtasking_hierarchy::{Slab, Survey, View};

/// What is done in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub operations: usize,
    pub long_reads: LongReads,
    /// So many are under way at a time, for each worker.
    pub clients: usize,
    pub sizes: Sizes,
    pub seed: u64,
    /// In virtual time.
    pub times: Option<Times>,
}

/// What a turn has shown.
pub(super) struct Turn {
    /// Thousands of operations a second.
    pub rate: f64,
    /// In virtual time.
    pub spread: Option<Spread>,
    /// In virtual time, if anybody wrote.
    pub delays: Option<Told>,
    /// In virtual time, of what has its own granule.
    pub chain: Option<Chain>,
    /// How surveys have gone, for people, if there were any.
    pub surveys: Option<String>,
}

/// What a worker has done, each with its stamp.
type Log = Mutex<Vec<(u64, Record)>>;

/// Sets these streams of random numbers apart from those for other uses of a seed.
const PATH: u64 = 0x57b7;

/// A turn under way.
pub(super) struct Course {
    world: Concurrent,
    control: Control,
    long_reads: LongReads,
    drawn: Vec<(Operation, u64)>,
    /// How many of them have been begun.
    next: AtomicUsize,
    stamps: AtomicU64,
    logs: Vec<Log>,
    time: Option<(Clocks, Times)>,
    delays: Delays,
    /// What operations had, and for how long, each with its number: if that is to be known.
    steps: Option<Mutex<Vec<(usize, Step)>>>,
    pub surveys: Surveys,
}

impl Course {
    /// The number of the next operation, if there is one more.
    fn next(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Relaxed);
        if number >= self.drawn.len() {
            return None;
        }
        if let Some((clocks, _)) = &self.time {
            self.delays.begin(number, clocks);
        }
        Some(number)
    }

    fn claim(&self, number: usize) -> Claim<'_, Slab<Shared>> {
        let (operation, seed) = self.drawn[number];
        self.world.claim(operation, seed)
    }

    /// A survey of what the operation reads, if it is to be made by one.
    fn survey(&self, number: usize) -> Option<Survey<Shared>> {
        let (operation, seed) = self.drawn[number];
        if self.long_reads == LongReads::Survey { self.world.survey(operation, seed) } else { None }
    }

    /// The number of what is done now, in an order in which all can be done again.
    pub fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Relaxed)
    }

    /// Does an operation, and then has the next one done.
    fn go_on(self: Arc<Self>, number: usize, held: Held<'_, Slab<Shared>>, cx: &mut Context) {
        let (operation, seed) = self.drawn[number];
        let had = self.steps.as_ref().map(|_| held.granules().collect());
        let (layout, seen) = (self.world.layout(), Seen(View::new(held)));
        if self.long_reads != LongReads::Claimed && operation.reads_long() {
            let snapshot = Snapshot::of(operation, seed, layout, &seen);
            self.spend(number, &Effort { nodes: snapshot.len() as u64, ..Effort::default() }, had);
            let stamp = self.stamp();
            let course = self.clone();
            return cx.task(()).as_sibling().spawn(move |(), cx| course.read(number, stamp, snapshot, cx));
        }
        let (outcome, effort) = carry_out(operation, seed, layout, self.control, seen, cx);
        // What follows is while it has all that it touches: so others wait as long as it takes, and of two that touch the same
        // the first one has the smaller stamp.
        self.spend(number, &effort, had);
        let stamp = self.stamp();
        self.over(number, stamp, Record { operation, seed, outcome }, cx);
    }

    /// Does an operation that only reads, when others may change again what it reads.
    pub fn read(self: Arc<Self>, number: usize, stamp: u64, mut snapshot: Snapshot, cx: &mut Context) {
        let (operation, seed) = self.drawn[number];
        let mut scratch = Scratch::default();
        let outcome = operation.run(self.world.layout(), seed, &mut scratch, &mut snapshot);
        self.spend(number, &scratch.effort, None);
        self.over(number, stamp, Record { operation, seed, outcome }, cx);
    }

    /// The caller takes as long as that takes, with what it has.
    fn spend(&self, number: usize, effort: &Effort, had: Option<Vec<(u32, bool)>>) {
        let Some((clocks, times)) = &self.time else { return };
        let time = times.of(effort);
        clocks.spend(time);
        if let Some((steps, had)) = self.steps.as_ref().zip(had) {
            let operation = self.drawn[number].0;
            let step = Step { operation, had, time };
            steps.lock().expect("nobody panics with it").push((number, step));
        }
    }

    /// The caller has looked at so many nodes.
    pub fn spend_on_looks(&self, nodes: usize) {
        if let Some((clocks, times)) = &self.time {
            clocks.spend(times.of(&Effort { nodes: nodes as u64, ..Effort::default() }));
        }
    }

    /// The caller sees whether so many granules were written.
    pub fn spend_on_comparing(&self, granules: usize) {
        if let Some((clocks, times)) = &self.time {
            clocks.spend(times.of_comparing(granules));
        }
    }

    /// An operation is over: the next one comes.
    fn over(self: Arc<Self>, number: usize, stamp: u64, record: Record, cx: &mut Context) {
        if let Some((clocks, _)) = &self.time {
            self.delays.end(number, record.operation, clocks);
        }
        self.logs[cx.worker()].lock().expect("nobody panics with it").push((stamp, record));
        if let Some(next) = self.next() {
            if let Some(survey) = self.survey(next) {
                return survey.follow(cx, Reading { course: self, number: next, stamp: 0 });
            }
            let course = self.clone();
            let task = cx.task(()).as_sibling().claim(self.claim(next));
            task.spawn_with(move |(), held, cx| course.go_on(next, held, cx));
        }
    }
}

impl Work {
    fn blueprint(&self) -> Blueprint {
        Blueprint::new(self.sizes, self.seed)
    }

    /// Does operations of a mix, and checks them and the world.
    pub fn turn(&self, mix: &Mix, control: Control, workers: usize, context: &str) -> Result<Turn, Failure> {
        let builder = Runtime::builder().pool(Pool::WorkStealing);
        let (builder, time) = match self.times {
            None => (builder.workers(workers), None),
            Some(times) => {
                let (platform, clocks) = VirtualTime::new(workers, self.seed, costs());
                (builder.platform(platform), Some((clocks, times)))
            }
        };
        let rt = builder.build().map_err(|error| cannot_start("xtasking", workers, &error))?;
        let mut random = Random::new(self.seed, &[PATH]);
        let course = Arc::new(Course {
            world: Concurrent::new(&rt, self.blueprint(), control),
            control,
            long_reads: self.long_reads,
            drawn: (0..self.operations).map(|_| (mix.draw(&mut random), random.below(u64::MAX))).collect(),
            next: AtomicUsize::new(0),
            stamps: AtomicU64::new(0),
            logs: (0..workers).map(|_| Mutex::default()).collect(),
            steps: (time.is_some() && control == Control::Lines).then(Mutex::default),
            time,
            delays: Delays::new(self.operations),
            surveys: Surveys::default(),
        });
        let clocks = course.time.as_ref().map(|time| &time.0);
        let (began, virtually) = (Instant::now(), clocks.map_or(0, Clocks::makespan));
        let group = rt.group();
        for _ in 0..self.clients * workers {
            let Some(first) = course.next() else { break };
            let task = rt.task(()).of(&group);
            if let Some(survey) = course.survey(first) {
                let reading = Reading { course: course.clone(), number: first, stamp: 0 };
                task.spawn(move |(), cx| survey.follow(cx, reading));
                continue;
            }
            let (task, course) = (task.claim(course.claim(first)), course.clone());
            task.spawn_with(move |(), held, cx| course.go_on(first, held, cx));
        }
        let waited = group.wait();
        let time = match clocks {
            None => began.elapsed().as_secs_f64(),
            Some(clocks) => (clocks.makespan() - virtually) as f64 / 1e9,
        };
        let spread = clocks.map(Spread::of);
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let failed = |text: String| wrong(Wrong::new(text));
        waited.map_err(|error| failed(format!("an operation failed: {error}")))?;
        let mut records: Vec<(u64, Record)> = course.logs.iter().flat_map(take).collect();
        records.sort_unstable_by_key(|record| record.0);
        let records: Vec<Record> = records.into_iter().map(|record| record.1).collect();
        let again = self.blueprint();
        let chain = course.steps.as_ref().map(|steps| {
            let mut steps = take(steps);
            steps.sort_unstable_by_key(|step| step.0);
            let steps: Vec<Step> = steps.into_iter().map(|step| step.1).collect();
            Chain::of(&steps, &again)
        });
        let check = rt
            .task(())
            .claim(course.world.all())
            .submit_with(move |(), held, _| replay(again, &records, &Seen(View::new(held))));
        check.join().map_err(|error| failed(format!("the replay failed: {error}")))?.map_err(wrong)?;
        let rate = self.operations as f64 / time / 1e3;
        let delays = course.delays.told();
        Ok(Turn { rate, spread, delays, chain, surveys: course.surveys.told() })
    }
}

fn take<T>(all: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *all.lock().expect("nobody panics with it"))
}
