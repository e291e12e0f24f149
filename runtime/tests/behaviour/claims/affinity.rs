//! The workers where tasks run that claim granules and are bound to no worker.

use super::mixed;
use crate::common::{Flag, Setting, lock, on_each, watchdog_of};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xtasking::{QueuePolicy, Runtime};

const GRANULES: u32 = 512;
const WORKERS: usize = 4;

/// Settings without work stealing.
fn settings() -> impl Iterator<Item = Setting> {
    let threads = (!cfg!(miri)).then_some(Setting::Threads { workers: WORKERS });
    threads.into_iter().chain([1, 2].map(|seed| Setting::Simulation { cores: WORKERS, seed }))
}

/// Visits granules that `choose` names, each by a task, and returns the worker of each visit.
fn visit(
    rt: &Runtime,
    granules: &xtasking::Granules<u64>,
    visits: u64,
    choose: fn(u64) -> u32,
) -> Vec<(u32, usize)> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (inside, noted) = (granules.clone(), seen.clone());
    let (done, all) = rt.promise();
    rt.task(()).core(1).spawn(move |(), cx| {
        let group = cx.group();
        for number in 0..visits {
            let (granule, noted) = (choose(number), noted.clone());
            let task = cx.task(()).of(&group).claim(inside.write(granule..granule + 1));
            task.spawn_with(move |(), mut held, cx| {
                *held.get_mut(granule) += 1;
                lock(&noted).push((granule, cx.worker()));
            });
        }
        group.then(cx, move |outcome, _| done.fulfil(outcome.is_ok()));
    });
    assert!(all.join().unwrap());
    std::mem::take(&mut *lock(&seen))
}

/// Returns the ratio of the largest number of visits on one worker to the mean.
fn imbalance(visits: &[(u32, usize)]) -> f64 {
    let mut loads = [0u32; WORKERS];
    visits.iter().for_each(|&(_, worker)| loads[worker] += 1);
    f64::from(loads.into_iter().max().unwrap()) / (visits.len() as f64 / WORKERS as f64)
}

#[test]
fn a_stretch_of_granules_has_one_worker() {
    on_each(settings(), |setting| {
        let rt = setting.builder().pool(QueuePolicy::Local).build().unwrap();
        let granules = rt.granules_of(vec![0u64; GRANULES as usize]);
        let seen = visit(&rt, &granules, 400, |number| (mixed(number) % u64::from(GRANULES)) as u32);
        for (granule, worker) in seen {
            assert_eq!(worker, (granule * WORKERS as u32 / GRANULES) as usize, "granule {granule}");
        }
    });
}

/// Nine visits in ten go to a sixteenth of the granules, which lie in one worker's stretch at
/// first.
#[test]
fn stretches_follow_the_load() {
    on_each(settings().filter(|_| !cfg!(miri)), |setting| {
        let rt = setting.builder().pool(QueuePolicy::Local).build().unwrap();
        let granules = rt.granules_of(vec![0u64; GRANULES as usize]);
        let skewed = |number| {
            let chance = mixed(number);
            let is_hot = !chance.is_multiple_of(10);
            (chance / 16 % if is_hot { u64::from(GRANULES) / 16 } else { u64::from(GRANULES) }) as u32
        };
        let first = visit(&rt, &granules, 60, skewed);
        assert!(imbalance(&first) > 3.0, "the load is not skewed: {first:?}");
        // All tasks of one round are sent by the homes at its start.
        (0..6).for_each(|_| _ = visit(&rt, &granules, 2000, skewed));
        let mut last: Vec<f64> = (0..5).map(|_| imbalance(&visit(&rt, &granules, 2000, skewed))).collect();
        // One hot granule is an eighth of a worker's share. Which of two workers is its home
        // depends on the moment of the last rebalancing, which varies on threads: hence the median
        // of five.
        last.sort_by(f64::total_cmp);
        assert!(last[2] < 1.3, "{last:?}");
        let each = rt.task(()).claim(granules.read(0..GRANULES));
        let sum = each.submit_with(|(), held, _| (0..GRANULES).map(|at| *held.get(at)).sum::<u64>());
        assert_eq!(sum.join().unwrap(), 60 + 11 * 2000);
    });
}

/// A place has precedence over the homes of granules.
#[test]
fn a_place_overrides_the_home() {
    on_each(settings(), |setting| {
        let rt = setting.builder().pool(QueuePolicy::Local).build().unwrap();
        let granules = rt.granules(GRANULES);
        for core in 0..WORKERS {
            let task = rt.task(()).core(core as u16).claim(granules.write(0..1));
            assert_eq!(task.submit(|(), cx| cx.worker()).join().unwrap(), core);
        }
    });
}

/// With work stealing, a task that stays with its spawner can be stolen.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn no_task_is_sent_home_to_a_worker_that_has_not_drained_its_inbox() {
    let _watched = watchdog_of(Duration::from_secs(20));
    let rt = Runtime::builder().workers(2).pool(QueuePolicy::WorkStealing).build().unwrap();
    let granules = rt.granules(2);
    let (begun, hold) = (Flag::default(), Flag::default());
    let (begins, held) = (begun.clone(), hold.clone());
    rt.task(()).core(1).spawn(move |(), _| {
        begins.set();
        held.wait();
    });
    begun.wait();
    // The second granule has its home on that worker.
    let waits = rt.task(()).core(1).submit(|(), _| ());
    let (done, all) = rt.promise();
    rt.task(()).core(0).spawn(move |(), cx| {
        cx.task(()).claim(granules.write(1..2)).spawn(move |(), cx| done.fulfil(cx.worker()));
    });
    assert_eq!(all.join().unwrap(), 0);
    assert!(!waits.is_finished());
    hold.set();
    waits.join().unwrap();
}
