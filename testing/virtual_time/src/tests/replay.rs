//! Tests that a seed replays its times.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use xtasking::primitive::Sequencing;

/// When a task began, on which core, and its number.
type Noted = (u64, usize, u64);

/// Runs tasks from outside and their follow-ups, with claims, objects, a lock, and different
/// lengths.
fn run(cores: usize, seed: u64, pool: QueuePolicy) -> (Vec<Noted>, Vec<CoreTime>) {
    let (rt, clocks) = begin_with(cores, seed, pool);
    let (granules, object) = (rt.granules(8), rt.plain(0u64).pin(Sequencing).build());
    let (noted, held) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let work = |number: u64| {
        let (clocks, noted, held) = (clocks.clone(), noted.clone(), held.clone());
        move |core: usize| {
            lock(&noted).push((clocks.now(), core, number));
            clocks.spend(number * 7919 % 1000);
            if number.is_multiple_of(5) {
                clocks.wait_until(|| !held.swap(true, Relaxed));
                clocks.spend(50);
                held.store(false, Relaxed);
            }
        }
    };
    for number in 0..100 {
        let first = (number % 8) as u32;
        let (before, after, object) = (work(number), work(number + 100), object.clone());
        let claim =
            if number % 3 == 0 { granules.write(first..first + 1) } else { granules.read(0..first + 1) };
        rt.task(()).claim(claim).spawn(move |(), cx| {
            before(cx.worker());
            cx.task(object.write()).spawn(move |count, cx| {
                *count += 1;
                after(cx.worker());
            });
        });
        if number % 10 == 0 {
            clocks.spend(300);
        }
    }
    drop(rt);
    let noted = lock(&noted).clone();
    assert_eq!(noted.len(), 200);
    (noted, clocks.cores())
}

#[test]
fn a_seed_replays_its_times_under_any_load() {
    let stop = Arc::new(AtomicBool::new(false));
    let others: Vec<_> = (0..4)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || while !stop.load(Relaxed) {})
        })
        .collect();
    for pool in QUEUE_POLICIES {
        for cores in [1, 3, 16] {
            let first = run(cores, 7, pool);
            (1..4).for_each(|_| assert!(run(cores, 7, pool) == first, "{pool:?} on {cores}"));
        }
    }
    stop.store(true, Relaxed);
    others.into_iter().for_each(|other| other.join().unwrap());
}

#[test]
fn different_seeds_have_different_times() {
    assert!((0..10).any(|seed| run(3, seed, QueuePolicy::default()) != run(3, 10, QueuePolicy::default())));
}
