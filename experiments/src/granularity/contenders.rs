//! The contenders: this runtime, sequential loops, and other libraries, in the idiomatic style of
//! each.

use super::lanes::{self, BATCH, Route, record_value, take_least};
use super::records::{Records, least, parts};
use rayon::prelude::*;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{start_own, start_rayon, start_tokio};

/// A function that finds the minimum of records, with tasks of a number of records each.
pub(super) type Aggregator = Box<dyn Fn(Records, usize) -> u64>;

pub(super) type Entry = xtasking_harness::lineup::Entry<Aggregator>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "XTasking, every worker spawns tasks for itself",
        is_parallel: true,
        start: local,
        more: (),
    },
    Entry {
        name: "xtasking-remote",
        about: "XTasking, every worker spawns tasks for the other workers in turn",
        is_parallel: true,
        start: remote,
        more: (),
    },
    Entry {
        name: "xtasking-joins",
        about: "XTasking, fork-join, down to the task size",
        is_parallel: true,
        start: joins,
        more: (),
    },
    Entry {
        name: "plain",
        about: "one sequential loop over all records",
        is_parallel: false,
        start: plain,
        more: (),
    },
    Entry {
        name: "plain-pieces",
        about: "a sequential loop per task size, without tasks: the overhead of dividing alone",
        is_parallel: false,
        start: plain_pieces,
        more: (),
    },
    Entry {
        name: "rayon",
        about: "rayon, a parallel iterator over chunks of the task size, which it groups adaptively",
        is_parallel: true,
        start: rayon,
        more: (),
    },
    Entry {
        name: "rayon-spawn",
        about: "rayon, a spawn for each task",
        is_parallel: true,
        start: rayon_spawn,
        more: (),
    },
    Entry {
        name: "tokio",
        about: "tokio, a spawned future for each task",
        is_parallel: true,
        start: tokio,
        more: (),
    },
];

fn local(workers: usize) -> Result<Aggregator, Failure> {
    own(workers, lanes::local(workers))
}

fn remote(workers: usize) -> Result<Aggregator, Failure> {
    own(workers, lanes::remote(workers))
}

fn own(workers: usize, routes: Vec<Route>) -> Result<Aggregator, Failure> {
    let rt = start_own(workers)?;
    Ok(Box::new(move |records, grain| {
        lanes::aggregate(&rt, &routes, records, grain).expect("no task panics")
    }))
}

fn joins(workers: usize) -> Result<Aggregator, Failure> {
    let rt = start_own(workers)?;
    Ok(Box::new(move |records, grain| {
        let found = rt.run(|mut cx| {
            let piece = |index: usize| &records[index * grain..records.len().min((index + 1) * grain)];
            let pieces = cx.over(0..records.len().div_ceil(grain)).grain(1);
            pieces.reduce(|| u64::MAX, |found, index| found.min(least(piece(index))), u64::min)
        });
        found.expect("no task panics")
    }))
}

fn plain(_: usize) -> Result<Aggregator, Failure> {
    Ok(Box::new(|records, _| least(records)))
}

fn plain_pieces(_: usize) -> Result<Aggregator, Failure> {
    Ok(Box::new(|records, grain| records.chunks(grain).map(least).min().unwrap_or(u64::MAX)))
}

fn rayon(workers: usize) -> Result<Aggregator, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Box::new(move |records, grain| {
        pool.install(|| records.par_chunks(grain).map(least).min().unwrap_or(u64::MAX))
    }))
}

fn rayon_spawn(workers: usize) -> Result<Aggregator, Failure> {
    /// Spawns tasks for all records, a batch at a time.
    fn spawn_all(part: Records, grain: usize) {
        for batch in part.chunks(grain * BATCH) {
            rayon::scope(|scope| {
                for records in batch.chunks(grain) {
                    scope.spawn(move |_| {
                        record_value(rayon::current_thread_index().unwrap_or(0), least(records))
                    });
                }
            });
        }
    }
    let pool = start_rayon(workers)?;
    Ok(Box::new(move |records, grain| {
        pool.scope(|scope| {
            parts(records, grain, workers).for_each(|part| scope.spawn(move |_| spawn_all(part, grain)));
        });
        take_least()
    }))
}

fn tokio(workers: usize) -> Result<Aggregator, Failure> {
    /// Spawns tasks for all records, a batch at a time.
    async fn spawn_all(part: Records, grain: usize) -> u64 {
        let mut found = u64::MAX;
        for batch in part.chunks(grain * BATCH) {
            let spawn = |records| tokio::spawn(async move { least(records) });
            let spawned: Vec<_> = batch.chunks(grain).map(spawn).collect();
            for task in spawned {
                found = found.min(task.await.expect("no task panics"));
            }
        }
        found
    }
    let pool = start_tokio(workers)?;
    Ok(Box::new(move |records, grain| {
        pool.block_on(async {
            let all: Vec<_> =
                parts(records, grain, workers).map(|part| tokio::spawn(spawn_all(part, grain))).collect();
            let mut found = u64::MAX;
            for part in all {
                found = found.min(part.await.expect("no task panics"));
            }
            found
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::super::records::make;
    use super::*;

    /// A single test, because the workers' records are global.
    #[test]
    fn all_contenders_find_the_minimum() {
        for (count, seed) in [(1, 1), (999, 2), (40_001, 3)] {
            let records = make(count, seed);
            for entry in ALL {
                for workers in [1, 2, 3] {
                    let aggregator = (entry.start)(workers).unwrap();
                    for grain in [1, 10, 700, 100_000] {
                        let found = aggregator(records, grain);
                        assert_eq!(found, least(records), "{} {workers} {count} {grain}", entry.name);
                    }
                }
            }
        }
    }
}
