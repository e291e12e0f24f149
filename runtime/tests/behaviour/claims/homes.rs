//! Where tasks run that claim granules and say nothing of it.

use super::mixed;
use crate::common::{Flag, Setting, lock, on_each, watchdog_of};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xtasking::{Pool, Runtime};

const GRANULES: u32 = 512;
const WORKERS: usize = 4;

/// Where nobody takes tasks over from others.
fn settings() -> impl Iterator<Item = Setting> {
    let threads = (!cfg!(miri)).then_some(Setting::Threads { workers: WORKERS });
    threads.into_iter().chain([1, 2].map(|seed| Setting::Simulation { cores: WORKERS, seed }))
}

/// Visits as many granules one by one as `choose` says, from outside and from a task, and returns where each visit was.
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

/// How many visits were on the worker with most of them, of those on one on average.
fn crowding(visits: &[(u32, usize)]) -> f64 {
    let mut loads = [0u32; WORKERS];
    visits.iter().for_each(|&(_, worker)| loads[worker] += 1);
    f64::from(loads.into_iter().max().unwrap()) / (visits.len() as f64 / WORKERS as f64)
}

#[test]
fn a_stretch_of_granules_has_one_worker() {
    on_each(settings(), |setting| {
        let rt = setting.builder().pool(Pool::Local).build().unwrap();
        let granules = rt.granules_of(vec![0u64; GRANULES as usize]);
        let seen = visit(&rt, &granules, 400, |number| (mixed(number) % u64::from(GRANULES)) as u32);
        for (granule, worker) in seen {
            assert_eq!(worker, (granule * WORKERS as u32 / GRANULES) as usize, "granule {granule}");
        }
    });
}

/// Nine visits in ten go to a sixteenth of the granules, which lie in one worker's stretch at first.
#[test]
fn stretches_follow_where_tasks_crowd() {
    on_each(settings().filter(|_| !cfg!(miri)), |setting| {
        let rt = setting.builder().pool(Pool::Local).build().unwrap();
        let granules = rt.granules_of(vec![0u64; GRANULES as usize]);
        let skewed = |number| {
            let chance = mixed(number);
            let crowd = !chance.is_multiple_of(10);
            (chance / 16 % if crowd { u64::from(GRANULES) / 16 } else { u64::from(GRANULES) }) as u32
        };
        let first = visit(&rt, &granules, 60, skewed);
        assert!(crowding(&first) > 3.0, "it was crowded before: {first:?}");
        // What is spawned in one go is spread by what was known then.
        (0..6).for_each(|_| _ = visit(&rt, &granules, 2000, skewed));
        let mut last: Vec<f64> = (0..5).map(|_| crowding(&visit(&rt, &granules, 2000, skewed))).collect();
        // A granule of these is an eighth of a worker's share. Which of two workers has it depends on what was counted when
        // the stretches were last looked at: on threads that is another moment each time, so one look may be unlucky.
        last.sort_by(f64::total_cmp);
        assert!(last[2] < 1.3, "{last:?}");
        let each = rt.task(()).claim(granules.read(0..GRANULES));
        let sum = each.submit_with(|(), held, _| (0..GRANULES).map(|at| *held.get(at)).sum::<u64>());
        assert_eq!(sum.join().unwrap(), 60 + 11 * 2000);
    });
}

/// What is said of the place has the last word.
#[test]
fn a_place_goes_before_home() {
    on_each(settings(), |setting| {
        let rt = setting.builder().pool(Pool::Local).build().unwrap();
        let granules = rt.granules(GRANULES);
        for core in 0..WORKERS {
            let task = rt.task(()).core(core as u16).claim(granules.write(0..1));
            assert_eq!(task.submit(|(), cx| cx.worker()).join().unwrap(), core);
        }
    });
}

/// Where others take tasks over, they can do so if the task stays with who has spawned it.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn no_task_goes_home_to_a_worker_that_has_not_looked_what_came_before() {
    let _watched = watchdog_of(Duration::from_secs(20));
    let rt = Runtime::builder().workers(2).pool(Pool::WorkStealing).build().unwrap();
    let granules = rt.granules(2);
    let (begun, hold) = (Flag::default(), Flag::default());
    let (begins, held) = (begun.clone(), hold.clone());
    rt.task(()).core(1).spawn(move |(), _| {
        begins.set();
        held.wait();
    });
    begun.wait();
    // That worker is the home of the second granule.
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
