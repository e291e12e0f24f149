//! Tests tasks that divide their work, and whose halves take time.

use super::*;
use xtasking::Fork;
use xtasking_testing::divide;

#[test]
fn a_stolen_half_runs_in_parallel_with_the_other_half() {
    let (rt, clocks) = begin(2, 1);
    let ours = clocks.clone();
    let both = rt.task(()).core(0).submit(move |(), cx| {
        let (_, thief) = cx.fork().join(
            |_| (0..10).for_each(|_| ours.spend(1000)),
            |cx| {
                ours.spend(50_000);
                cx.worker()
            },
        );
        (thief, ours.now())
    });
    assert_eq!(both.join().unwrap(), (1, 50_000));
    drop(rt);
    // The core that waits for the other half is blocked.
    assert_eq!(clocks.cores(), [time(10_010, 40_000, 0), time(50_000, 0, 10)]);
}

#[test]
fn recursively_divided_work_is_spread_over_all_cores() {
    for (cores, seed) in [(1, 1), (2, 1), (4, 2), (16, 3), (64, 4)] {
        let (rt, clocks) = begin(cores, seed);
        assert_eq!(rt.run(|cx| divide(4_096, &|| clocks.spend(10_000), cx)).unwrap(), 4_096);
        drop(rt);
        let (work, busy) = (4_096 * 10_000, clocks.cores().iter().map(|core| core.busy).sum::<u64>());
        assert_eq!(busy, work + 10);
        let ideal = work / cores as u64;
        assert!((ideal..ideal * 5 / 4).contains(&clocks.makespan()), "{cores}: {}", clocks.makespan());
    }
}

/// What a piece takes, in nanoseconds: much more than a steal.
const PIECE: u64 = 1_000_000;

/// Checks a body that spends the time of this number of pieces. It may take `percent` more than is
/// ideal.
fn balances(pieces: u64, percent: u64, body: impl Fn(u64, &Clocks, Fork<'_>) + Sync) {
    for (cores, seed) in [(2, 1), (8, 2), (64, 3)] {
        let (rt, clocks) = begin(cores, seed);
        rt.run(|cx| body(pieces, &clocks, cx)).unwrap();
        drop(rt);
        let (ideal, took) = (pieces.div_ceil(cores as u64) * PIECE, clocks.makespan());
        assert!((ideal..=ideal * (100 + percent) / 100).contains(&took), "{cores} cores: {took}, {ideal}");
    }
}

#[test]
fn pieces_of_a_scope_are_balanced() {
    for pieces in [64, 512] {
        balances(pieces, 5, |pieces, clocks, mut cx| {
            cx.scope(|scope| (0..pieces).for_each(|_| scope.spawn(|_| clocks.spend(PIECE))));
        });
    }
}

#[test]
fn joins_that_lean_to_the_left_are_balanced() {
    fn left(pieces: u64, clocks: &Clocks, mut cx: Fork<'_>) {
        if pieces == 1 {
            return clocks.spend(PIECE);
        }
        cx.join(|cx| left(pieces - 1, clocks, cx), |_| clocks.spend(PIECE));
    }
    balances(512, 5, left);
}

/// There is one job at a time. A worker that waits steals from its own thief only, which has none
/// while it waits itself: with many cores some are idle.
#[test]
fn joins_that_lean_to_the_right_are_balanced() {
    fn right(pieces: u64, clocks: &Clocks, mut cx: Fork<'_>) {
        if pieces == 1 {
            return clocks.spend(PIECE);
        }
        cx.join(|_| clocks.spend(PIECE), |cx| right(pieces - 1, clocks, cx));
    }
    balances(512, 30, right);
}
