//! The contenders. All compute the same blocks; they differ in how a block waits for others.

use super::counters::Counters;
use super::grid::Grid;
use super::{annotated, columns, diagonals};
use std::sync::Arc;
use xtasking::{QueuePolicy, Runtime};
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{cannot_start, start_own, start_rayon};
use xtasking_harness::page;

/// A function that computes the last row of a grid.
pub(super) type Computer = Box<dyn Fn(&Arc<Grid>) -> Vec<u32>>;

pub(super) type Entry = xtasking_harness::lineup::Entry<Computer>;

/// The contender that speed-ups are relative to.
pub(super) const PLAIN: &str = "plain";

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "XTasking, a task for each block, annotated with its edges and spawned in sequential order",
        is_parallel: true,
        start: annotated,
        more: (),
    },
    Entry {
        name: "xtasking-columns",
        about: "XTasking, a task for each block, annotated with its column, takes its edge along",
        is_parallel: true,
        start: columns,
        more: (),
    },
    Entry {
        name: "xtasking-counters",
        about: "XTasking, work stealing: the last neighbour of a block spawns it, by explicit counters",
        is_parallel: true,
        start: counters,
        more: (),
    },
    Entry {
        name: "xtasking-joins",
        about: "XTasking, fork-join: a parallel loop over the blocks of each diagonal",
        is_parallel: true,
        start: joins,
        more: (),
    },
    Entry {
        name: PLAIN,
        about: "a plain sequential loop over all cells, row by row",
        is_parallel: false,
        start: |_| Ok(Box::new(|grid| grid.plain())),
        more: (),
    },
    Entry {
        name: "plain-blocks",
        about: "a plain sequential loop over all blocks",
        is_parallel: false,
        start: |_| Ok(Box::new(|grid| grid.by_blocks())),
        more: (),
    },
    Entry {
        name: "rayon",
        about: "rayon, the last neighbour of a block spawns it, by explicit counters",
        is_parallel: true,
        start: rayon,
        more: (),
    },
    Entry {
        name: "rayon-joins",
        about: "rayon, a parallel loop over the blocks of each diagonal",
        is_parallel: true,
        start: rayon_joins,
        more: (),
    },
];

fn annotated(workers: usize) -> Result<Computer, Failure> {
    let rt = start_own(workers)?;
    Ok(Box::new(move |grid| annotated::last_row(&rt, grid.clone()).expect("no block panics")))
}

fn columns(workers: usize) -> Result<Computer, Failure> {
    let rt = start_own(workers)?;
    Ok(Box::new(move |grid| columns::last_row(&rt, workers, grid.clone()).expect("no block panics")))
}

fn counters(workers: usize) -> Result<Computer, Failure> {
    let builder = Runtime::builder().workers(workers).pool(QueuePolicy::WorkStealing);
    let rt = page::start(builder).map_err(|error| cannot_start("xtasking", workers, &error))?;
    Ok(Box::new(move |grid| {
        let (counters, receiver) = Counters::of(grid.clone());
        rt.task(()).spawn(move |(), cx| Arc::new(counters).on_own(cx, 0, 0));
        receiver.recv().expect("no block panics")
    }))
}

fn rayon(workers: usize) -> Result<Computer, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Box::new(move |grid| {
        let (counters, receiver) = Counters::of(grid.clone());
        pool.scope(|scope| counters.on_rayon(scope, 0, 0));
        receiver.recv().expect("no block panics")
    }))
}

fn joins(workers: usize) -> Result<Computer, Failure> {
    let rt = start_own(workers)?;
    Ok(Box::new(move |grid| rt.run(|cx| diagonals::on_own(grid, cx)).expect("no block panics")))
}

fn rayon_joins(workers: usize) -> Result<Computer, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Box::new(move |grid| pool.install(|| diagonals::on_rayon(grid))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contenders_compute_the_same_cells() {
        for (blocks, side) in [(1, 1), (1, 9), (2, 5), (20, 3)] {
            let grid = Arc::new(Grid::random(blocks, side, 7));
            let expected = grid.plain();
            for entry in ALL {
                for workers in [1, 2, 4] {
                    let compute = (entry.start)(workers).unwrap();
                    assert_eq!(compute(&grid), expected, "{} {blocks} {side} {workers}", entry.name);
                }
            }
        }
    }
}
