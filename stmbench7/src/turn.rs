//! Runs one turn: all operations on a fresh world, and the checks afterwards.

use super::bound::{Bound, Step, WorkLog};
use super::build::Blueprint;
use super::concurrent::{Concurrent, SharedPart, TaskView, carry_out};
use super::delays::{Delays, WriterDelays};
use super::effort::{Effort, Times};
use super::mix::Mix;
use super::operations::{Operation, Scratch};
use super::options::LongReads;
use super::outcome::Outcome;
use super::parts::Part;
use super::replay::{Record, replay};
use super::sizes::Sizes;
use super::snapshot::Snapshot;
use super::survey::{SurveyedRead, Surveys};
use super::tree::{Found, TaskTree, TreeWorld};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use xtasking::trees::Nodes;
use xtasking::{Context, Held, QueuePolicy, Runtime};
use xtasking_harness::controls::Isolation;
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::cannot_start;
use xtasking_harness::page;
use xtasking_harness::random::Random;
use xtasking_hierarchy::{Slab, Survey, View};
use xtasking_virtual_time::{Clocks, Spread, VirtualTime, costs};

/// The input of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub operations: usize,
    pub long_reads: LongReads,
    /// Operations in flight for each worker.
    pub clients: usize,
    pub sizes: Sizes,
    pub seed: u64,
    /// Costs in virtual time; `None` in real time.
    pub times: Option<Times>,
}

/// The result of a turn.
pub(super) struct Turn {
    /// Thousands of operations a second.
    pub rate: f64,
    /// In virtual time only.
    pub spread: Option<Spread>,
    /// In virtual time only, if there were short writers.
    pub delays: Option<WriterDelays>,
    /// In virtual time only.
    pub bound: Option<Bound>,
    /// A summary of surveys for reports, if there were any.
    pub surveys: Option<String>,
}

/// The operations that a worker has run, with their stamps.
type Log = Mutex<Vec<(u64, Record)>>;

/// Separates these random numbers from other uses of the seed.
const PATH: u64 = 0x57b7;

/// A world whose operations are tasks.
enum TaskWorld {
    Granules(Concurrent),
    Tree(TreeWorld),
}

/// The state of a running turn.
pub(super) struct TurnState {
    world: TaskWorld,
    long_reads: LongReads,
    drawn: Vec<(Operation, u64)>,
    /// Number of operations begun.
    next: AtomicUsize,
    stamps: AtomicU64,
    logs: Vec<Log>,
    time: Option<(Clocks, Times)>,
    delays: Delays,
    /// All tasks, in virtual time only.
    log: Mutex<WorkLog>,
    pub surveys: Surveys,
}

impl TurnState {
    /// Returns the number of the next operation, if there is one.
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

    /// Returns a survey of what the operation reads, if it is to run without a claim.
    fn survey(&self, number: usize) -> Option<Survey<SharedPart>> {
        let (operation, seed) = self.drawn[number];
        match &self.world {
            TaskWorld::Granules(world) if self.long_reads == LongReads::Survey => {
                world.survey(operation, seed)
            }
            _ => None,
        }
    }

