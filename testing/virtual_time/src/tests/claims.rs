//! Tests that a task that claims what another one holds runs after it.

use super::*;
use std::sync::Arc;
use xtasking::claims::{Control, Directory};

/// Runs tasks of 1000 ns on several cores, each with its claim. Returns their makespan.
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
fn writers_of_the_same_granule_run_one_after_another() {
    for seed in 0..10 {
        assert_eq!(makespan(seed, |all| [all.write(0..1), all.write(0..1)]), 2010);
        assert_eq!(makespan(seed, |all| [all.write(0..2), all.write(1..3)]), 2010);
        assert_eq!(makespan(seed, |all| [all.write(1..2), all.read(1..3)]), 2010);
    }
}

#[test]
fn writers_of_other_granules_and_readers_run_in_parallel() {
    for seed in 0..10 {
        assert_eq!(makespan(seed, |all| [all.write(0..1), all.write(1..2)]), 1010);
        assert_eq!(makespan(seed, |all| [all.read(0..4), all.read(0..4), all.read(1..2)]), 1010);
    }
}

#[test]
fn readers_behind_a_writer_continue_together() {
    for seed in 0..10 {
        let makespan =
            makespan(seed, |all| [all.read(0..1), all.write(0..1), all.read(0..1), all.read(0..2)]);
        assert_eq!(makespan, 3010);
    }
}

/// The core of a task that waits for its grant runs other tasks.
#[test]
fn a_task_that_waits_for_a_claim_occupies_no_core() {
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

/// All tasks are in the bucket of one worker, in as many parts as there are workers: idle workers
/// take over parts.
#[test]
fn an_idle_worker_takes_over_a_part_of_a_bucket() {
    for seed in 0..10 {
        let (rt, clocks) = begin(4, seed);
        let granules = rt.granules_with_control(Control::Toggle, Directory::default(), [(); 64]);
        // Each in a part of its own.
        let spawn = |part: u32| {
            let (clocks, range) = (clocks.clone(), 4 * part..4 * part + 4);
            rt.task(()).claim(granules.write(range)).spawn(move |(), _| clocks.spend(1000));
        };
        (0..40).for_each(|number| spawn(number % 4));
        drop(rt);
        // As long as with an even distribution, plus the messages, and the time until all workers
        // are seen idle.
        let makespan = clocks.makespan();
        assert!((10_100..11_500).contains(&makespan), "{makespan}");
        assert_eq!(clocks.cores().iter().map(|core| core.busy / 1000).sum::<u64>(), 40);
    }
}

/// Tasks that a host runs itself take as long as others; tasks that need its bucket wait for one of
/// them, not for all.
#[test]
fn a_host_spends_the_time_of_each_of_its_tasks() {
    for seed in 0..10 {
        let (rt, clocks) = begin(2, seed);
        let granules = rt.granules_with_control(Control::Toggle, Directory::default(), [(); 64]);
        let spend = |clocks: &Clocks| {
            let clocks = clocks.clone();
            move |(), _: &mut xtasking::Context| clocks.spend(1000)
        };
        for _ in 0..3 {
            rt.task(()).claim(granules.write(0..64)).spawn(spend(&clocks));
        }
        rt.task(()).core(1).claim(granules.write(0..1)).spawn(spend(&clocks));
        drop(rt);
        let cores = clocks.cores();
        assert!((4010..=4040).contains(&clocks.makespan()), "{}", clocks.makespan());
        let (host, other) = (cores[0], cores[1]);
        assert_eq!((host.busy, other.busy), (3030, 1010));
    }
}
