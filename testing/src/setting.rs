//! The platforms and numbers of workers that tests run on.

use crate::threads::drives;
use crate::{PATIENCE, watchdog};
use std::fmt::Debug;
use std::thread;
use xtasking::platform::Simulation;
use xtasking::{Builder, Links, Pool, Ranking, Runtime};

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
        /// From which their interleaving follows.
        seed: u64,
    },
}

impl Setting {
    /// Every number of threads that is worth a test on a small machine; under a sanitizer, few and many.
    pub fn threads() -> impl Iterator<Item = Self> {
        let all: &[usize] = if PATIENCE > 1 { &[2, 8] } else { &[1, 2, 4, 8] };
        all.iter().map(|&workers| Self::Threads { workers })
    }

    /// Every number of virtual cores that is worth a test, each with these seeds; under a sanitizer, which learns little
    /// from a single thread, one of each.
    pub fn simulations(seeds: &[u64]) -> impl Iterator<Item = Self> {
        let (all, seeds): (&[usize], _) =
            if PATIENCE > 1 { (&[4], &seeds[..1]) } else { (&[1, 2, 4, 16], seeds) };
        all.iter().flat_map(move |&cores| seeds.iter().map(move |&seed| Self::Simulation { cores, seed }))
    }

    /// A builder of a runtime of this kind.
    pub fn builder(self) -> Builder {
        let builder = Runtime::builder().pool(pool());
        match self {
            Self::Threads { workers } => builder.workers(workers),
            Self::Simulation { cores, seed } => builder.platform(Simulation::new(cores, seed)),
        }
    }

    /// A runtime of this kind.
    ///
    /// # Panics
    ///
    /// If there is no room for a few workers.
    pub fn build(self) -> Runtime {
        self.builder().build().expect("a runtime of a few workers")
    }

    /// Whether tasks run only while somebody waits.
    pub fn is_simulation(self) -> bool {
        matches!(self, Self::Simulation { .. })
    }

    /// Whether a worker may have nothing to do while another one has a single task. Virtual cores have their turn when there
    /// is something to do, and with a queue that all share the next one has the task.
    pub fn may_idle_beside_a_task(self) -> bool {
        !(self.is_simulation() && matches!(pool(), Pool::Ranked(_)))
    }

    /// A number that differs between settings, for generators.
    pub fn seed(self) -> u64 {
        match self {
            Self::Threads { workers } => workers as u64,
            Self::Simulation { cores, seed } => seed * 100 + cores as u64,
        }
    }
}

/// The pool that tests run on which do not choose one themselves: as `XTASKING_TEST_POOL` says.
fn pool() -> Pool {
    let Ok(name) = std::env::var("XTASKING_TEST_POOL") else { return Pool::default() };
    match &name[..] {
        "local" => Pool::Local,
        "stealing" => Pool::WorkStealing,
        "xqueue-next" => Pool::XQueue(Links::Next),
        "xqueue-neighbours" => Pool::XQueue(Links::Neighbours),
        "xqueue-all" => Pool::XQueue(Links::All),
        "xqueue-kautz" => Pool::XQueue(Links::Kautz),
        "ranked-exact" => Pool::Ranked(Ranking::Exact),
        "ranked-relaxed" => Pool::Ranked(Ranking::Relaxed),
        _ => panic!("XTASKING_TEST_POOL names no pool: {name}"),
    }
}

/// Says on what a test failed.
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