    /// Draws the next stamp. Stamps define an equivalent sequential order.
    pub fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Relaxed)
    }

    /// Runs an operation on granules, and spawns the next one.
    fn run_on_granules(self: Arc<Self>, number: usize, held: Held<'_, Slab<SharedPart>>, cx: &mut Context) {
        let TaskWorld::Granules(world) = &self.world else { unreachable!("the task holds granules") };
        let (operation, seed) = self.drawn[number];
        let held_granules = self.time.as_ref().map(|_| world.distinct_granules(&held));
        let (layout, view) = (world.layout(), TaskView(View::new(held)));
        if self.long_reads != LongReads::Claimed && operation.reads_long() {
            let snapshot = Snapshot::of(operation, seed, layout, &view);
            self.spend(number, &Effort { nodes: snapshot.len() as u64, ..Effort::default() }, held_granules);
            let stamp = self.stamp();
            let state = self.clone();
            return cx.task(()).as_sibling().spawn(move |(), cx| state.read(number, stamp, snapshot, cx));
        }
        let (outcome, effort) = carry_out(operation, seed, layout, world.control(), view, cx);
        self.end(number, outcome, &effort, held_granules, cx);
    }

    /// Runs an operation on a tree, and spawns the next one.
    fn run_on_tree(self: Arc<Self>, number: usize, found: Found, nodes: Nodes<'_, Part>, cx: &mut Context) {
        let TaskWorld::Tree(world) = &self.world else { unreachable!("the task holds nodes of a tree") };
        let (operation, seed) = self.drawn[number];
        let mut tree = TaskTree(nodes);
        let held = self.time.as_ref().map(|_| world.held(&found, &tree));
        let (outcome, effort) = found.carry_out(operation, seed, world.layout(), &mut tree);
        self.end(number, outcome, &effort, held, cx);
    }

    /// Ends an operation that has run with a claim, and spawns the next one.
    fn end(
        self: Arc<Self>,
        number: usize,
        outcome: Outcome,
        effort: &Effort,
        held: Option<Vec<(u32, bool)>>,
        cx: &mut Context,
    ) {
        let (operation, seed) = self.drawn[number];
        // Still holds the claim: other operations wait until this time has been spent, and of two
        // operations that conflict the first one has the smaller stamp.
        self.spend(number, effort, held);
        let stamp = self.stamp();
        self.complete(number, stamp, Record { operation, seed, outcome }, cx);
    }

    /// Runs a reading operation on its snapshot, without a claim.
    pub fn read(self: Arc<Self>, number: usize, stamp: u64, mut snapshot: Snapshot, cx: &mut Context) {
        let (operation, seed) = self.drawn[number];
        let mut scratch = Scratch::default();
        let TaskWorld::Granules(world) = &self.world else { unreachable!("snapshots are of granules") };
        let outcome = operation.run(world.layout(), seed, &mut scratch, &mut snapshot);
        self.spend(number, &scratch.effort, None);
        self.complete(number, stamp, Record { operation, seed, outcome }, cx);
    }

    /// Spends the virtual time of an operation with its effort.
    fn spend(&self, number: usize, effort: &Effort, held_granules: Option<Vec<(u32, bool)>>) {
        let Some((clocks, times)) = &self.time else { return };
        let time = times.of(effort);
        clocks.spend(time);
        let mut log = self.log();
        match held_granules {
            Some(held_granules) => {
                log.add_step(Step { operation: self.drawn[number].0, held_granules, time })
            }
            None => log.add(time),
        }
    }

    fn log(&self) -> MutexGuard<'_, WorkLog> {
        self.log.lock().expect("no thread panics with the lock held")
    }

    /// Spends the virtual time to read nodes in a survey.
    pub fn spend_on_reads(&self, nodes: usize) {
        if let Some((_, times)) = &self.time {
            self.spend_on_survey(times.of(&Effort { nodes: nodes as u64, ..Effort::default() }));
        }
    }

    /// Spends the virtual time to validate granules in a survey.
    pub fn spend_on_validation(&self, granules: usize) {
        if let Some((_, times)) = &self.time {
            self.spend_on_survey(times.of_validation(granules));
        }
    }

    fn spend_on_survey(&self, time: u64) {
        if let Some((clocks, _)) = &self.time {
            clocks.spend(time);
            self.log().add(time);
        }
    }

    /// Ends an operation, and spawns the next one.
    fn complete(self: Arc<Self>, number: usize, stamp: u64, record: Record, cx: &mut Context) {
        if let Some((clocks, _)) = &self.time {
            self.delays.end(number, record.operation, clocks);
        }
        self.logs[cx.worker()].lock().expect("no thread panics with the lock held").push((stamp, record));
        if let Some(next) = self.next() {
            if let Some(survey) = self.survey(next) {
                return survey.follow(cx, SurveyedRead { state: self, number: next, stamp: 0 });
            }
            let (operation, seed) = self.drawn[next];
            let (task, state) = (cx.task(()).as_sibling(), self.clone());
            match &self.world {
                TaskWorld::Granules(world) => task
                    .claim(world.claim(operation, seed))
                    .spawn_with(move |(), held, cx| state.run_on_granules(next, held, cx)),
                TaskWorld::Tree(world) => task
                    .claim(world.claim(operation, seed))
                    .spawn_with(move |(), (found, nodes), cx| state.run_on_tree(next, found, nodes, cx)),
            }
        }
    }
}

