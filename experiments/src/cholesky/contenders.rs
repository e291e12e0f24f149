//! Who takes part. All use the same kernels; what differs is who says what may run when.

use super::flow;
use super::kernels::{divide, factorise, subtract_product};
use super::tiles::{Lower, Tile};
use crate::failure::Failure;
use crate::lineup::{Outside, cannot_start, start_own, start_rayon};
use crate::outside::{self, Contender, Contender::Here};
use crate::pools::factor;
use rayon::prelude::*;
use std::mem::take;
use xtasking::{Context, Handle, Object, Pool, Runtime, Sequencing, Shared};

/// Takes a matrix apart. A program makes its own matrix, from the order, the tiles' and the seed, and multiplies the result
/// out: what it hands over is the greatest number by which that differs.
pub(super) type Factoriser = Contender<Box<dyn Fn(Lower) -> Lower>>;

pub(super) type Entry = crate::lineup::Entry<Factoriser>;

/// All contenders. The first always takes part, and ratios are those to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "a task for each step, annotated with its tiles, in the order of the sequential program",
        is_parallel: true,
        start: tasks,
        more: (),
    },
    Entry {
        name: "xtasking-flow",
        about: "a task for each step at its tile, spawned when the other tiles it needs are finished",
        is_parallel: true,
        start: flow,
        more: (),
    },
    Entry {
        name: "xtasking-joins",
        about: "column by column, each step over all tiles at once, by joins of this runtime",
        is_parallel: true,
        start: joins,
        more: (),
    },
    Entry {
        name: "xtasking-graph",
        about: "a task for each step, spawned by the last that it waits for, which is counted by hand; on a pool that steals",
        is_parallel: true,
        start: graph,
        more: (),
    },
    Entry { name: "plain", about: "the sequential program", is_parallel: false, start: plain, more: () },
    Entry {
        name: "rayon",
        about: "column by column, each step over all tiles at once, by rayon",
        is_parallel: true,
        start: rayon,
        more: (),
    },
    Entry {
        name: "rayon-graph",
        about: "as xtasking-graph, by rayon",
        is_parallel: true,
        start: rayon_graph,
        more: (),
    },
];

/// Those that need more than Rust. They have the same kernels, written in C++.
pub(super) static OUTSIDE: &[Outside<Factoriser>] = &[
    Outside {
        program: "openmp",
        entry: Entry {
            name: "plain-cpp",
            about: "the sequential program, as the C++ compiler builds it",
            is_parallel: false,
            start: |workers| outside::start("openmp", "cholesky-plain", workers),
            more: (),
        },
    },
    Outside {
        program: "openmp",
        entry: Entry {
            name: "openmp",
            about: "a task of OpenMP for each step, which depends on its tiles",
            is_parallel: true,
            start: |workers| outside::start("openmp", "cholesky", workers),
            more: (),
        },
    },
    Outside {
        program: "tbb",
        entry: Entry {
            name: "tbb",
            about: "a task of oneTBB for each step, spawned by the last that it waits for; counted by hand",
            is_parallel: true,
            start: |workers| outside::start("tbb", "cholesky", workers),
            more: (),
        },
    },
    Outside {
        program: "tbb",
        entry: Entry {
            name: "tbb-graph",
            about: "a node of oneTBB's flow graph for each step",
            is_parallel: true,
            start: |workers| outside::start("tbb", "cholesky-graph", workers),
            more: (),
        },
    },
];

fn plain(_: usize) -> Result<Factoriser, Failure> {
    Ok(Here(Box::new(|mut matrix| {
        for k in 0..matrix.count() {
            factorise(&mut matrix.rows[k][k]);
            let (done, below) = matrix.rows.split_at_mut(k + 1);
            for row in &mut *below {
                divide(&mut row[k], &done[k][k]);
            }
            for y in 0..below.len() {
                let (above, row) = below.split_at_mut(y);
                let (left, right) = row[0].split_at_mut(k + 1);
                let panel = above.iter().map(|row| &row[k]).chain([&left[k]]);
                for (tile, other) in right.iter_mut().zip(panel) {
                    subtract_product(tile, &left[k], other);
                }
            }
        }
        matrix
    })))
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
        Lower { rows: rows.expect("no kernel panics, and there is memory") }
    })))
}

/// Spawns all tasks in the order of the sequential program. They run in that order at each tile; what has no tile in common
/// runs side by side. The handles are for what becomes of the tiles.
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
    // In line behind all that is done to a tile.
    let mut taken = |tile: &Object<Shared<Tile>>| cx.task((tile.write(),)).submit(|(tile,), _| take(tile));
    rows.iter().map(|row| row.iter().map(&mut taken).collect()).collect()
}

fn flow(workers: usize) -> Result<Factoriser, Failure> {
    let rt = start_own(workers)?;
    Ok(Here(Box::new(move |matrix| {
        flow::factor(&rt, matrix).expect("no kernel panics, and there is memory")
    })))
}

fn graph(workers: usize) -> Result<Factoriser, Failure> {
    let rt = Runtime::builder().workers(workers).pool(Pool::WorkStealing).build();
    let rt = rt.map_err(|error| cannot_start("xtasking", workers, &error))?;
    Ok(Here(Box::new(move |matrix| factor::on_own(&rt, matrix))))
}

fn rayon_graph(workers: usize) -> Result<Factoriser, Failure> {
    let pool = start_rayon(workers)?;
    Ok(Here(Box::new(move |matrix| factor::on_rayon(&pool, matrix))))
}

/// A tile that is to be updated, and where it is below the panel.
type Update<'a> = (&'a mut Tile, usize, usize);

/// Column by column: takes the panel below a factor out, works on it and then on all that is right of it.
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
    fn all_of_them_take_a_matrix_apart() {
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
    fn a_wrong_factor_is_noticed() {
        let matrix = Lower::random(24, 8, 7);
        let Here(factoriser) = (ALL[0].start)(1).unwrap() else { panic!("it is a program") };
        let mut factor = factoriser(matrix.clone());
        factor.rows[2][1][5] += 1e-9;
        assert!(factor.check(&matrix).is_err());
        factor.rows[2][1][5] = f64::NAN;
        assert!(factor.check(&matrix).is_err());
    }
}
