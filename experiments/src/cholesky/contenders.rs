//! The contenders. All use the same kernels; they differ in how dependencies between tasks are
//! expressed.

use super::factor;
use super::flow;
use crate::matrix::kernels::{divide, factorise, subtract_product};
use crate::matrix::sequential;
use crate::matrix::tiles::{Lower, Tile};
use rayon::prelude::*;
use std::mem::take;
use xtasking::{Context, Handle, Object, QueuePolicy, Runtime, Shared, primitive::Sequencing};
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{Outside, cannot_start, start_own, start_rayon};
use xtasking_harness::outside::{self, Contender, Contender::Here};
use xtasking_harness::page;

/// A function that factorises a matrix. A program generates the matrix itself, from its order, the
/// tiles' order and the seed; it multiplies out the factor, and returns the largest error.
pub(super) type Factoriser = Contender<Box<dyn Fn(Lower) -> Lower>>;

pub(super) type Entry = xtasking_harness::lineup::Entry<Factoriser>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "XTasking, a task for each step, annotated with its tiles and spawned in sequential order",
        is_parallel: true,
        start: tasks,
        more: (),
    },
    Entry {
        name: "xtasking-flow",
        about: "XTasking, dataflow: a task for each step, spawned when the tiles it reads are finished",
        is_parallel: true,
        start: flow,
        more: (),
    },
    Entry {
        name: "xtasking-joins",
        about: "XTasking, fork-join: parallel loops over the tiles of each column",
        is_parallel: true,
        start: joins,
        more: (),
    },
    Entry {
        name: "xtasking-graph",
        about: "XTasking, work stealing: the last predecessor of a step spawns it, by explicit counters",
        is_parallel: true,
        start: graph,
        more: (),
    },
    Entry {
        name: "plain",
        about: "the sequential program, in Rust",
        is_parallel: false,
        start: plain,
        more: (),
    },
    Entry {
        name: "rayon",
        about: "rayon, parallel loops over the tiles of each column",
        is_parallel: true,
        start: rayon,
        more: (),
    },
    Entry {
        name: "rayon-graph",
        about: "rayon, the last predecessor of a step spawns it, by explicit counters",
        is_parallel: true,
        start: rayon_graph,
        more: (),
    },
];

/// Peers that are separate programs. They have the same kernels, written in C++.
pub(super) static OUTSIDE: &[Outside<Factoriser>] = &[
    Outside {
        program: "openmp",
        entry: Entry {
            name: "plain-cpp",
            about: "the sequential program, in C++",
            is_parallel: false,
            start: |workers| outside::start("openmp", "cholesky-plain", workers),
            more: (),
        },
    },
    Outside {
        program: "openmp",
        entry: Entry {
            name: "openmp",
            about: "OpenMP, a task for each step, with dependences on its tiles",
            is_parallel: true,
            start: |workers| outside::start("openmp", "cholesky", workers),
            more: (),
        },
    },
    Outside {
        program: "tbb",
        entry: Entry {
            name: "tbb",
            about: "oneTBB, the last predecessor of a step spawns it, by explicit counters",
            is_parallel: true,
            start: |workers| outside::start("tbb", "cholesky", workers),
            more: (),
        },
    },
    Outside {
        program: "tbb",
        entry: Entry {
            name: "tbb-graph",
            about: "oneTBB, a flow graph node for each step",
            is_parallel: true,
            start: |workers| outside::start("tbb", "cholesky-graph", workers),
            more: (),
        },
    },
];

fn plain(_: usize) -> Result<Factoriser, Failure> {
    Ok(Here(Box::new(sequential::factor)))
}

fn tasks(workers: usize) -> Result<Factoriser, Failure> {
    let rt = start_own(workers)?;
    Ok(Here(Box::new(move |matrix| {
        let object = |tile: Tile| rt.shared_reads(tile).pin(Sequencing).build();
        let rows: Vec<Vec<_>> =
            matrix.rows.into_iter().map(|row| row.into_iter().map(object).collect()).collect();
        let spawned = rt.task(()).submit(move |(), cx| spawn_all(cx, &rows)).join();
        let joined = |row: Vec<Handle<Tile>>| row.into_iter().map(Handle::join).collect::<Result<_, _>>();
        let rows = spawned.and_then(|rows| rows.into_iter().map(joined).collect());
        Lower { rows: rows.expect("no kernel panics") }
    })))
}

