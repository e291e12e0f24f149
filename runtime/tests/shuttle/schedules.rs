//! The schedules under which a test runs, and how one of them is replayed.
//!
//! A seed denotes one schedule of one of three kinds:
//!
//! - *restless*: at each point every thread is equally likely to continue;
//! - *steady*: mostly the same thread continues, so that threads rarely interrupt each other, but
//!   do so deep inside an operation;
//! - *ranked* (probabilistic concurrency testing): the thread of the highest rank continues, and at
//!   a few points, chosen beforehand, falls to the lowest. It finds errors that need few, but
//!   specific, switches.
//!
//! No state is carried from one schedule to the next, so the seed alone replays one. (The only
//! exception is the order in which several latches are taken, which is the order of addresses.)

use crate::common::Random;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::cell::Cell;
use std::collections::HashMap;
use std::env;
use std::sync::Once;

/// Schedules for each test, unless the environment says otherwise.
const SCHEDULES: u64 = 1200;
/// Points of a schedule after which a test counts as endless.
const ENDLESS: usize = 1_000_000;
/// Stack of a thread in bytes: bodies and panics need more than the checker's own tests.
const STACK: usize = 256 << 10;

thread_local! {
    /// The seed of the current schedule. To the standard library all threads of a schedule are this
    /// one.
    static SEED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs a test's body under many schedules. Its random numbers follow from the schedule's seed.
pub fn explore(body: impl Fn(Random) + Clone + Send + Sync + 'static) {
    tell_the_seed_of_a_failure();
    let number = |name| env::var(name).ok().map(|text| text.parse().expect("the variable is a number"));
    let seeds = match number("XTASKING_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..SCHEDULES * number("XTASKING_SCHEDULES").unwrap_or(1),
    };
    for seed in seeds {
        SEED.set(Some(seed));
        let body = body.clone();
        let mut config = Config::new();
        config.stack_size = STACK;
        config.failure_persistence = FailurePersistence::None;
        config.max_steps = MaxSteps::FailAfter(ENDLESS);
        Runner::new(Seeded::new(seed), config).run(move || body(Random::new(!seed)));
    }
    SEED.set(None);
}

fn tell_the_seed_of_a_failure() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            before(info);
            if let Some(seed) = SEED.get() {
                let thread = std::thread::current();
                let test = thread.name().unwrap_or_default();
                eprintln!("to see it again: XTASKING_SEED={seed} bash .ci/shuttle {test}");
            }
        }));
    });
}

/// A schedule that follows from a seed.
struct Seeded {
    random: Random,
    kind: Kind,
    begun: bool,
    steps: usize,
}

enum Kind {
    Restless,
    /// One point in this many switches to another thread.
    Steady(usize),
    Ranked(Ranks),
}

#[derive(Default)]
struct Ranks {
    ranks: HashMap<TaskId, i64>,
    /// The points at which the running thread falls to the lowest rank.
    falls: Vec<usize>,
    lowest: i64,
}

impl Ranks {
    fn fall(&mut self, thread: TaskId) {
        self.lowest -= 1;
        self.ranks.insert(thread, self.lowest);
    }
}

impl Seeded {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed + 1);
        let kind = match seed % 4 {
            0 => Kind::Restless,
            1 => Kind::Steady(1 << (1 + random.below(7))),
            _ => {
                // The length of the schedule is unknown: the thread falls early or anywhere.
                let within = 1 << (6 + random.below(9));
                let falls = (0..random.below(8)).map(|_| random.below(within)).collect();
                Kind::Ranked(Ranks { falls, ..Ranks::default() })
            }
        };
        Self { random, kind, begun: false, steps: 0 }
    }
}

impl Scheduler for Seeded {
    fn new_execution(&mut self) -> Option<Schedule> {
        (!std::mem::replace(&mut self.begun, true)).then(|| Schedule::new(0))
    }

    fn next_task(&mut self, ready: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        self.steps += 1;
        let is_ready = |thread: &TaskId| ready.iter().any(|task| task.id() == *thread);
        match &mut self.kind {
            Kind::Ranked(ranks) => {
                for task in ready {
                    let rank = self.random.below(1 << 20) as i64;
                    ranks.ranks.entry(task.id()).or_insert(rank);
                }
                if let Some(current) = current
                    && (is_yielding || ranks.falls.contains(&self.steps))
                {
                    ranks.fall(current);
                }
                ready.iter().map(|task| task.id()).max_by_key(|thread| ranks.ranks[thread])
            }
            Kind::Steady(each) if !is_yielding && self.random.below(*each) > 0 => {
                current.filter(is_ready).or_else(|| Some(ready[self.random.below(ready.len())].id()))
            }
            _ => Some(ready[self.random.below(ready.len())].id()),
        }
    }

    fn next_u64(&mut self) -> u64 {
        self.random.below(1 << 32) as u64
    }
}
