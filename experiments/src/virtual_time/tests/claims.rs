//! Who claims what another one has runs when that one is done.

use super::*;
use std::sync::Arc;

/// Tasks of 1000 ns on as many cores, each with its claim; how long they take together.
fn makespan<const CORES: usize>(
    seed: u64,
    claims: impl Fn(&xtasking::Granules) -> [xtasking::Claim<'_>; CORES],
) -> u64 {
    let (rt, clocks) = begin(CORES, seed);
    for (core, claim) in claims(&rt.granules(4)).into_iter().enumerate() {
        let clocks = clocks.clone();
        rt.task(()).core(core as u16).claim(claim).spawn(move |(), _| clocks.spend(1000));
    }
    drop(rt);
    clocks.makespan()
}

#[test]
fn who_writes_the_same_comes_later() {
    for seed in 0..10 {
        assert_eq!(makespan(seed, |all| [all.write(0..1), all.write(0..1)]), 2010);
        assert_eq!(makespan(seed, |all| [all.write(0..2), all.write(1..3)]), 2010);
        assert_eq!(makespan(seed, |all| [all.write(1..2), all.read(1..3)]), 2010);
    }
}

#[test]
fn who_writes_something_else_and_who_reads_does_not() {
    for seed in 0..10 {
        assert_eq!(makespan(seed, |all| [all.write(0..1), all.write(1..2)]), 1010);
        assert_eq!(makespan(seed, |all| [all.read(0..4), all.read(0..4), all.read(1..2)]), 1010);
    }
}

#[test]
fn readers_that_come_after_a_writer_go_on_together() {
    for seed in 0..10 {
        let makespan =
            makespan(seed, |all| [all.read(0..1), all.write(0..1), all.read(0..1), all.read(0..2)]);
        assert_eq!(makespan, 3010);
    }
}

/// The core of a task that is not granted yet does something else.
#[test]
fn who_waits_for_a_claim_keeps_no_core() {
    let (rt, clocks) = begin(2, 1);
    let granules = rt.granules(1);
    for core in [0, 1] {
        let clocks = clocks.clone();
        rt.task(()).core(core).claim(granules.write(0..1)).spawn(move |(), _| clocks.spend(1000));
    }
    let began = Arc::new(Mutex::new(None));
    let (ours, theirs) = (began.clone(), clocks.clone());
    rt.task(()).core(1).spawn(move |(), _| {
        *lock(&ours) = Some(theirs.now());
        theirs.spend(500);
    });
    drop(rt);
    assert!(lock(&began).is_some_and(|time| time < 500));
    assert_eq!(clocks.makespan(), 2010);
    assert_eq!(clocks.cores()[1].blocked, 0);
}
