//! The size of a managed pool on virtual cores with an artificial load and clock.

use super::managed::managed;
use crate::common::{lock, watchdog};
use std::sync::{Arc, Mutex};
use xtasking::platform::{Platform, Simulation};
use xtasking::{
    Runtime,
    managed::{Advice, Managed, Reason},
};

/// Virtual cores that all take a step within the same tick of the clock. (In a simulation, cores
/// take turns.)
struct AtOnce {
    simulation: Simulation,
    clock: Arc<Mutex<Clock>>,
}

#[derive(Default)]
struct Clock {
    time: u64,
    /// The simulation's time, as of the last change.
    steps: u64,
    workers: u64,
}

impl Platform for AtOnce {
    xtasking_testing::forward_platform!(simulation: topology start park wake join block pages virtual_time);

    fn now(&self) -> u64 {
        let (clock, steps) = (lock(&self.clock), self.simulation.now());
        clock.time + (steps - clock.steps) / clock.workers
    }
}

/// A pool of up to eight virtual workers, and all advice that it has followed.
struct Virtual {
    pool: Managed<Arc<Runtime>>,
    clock: Arc<Mutex<Clock>>,
    advice: Vec<Advice>,
}

impl Virtual {
    fn new(seed: u64) -> Self {
        let clock = Arc::new(Mutex::new(Clock { workers: 1, ..Clock::default() }));
        let platform = AtOnce { simulation: Simulation::new(8, seed), clock: clock.clone() };
        let pool = managed(Runtime::builder().platform(platform).workers(1).most_workers(8));
        Self { pool, clock, advice: Vec::new() }
    }

    /// Runs several spans of time: in each, tasks arrive at once, ten times, and then none arrive
    /// for a while.
    fn run(&mut self, spans: usize, tasks: u16, rest: u64) {
        for _ in 0..spans {
            for _ in 0..10 {
                let rt = self.pool.runtime();
                let tasks: Vec<_> =
                    (0..tasks).map(|core| rt.task(()).core(core).submit(|(), _| ())).collect();
                tasks.into_iter().for_each(|task| task.join().unwrap());
            }
            lock(&self.clock).time += rest;
            self.advice.push(self.pool.follow().unwrap().unwrap());
            // From now on this number of workers runs at once.
            let elapsed = self.pool.statistics().unwrap().elapsed.as_nanos() as u64;
            let mut clock = lock(&self.clock);
            let steps = clock.steps + (elapsed - clock.time) * clock.workers;
            *clock = Clock { time: elapsed, steps, workers: self.pool.size() as u64 };
        }
    }
}

#[test]
fn virtual_workers_come_and_go_with_the_load() {
    for seed in 0..2 {
        let _watched = watchdog();
        let follow = || {
            let mut pool = Virtual::new(seed);
            // Many tasks at once; then single ones with pauses; and again.
            pool.run(20, 80, 0);
            pool.run(20, 1, 500);
            pool.run(20, 80, 0);
            pool.advice
        };
        let advice: Vec<Advice> = follow();
        assert_eq!(advice, follow(), "it depends on the seed alone");
        let sizes: Vec<_> = advice.iter().map(|advice| advice.workers).collect();
        assert!(sizes[5..20].iter().all(|&size| size == 8), "{sizes:?}");
        assert!(sizes[25..40].iter().all(|&size| size == 1), "{sizes:?}");
        assert!(sizes[45..].iter().all(|&size| size == 8), "{sizes:?}");
        // The size goes up, down and up, without oscillation.
        assert!(sizes[..20].is_sorted() && sizes[20..40].iter().rev().is_sorted() && sizes[40..].is_sorted());
    }
}

/// The virtual cores of a simulation take turns, so more of them are not faster.
#[test]
fn virtual_workers_without_effect_are_removed() {
    for seed in 0..2 {
        let _watched = watchdog();
        let pool = managed(Runtime::builder().platform(Simulation::new(8, seed)).workers(1).most_workers(8));
        let advices: Vec<_> = (0..60)
            .map(|_| {
                let tasks: Vec<_> =
                    (0..400).map(|core| pool.runtime().task(()).core(core).submit(|(), _| ())).collect();
                tasks.into_iter().for_each(|task| task.join().unwrap());
                pool.follow().unwrap().unwrap()
            })
            .collect();
        let changes = advices.iter().filter(|advice| advice.workers != advice.size).count();
        let vain = advices.iter().filter(|advice| advice.reason == Reason::NoEffect).count();
        assert!((1..=5).contains(&vain) && changes <= 2 * vain + 1, "{vain} of {changes}: {advices:#?}");
        assert_eq!(pool.size(), 1);
    }
}
