//! Divided work on virtual cores is balanced, whatever its shape: the makespan is near the ideal.

use xtasking::platform::{Clocks, Costs, Simulation};
use xtasking::{Fork, Runtime};
use xtasking_testing::divide;

/// What a piece takes, in nanoseconds: much more than a steal.
const PIECE: u64 = 1_000_000;

/// Runs the body on this number of cores, and returns the makespan.
fn makespan(cores: usize, seed: u64, body: impl FnOnce(&Clocks, Fork<'_>) + Send) -> u64 {
    let (simulation, clocks) =
        Simulation::with_costs(cores, 1, seed, Costs { steal: 500, ..Costs::default() });
    let rt = Runtime::builder().platform(simulation).build().unwrap();
    rt.run(|cx| body(&clocks, cx)).unwrap();
    drop(rt);
    clocks.makespan()
}

/// Checks the body, which spends the time of this number of pieces, on several numbers of cores. It
/// may take `percent` more than is ideal.
fn balances(pieces: u64, percent: u64, body: impl Fn(u64, &Clocks, Fork<'_>) + Sync) {
    for cores in [1usize, 2, 8, 64] {
        for seed in 1..=3 {
            let ideal = pieces.div_ceil(cores as u64) * PIECE;
            let took = makespan(cores, seed, |clocks, cx| body(pieces, clocks, cx));
            let most = ideal + ideal * percent / 100;
            assert!(took <= most, "{pieces} pieces on {cores} cores, seed {seed}: {took}, ideally {ideal}");
            assert!(took >= ideal);
        }
    }
}

#[test]
fn pieces_of_a_scope() {
    for pieces in [64, 512] {
        balances(pieces, 5, |pieces, clocks, mut cx| {
            cx.scope(|scope| (0..pieces).for_each(|_| scope.spawn(|_| clocks.spend(PIECE))));
        });
    }
}

/// In a simulation an owner that waits cannot help its thief, which runs on the same stack.
#[test]
fn halves_of_halves() {
    balances(512, 20, |pieces, clocks, cx| {
        divide(pieces, &|| clocks.spend(PIECE), cx);
    });
}

fn left(pieces: u64, clocks: &Clocks, mut cx: Fork<'_>) {
    if pieces == 1 {
        return clocks.spend(PIECE);
    }
    cx.join(|cx| left(pieces - 1, clocks, cx), |_| clocks.spend(PIECE));
}

#[test]
fn joins_that_lean_to_the_left() {
    balances(512, 5, left);
}