/// Spawns all tasks in the order of the sequential program. Tasks on the same tile run in this
/// order; others run in parallel. Returns the handles of the finished tiles.
fn spawn_all(cx: &mut Context, rows: &[Vec<Object<Shared<Tile>>>]) -> Vec<Vec<Handle<Tile>>> {
    for k in 0..rows.len() {
        let factor = &rows[k][k];
        cx.task((factor.write(),)).spawn(|(tile,), _| factorise(tile));
        for row in &rows[k + 1..] {
            cx.task((row[k].write(), factor.read())).spawn(|(tile, factor), _| divide(tile, factor));
        }
        for (y, row) in rows.iter().enumerate().skip(k + 1) {
            let left = &row[k];
            for (tile, other) in row[k + 1..y].iter().zip(&rows[k + 1..]) {
                cx.task((tile.write(), left.read(), other[k].read()))
                    .spawn(|(tile, left, right), _| subtract_product(tile, left, right));
            }
            cx.task((row[y].write(), left.read()))
                .spawn(|(tile, left), _| subtract_product(tile, left, left));
        }
    }
    // Queued after all other tasks on a tile.
    let mut take_tile =
        |tile: &Object<Shared<Tile>>| cx.task((tile.write(),)).submit(|(tile,), _| take(tile));
    rows.iter().map(|row| row.iter().map(&mut take_tile).collect()).collect()
}

fn flow(workers: usize) -> Result<Factoriser, Failure> {
    let rt = start_own(workers)?;
    Ok(Here(Box::new(move |matrix| flow::factor(&rt, matrix).expect("no kernel panics"))))
}

fn graph(workers: usize) -> Result<Factoriser, Failure> {
    let builder = Runtime::builder().workers(workers).pool(QueuePolicy::WorkStealing);
    let rt = page::start(builder).map_err(|error| cannot_start("xtasking", workers, &error))?;
    Ok(Here(Box::new(move |matrix| factor::on_own(&rt, matrix))))
}

fn rayon_graph(workers: usize) -> Result<Factoriser, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Here(Box::new(move |matrix| factor::on_rayon(&pool, matrix))))
}

/// A tile to update, with its row and column relative to the panel.
type Update<'a> = (&'a mut Tile, usize, usize);

/// Factorises column by column (right-looking): `on_panel` divides the tiles below the diagonal,
/// then `on_rest` updates all tiles to their right.
fn by_columns(
    mut matrix: Lower,
    on_panel: impl Fn(&mut [Tile], &Tile),
    on_rest: impl Fn(&mut [Update<'_>], &[Tile]),
) -> Lower {
    for k in 0..matrix.count() {
        factorise(&mut matrix.rows[k][k]);
        let (done, below) = matrix.rows.split_at_mut(k + 1);
        let mut panel: Vec<Tile> = below.iter_mut().map(|row| take(&mut row[k])).collect();
        on_panel(&mut panel, &done[k][k]);
        let mut updates: Vec<Update<'_>> = Vec::new();
        for (y, row) in below.iter_mut().enumerate() {
            updates.extend(row[k + 1..].iter_mut().enumerate().map(|(x, tile)| (tile, y, x)));
        }
        on_rest(&mut updates, &panel);
        below.iter_mut().zip(panel).for_each(|(row, tile)| row[k] = tile);
    }
    matrix
}

fn update(update: &mut Update<'_>, panel: &[Tile]) {
    let (tile, y, x) = update;
    subtract_product(tile, &panel[*y], &panel[*x]);
}

fn joins(workers: usize) -> Result<Factoriser, Failure> {
    let rt = start_own(workers)?;
    Ok(Here(Box::new(move |matrix| {
        let factor = rt.run(|mut cx| {
            let cx = std::cell::RefCell::new(&mut cx);
            by_columns(
                matrix,
                |panel, factor| cx.borrow_mut().over(panel).grain(1).for_each(|tile| divide(tile, factor)),
                |updates, panel| cx.borrow_mut().over(updates).grain(1).for_each(|one| update(one, panel)),
            )
        });
        factor.expect("no kernel panics")
    })))
}

fn rayon(workers: usize) -> Result<Factoriser, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Here(Box::new(move |matrix| {
        pool.install(|| {
            by_columns(
                matrix,
                |panel, factor| panel.par_iter_mut().for_each(|tile| divide(tile, factor)),
                |updates, panel| updates.par_iter_mut().for_each(|one| update(one, panel)),
            )
        })
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contenders_factorise_correctly() {
        for (order, tile) in [(8, 8), (24, 8), (60, 5)] {
            let matrix = Lower::random(order, tile, 7);
            for entry in ALL {
                for workers in [1, 2, 4] {
                    let Here(factoriser) = (entry.start)(workers).unwrap() else { panic!("{}", entry.name) };
                    assert!(
                        factoriser(matrix.clone()).check(&matrix).is_ok(),
                        "{} {order} {tile}",
                        entry.name
                    );
                }
            }
        }
    }

    #[test]
    fn a_wrong_factor_is_found() {
        let matrix = Lower::random(24, 8, 7);
        let Here(factoriser) = (ALL[0].start)(1).unwrap() else {
            panic!("the first contender is a function")
        };
        let mut factor = factoriser(matrix.clone());
        factor.rows[2][1][5] += 1e-9;
        assert!(factor.check(&matrix).is_err());
        factor.rows[2][1][5] = f64::NAN;
        assert!(factor.check(&matrix).is_err());
    }
}
