//! One turn: all operations on a fresh world, and the checks afterwards.

use super::build::Blueprint;
use super::chain::{Chain, Step};
use super::concurrent::{Concurrent, Seen, carry_out};
use super::effort::Times;
use super::mix::Mix;
use super::operations::Operation;
use super::replay::{Record, replay};
use super::sizes::Sizes;
use crate::failure::Failure;
use crate::lineup::cannot_start;
use crate::virtual_time::{Clocks, Costs, Spread, VirtualTime};
use crate::ycsb::distribution::Random;
use crate::ycsb::plan::Wrong;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use xtasking::{Control, Pool, Runtime};
use xtasking_hierarchy::View;

/// What is done in a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub operations: usize,
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
    /// In virtual time, of what has its own granule.
    pub chain: Option<Chain>,
}

/// What a worker has done, each with its stamp.
type Log = Mutex<Vec<(u64, Record)>>;

/// What operations had, and for how long, each with its number.
type Steps = Mutex<Vec<(usize, Step)>>;

/// Sets these streams of random numbers apart from those for other uses of a seed.
const PATH: u64 = 0x57b7;

impl Work {
    fn blueprint(&self) -> Blueprint {
        Blueprint::new(self.sizes, self.seed)
    }

    fn drawn(&self, mix: &Mix) -> Vec<(Operation, u64)> {
        let mut random = Random::new(self.seed, &[PATH]);
        (0..self.operations).map(|_| (mix.draw(&mut random), random.below(u64::MAX))).collect()
    }

    /// Does operations of a mix, and checks them and the world.
    pub fn turn(&self, mix: &Mix, control: Control, workers: usize, context: &str) -> Result<Turn, Failure> {
        let builder = Runtime::builder().pool(Pool::WorkStealing);
        let (builder, clocks) = match self.times {
            None => (builder.workers(workers), None),
            Some(Times { operation, .. }) => {
                let costs = Costs { task: operation.into(), unit: 0, ..Costs::default() };
                let (platform, clocks) = VirtualTime::new(workers, self.seed, costs);
                (builder.platform(platform), Some(clocks))
            }
        };
        let rt = builder.build().map_err(|error| cannot_start("xtasking", workers, &error))?;
        let world = Concurrent::new(&rt, self.blueprint(), control);
        let drawn = self.drawn(mix);
        let logs: Arc<[Log]> = (0..workers).map(|_| Mutex::default()).collect();
        let stamps = Arc::new(AtomicU64::new(0));
        let steps: Option<Arc<Steps>> = (clocks.is_some() && control == Control::Lines).then(Arc::default);
        let (began, virtually) = (Instant::now(), clocks.as_ref().map_or(0, Clocks::makespan));
        let group = rt.group();
        for (number, (operation, seed)) in drawn.into_iter().enumerate() {
            let steps = steps.clone();
            let (logs, stamps, layout) = (logs.clone(), stamps.clone(), world.layout().clone());
            let time = clocks.clone().zip(self.times);
            let task = rt.task(()).of(&group).claim(world.claim(operation, seed));
            task.spawn_with(move |(), held, cx| {
                let had = steps.as_ref().map(|_| held.granules().collect());
                let (outcome, effort) = carry_out(operation, seed, &layout, control, View::new(held), cx);
                // What follows is while it has all that it touches: so others wait as long as it takes, and of two that touch
                // the same the first one has the smaller stamp.
                if let Some((clocks, times)) = time {
                    clocks.spend(times.of(&effort));
                    if let (Some(steps), Some(had)) = (steps, had) {
                        let time = u64::from(times.operation) + times.of(&effort);
                        let mut steps = steps.lock().expect("nobody panics with it");
                        steps.push((number, Step { operation, had, time }));
                    }
                }
                let stamp = stamps.fetch_add(1, Relaxed);
                let mut log = logs[cx.worker()].lock().expect("nobody panics with it");
                log.push((stamp, Record { operation, seed, outcome }));
            });
        }
        let waited = group.wait();
        let time = match &clocks {
            None => began.elapsed().as_secs_f64(),
            Some(clocks) => (clocks.makespan() - virtually) as f64 / 1e9,
        };
        let spread = clocks.as_ref().map(Spread::of);
        let wrong = |wrong| Failure::Wrong { context: context.to_string(), wrong };
        let failed = |text: String| wrong(Wrong::new(text));
        waited.map_err(|error| failed(format!("an operation failed: {error}")))?;
        let take = |log: &Log| std::mem::take(&mut *log.lock().expect("nobody panics with it"));
        let mut records: Vec<(u64, Record)> = logs.iter().flat_map(take).collect();
        records.sort_unstable_by_key(|record| record.0);
        let records: Vec<Record> = records.into_iter().map(|record| record.1).collect();
        let again = self.blueprint();
        let chain = steps.map(|steps| {
            let mut steps = std::mem::take(&mut *steps.lock().expect("nobody panics with it"));
            steps.sort_unstable_by_key(|step| step.0);
            let steps: Vec<Step> = steps.into_iter().map(|step| step.1).collect();
            Chain::of(&steps, &again)
        });
        let check = rt
            .task(())
            .claim(world.all())
            .submit_with(move |(), held, _| replay(again, &records, &Seen(View::new(held))));
        check.join().map_err(|error| failed(format!("the replay failed: {error}")))?.map_err(wrong)?;
        Ok(Turn { rate: self.operations as f64 / time / 1e3, spread, chain })
    }
}
