//! The contenders: this runtime, a sequential loop, and other libraries.

use super::shape::Shape;
use crate::piece::compute;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xtasking::Fork;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{start_own, start_rayon};

/// A function that runs pieces in a shape: their number, and the steps of each. Returns the sum of
/// their values.
pub(super) type Divider = Box<dyn Fn(Shape, u32, u64) -> u64>;

pub(super) type Entry = xtasking_harness::lineup::Entry<Divider>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "XTasking, fork-join with stealing at any time",
        is_parallel: true,
        start: xtasking,
        more: (),
    },
    Entry {
        name: "plain",
        about: "a sequential loop over the pieces",
        is_parallel: false,
        start: plain,
        more: (),
    },
    Entry {
        name: "rayon",
        about: "rayon, scope and join in a work-stealing pool",
        is_parallel: true,
        start: rayon,
        more: (),
    },
];

fn xtasking(workers: usize) -> Result<Divider, Failure> {
    fn joins(shape: Shape, pieces: u32, steps: u64, mut cx: Fork<'_>) -> u64 {
        if pieces == 1 {
            return compute(steps);
        }
        let first = shape.first_half(pieces);
        let (a, b) =
            cx.join(|cx| joins(shape, first, steps, cx), |cx| joins(shape, pieces - first, steps, cx));
        a.wrapping_add(b)
    }
    fn scope(pieces: u32, steps: u64, mut cx: Fork<'_>) -> u64 {
        let sum = AtomicU64::new(0);
        cx.scope(|scope| {
            for _ in 0..pieces {
                scope.spawn(|_| _ = sum.fetch_add(compute(steps), Relaxed));
            }
        });
        sum.into_inner()
    }
    let rt = start_own(workers)?;
    Ok(Box::new(move |shape, pieces, steps| {
        let sum = rt.run(|cx| match shape {
            Shape::Scope => scope(pieces, steps, cx),
            _ => joins(shape, pieces, steps, cx),
        });
        sum.expect("no piece panics")
    }))
}

fn plain(_: usize) -> Result<Divider, Failure> {
    Ok(Box::new(|_, pieces, steps| (0..pieces).fold(0, |sum: u64, _| sum.wrapping_add(compute(steps)))))
}

fn rayon(workers: usize) -> Result<Divider, Failure> {
    fn joins(shape: Shape, pieces: u32, steps: u64) -> u64 {
        if pieces == 1 {
            return compute(steps);
        }
        let first = shape.first_half(pieces);
        let (a, b) = rayon::join(|| joins(shape, first, steps), || joins(shape, pieces - first, steps));
        a.wrapping_add(b)
    }
    fn scope(pieces: u32, steps: u64) -> u64 {
        let sum = AtomicU64::new(0);
        rayon::scope(|scope| {
            for _ in 0..pieces {
                scope.spawn(|_| _ = sum.fetch_add(compute(steps), Relaxed));
            }
        });
        sum.into_inner()
    }
    let pool = start_rayon(workers)?;
    Ok(Box::new(move |shape, pieces, steps| {
        pool.install(|| match shape {
            Shape::Scope => scope(pieces, steps),
            _ => joins(shape, pieces, steps),
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contenders_run_each_piece_once() {
        for entry in ALL {
            for workers in [1, 2] {
                let divide = (entry.start)(workers).unwrap();
                for shape in Shape::ALL {
                    for pieces in [1, 2, 7, 100] {
                        let expected = compute(10).wrapping_mul(pieces.into());
                        assert_eq!(divide(shape, pieces, 10), expected, "{} {shape:?} {pieces}", entry.name);
                    }
                }
            }
        }
    }
}