impl Work {
    fn blueprint(&self) -> Blueprint {
        Blueprint::new(self.sizes, self.seed)
    }

    /// Runs operations of a mix, and checks them and the final state.
    pub fn turn(
        &self,
        mix: &Mix,
        isolation: Isolation,
        workers: usize,
        context: &str,
    ) -> Result<Turn, Failure> {
        let builder = Runtime::builder().pool(QueuePolicy::WorkStealing);
        let (builder, time) = match self.times {
            None => (builder.workers(workers), None),
            Some(times) => {
                let (platform, clocks) = VirtualTime::new(workers, self.seed, costs());
                (builder.platform(platform), Some((clocks, times)))
            }
        };
        let rt = if time.is_none() { page::start(builder) } else { builder.build() };
        let rt = rt.map_err(|error| cannot_start("xtasking", workers, &error))?;
        let mut random = Random::new(self.seed, &[PATH]);
        let state = Arc::new(TurnState {
            world: match isolation {
                Isolation::Granules(control) => {
                    TaskWorld::Granules(Concurrent::new(&rt, self.blueprint(), control))
                }
                Isolation::Trees => TaskWorld::Tree(TreeWorld::new(&rt, self.blueprint())),
            },
            long_reads: self.long_reads,
            drawn: (0..self.operations).map(|_| (mix.draw(&mut random), random.below(u64::MAX))).collect(),
            next: AtomicUsize::new(0),
            stamps: AtomicU64::new(0),
            logs: (0..workers).map(|_| Mutex::default()).collect(),
            log: Mutex::default(),
            time,
            delays: Delays::new(self.operations),
            surveys: Surveys::default(),
        });
        let clocks = state.time.as_ref().map(|time| &time.0);
        let (began, virtually) = (Instant::now(), clocks.map_or(0, Clocks::makespan));
        let group = rt.group();
        for _ in 0..self.clients * workers {
            let Some(first) = state.next() else { break };
            let task = rt.task(()).of(&group);
            if let Some(survey) = state.survey(first) {
                let reading = SurveyedRead { state: state.clone(), number: first, stamp: 0 };
                task.spawn(move |(), cx| survey.follow(cx, reading));
                continue;
            }
            let ((operation, seed), next) = (state.drawn[first], state.clone());
            match &state.world {
                TaskWorld::Granules(world) => task
                    .claim(world.claim(operation, seed))
                    .spawn_with(move |(), held, cx| next.run_on_granules(first, held, cx)),
                TaskWorld::Tree(world) => task
                    .claim(world.claim(operation, seed))
                    .spawn_with(move |(), (found, nodes), cx| next.run_on_tree(first, found, nodes, cx)),
            }
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
        let mut records: Vec<(u64, Record)> = state.logs.iter().flat_map(take).collect();
        records.sort_unstable_by_key(|record| record.0);
        let records: Vec<Record> = records.into_iter().map(|record| record.1).collect();
        let again = self.blueprint();
        let bound = clocks.map(|clocks| Bound::of(&state.log(), self.operations, &clocks.cores()));
        let check = match &state.world {
            TaskWorld::Granules(world) => {
                let (layout, task) = (world.layout().clone(), rt.task(()).claim(world.all()));
                task.submit_with(move |(), held, _| {
                    replay(again, &records, (&layout, &TaskView(View::new(held))))
                })
            }
            TaskWorld::Tree(world) => {
                let (layout, task) = (world.layout().clone(), rt.task(()).claim(world.all()));
                task.submit_with(move |(), nodes, _| replay(again, &records, (&layout, &TaskTree(nodes))))
            }
        };
        check.join().map_err(|error| failed(format!("the replay failed: {error}")))?.map_err(wrong)?;
        let rate = self.operations as f64 / time / 1e3;
        let delays = state.delays.summary();
        Ok(Turn { rate, spread, delays, bound, surveys: state.surveys.summary() })
    }
}

fn take<T>(all: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *all.lock().expect("no thread panics with the lock held"))
}
