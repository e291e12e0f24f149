//! The platforms and numbers of workers that tests run on.

use crate::threads::drives;
use crate::{PATIENCE, watchdog};
use std::fmt::Debug;
use std::thread;
use xtasking::platform::Simulation;
use xtasking::{
    Builder, QueuePolicy, Runtime,
    queues::{RankOrder, Topology},
};

/// All queue policies.
pub const QUEUE_POLICIES: [QueuePolicy; 8] = [
    QueuePolicy::Local,
    QueuePolicy::WorkStealing,
    QueuePolicy::XQueue(Topology::Next),
    QueuePolicy::XQueue(Topology::Neighbours),
    QueuePolicy::XQueue(Topology::All),
    QueuePolicy::XQueue(Topology::Kautz),
    QueuePolicy::Ranked(RankOrder::Exact),
    QueuePolicy::Ranked(RankOrder::Relaxed),
];

/// A platform with a number of workers.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// Threads of the operating system.
    Threads {
        /// How many.
        workers: usize,
    },
    /// Virtual cores, interleaved by a seed.
    Simulation {
        /// How many.
        cores: usize,
        /// Seed of the interleaving.
        seed: u64,
    },
}

impl Setting {
    /// Returns settings with each number of threads worth testing on a small machine; under a
    /// sanitizer, a small and a large one.
    pub fn threads() -> impl Iterator<Item = Self> {
        let all: &[usize] = if PATIENCE > 1 { &[2, 8] } else { &[1, 2, 4, 8] };
        all.iter().map(|&workers| Self::Threads { workers })
    }

    /// Returns settings with each number of virtual cores worth testing, each with these seeds, or
    /// with one of them if `XTASKING_TEST_POOL` names a queue policy. Under a sanitizer, which
    /// learns little from a single thread, it returns one of each.
    pub fn simulations(seeds: &[u64]) -> impl Iterator<Item = Self> {
        let (all, seeds): (&[usize], _) = match part_of_policy(seeds.len()) {
            _ if PATIENCE > 1 => (&[4], &seeds[..1]),
            Some(part) => (&[1, 2, 4, 16], &seeds[part..part + 1]),
            None => (&[1, 2, 4, 16], seeds),
        };
        all.iter().flat_map(move |&cores| seeds.iter().map(move |&seed| Self::Simulation { cores, seed }))
    }

    /// Returns a builder of a runtime of this kind.
    pub fn builder(self) -> Builder {
        let builder = Runtime::builder().pool(pool());
        match self {
            Self::Threads { workers } => builder.workers(workers),
            Self::Simulation { cores, seed } => builder.platform(Simulation::new(cores, seed)),
        }
    }

    /// Builds a runtime of this kind.
    ///
    /// # Panics
    ///
    /// Panics if the workers cannot be started.
    pub fn build(self) -> Runtime {
        self.builder().build().expect("a runtime of a few workers")
    }

    /// Returns true if tasks run only while a thread waits.
    pub fn is_simulation(self) -> bool {
        matches!(self, Self::Simulation { .. })
    }

    /// Returns true if a worker may be idle while another one has a single task. It may not with
    /// virtual cores and one shared queue: each core has a turn while tasks exist, and takes the
    /// next task from the queue.
    pub fn may_idle_beside_a_task(self) -> bool {
        !(self.is_simulation() && matches!(pool(), QueuePolicy::Ranked(_)))
    }

    /// Returns a number that differs between settings, for generators.
    pub fn seed(self) -> u64 {
        match self {
            Self::Threads { workers } => workers as u64,
            Self::Simulation { cores, seed } => seed * 100 + cores as u64,
        }
    }
}

/// Returns the queue policy of tests that do not choose one: `XTASKING_TEST_POOL` names it.
fn pool() -> QueuePolicy {
    let Ok(name) = std::env::var("XTASKING_TEST_POOL") else { return QueuePolicy::default() };
    match &name[..] {
        "local" => QueuePolicy::Local,
        "stealing" => QueuePolicy::WorkStealing,
        "xqueue-next" => QueuePolicy::XQueue(Topology::Next),
        "xqueue-neighbours" => QueuePolicy::XQueue(Topology::Neighbours),
        "xqueue-all" => QueuePolicy::XQueue(Topology::All),
        "xqueue-kautz" => QueuePolicy::XQueue(Topology::Kautz),
        "ranked-exact" => QueuePolicy::Ranked(RankOrder::Exact),
        "ranked-relaxed" => QueuePolicy::Ranked(RankOrder::Relaxed),
        _ => panic!("XTASKING_TEST_POOL names no pool: {name}"),
    }
}

/// Returns which of some equal parts of its seeds a test tries if `XTASKING_TEST_POOL` names a
/// queue policy; `None` means all of them. So runs with several policies take about as long as one.
pub fn part_of_policy(parts: usize) -> Option<usize> {
    std::env::var_os("XTASKING_TEST_POOL")?;
    let number = QUEUE_POLICIES.iter().position(|policy| *policy == pool()).expect("a known policy");
    Some(number * parts / QUEUE_POLICIES.len())
}

/// Prints the value if the test panics while this is alive.
pub struct Blame<T: Debug>(pub T);

impl<T: Debug> Drop for Blame<T> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the failure was on {:?}", self.0);
        }
    }
}

/// Runs a test's body in each of some settings.
pub fn on_each(settings: impl Iterator<Item = Setting>, body: impl Fn(Setting)) {
    on_each_unwatched(settings, |setting| {
        let _watched = watchdog();
        body(setting);
    });
}

/// As [`on_each`], for a body of many parts that has a watchdog for each.
pub fn on_each_unwatched(settings: impl Iterator<Item = Setting>, body: impl Fn(Setting)) {
    for setting in settings {
        let _blame = Blame(setting);
        drives(setting.is_simulation());
        body(setting);
        drives(false);
    }
}
