//! The baseline Toggle: tasks wait in buckets, which workers host.

use super::controls::{Control, granules_of};
use super::{many, mixed, settings};
use crate::common::{Flag, eventually, lock, on_each, silence_tasks, watchdog};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use xtasking::{Granules, Handle, JoinError, QueuePolicy, Runtime, primitive::Sequencing};

fn granules<D: Send + Sync + 'static>(rt: &Runtime, data: impl IntoIterator<Item = D>) -> Granules<D> {
    granules_of(rt, Control::Toggle, data)
}

/// Two tasks in different inner buckets of one worker run in parallel: another worker has claimed
/// one of the inner buckets.
#[test]
#[cfg_attr(miri, ignore = "on threads of the system")]
fn an_idle_worker_helps_a_host() {
    for pool in [QueuePolicy::Local, QueuePolicy::WorkStealing] {
        let _watched = watchdog();
        let rt = Runtime::builder().workers(2).pool(pool).build().unwrap();
        let granules = granules(&rt, [(); 32]);
        // The other worker may be neither idle nor asleep when it would be called.
        eventually("two tasks run in parallel", || {
            let (hold, there) = (Flag::default(), Arc::new(AtomicUsize::new(0)));
            let held = hold.clone();
            rt.task(()).core(0).spawn(move |(), _| held.wait());
            let meet = |granule: u32| {
                let there = there.clone();
                rt.task(()).claim(granules.write(granule..granule + 1)).submit(move |(), _| {
                    there.fetch_add(1, Relaxed);
                    let end = Instant::now() + Duration::from_millis(200);
                    while there.load(Relaxed) < 2 && Instant::now() < end {
                        std::thread::yield_now();
                    }
                    there.load(Relaxed)
                })
            };
            let tasks = [meet(0), meet(15)];
            hold.set();
            tasks.map(|task| task.join().unwrap()) == [2, 2]
        });
    }
}

/// The host of a bucket runs its tasks, unless another worker helps.
#[test]
fn a_task_waits_in_the_lowest_bucket_that_it_covers() {
    let _watched = watchdog();
    let rt = crate::common::Setting::Simulation { cores: 4, seed: 1 }.build();
    let granules = granules(&rt, [(); 64]);
    let worker = |claim| rt.task(()).claim(claim).submit(|(), cx| cx.worker()).join().unwrap();
    assert_eq!(worker(granules.write(0..64)), 0);
    assert_eq!(worker(granules.write(16..17)), 1);
    assert_eq!(worker(granules.write(63..64).and_read(47..48)), 2);
    assert_eq!(worker(granules.planned(|view| view.write(50..64))), 3);
    assert_eq!(
        rt.task(()).core(2).claim(granules.write(0..9)).submit(|(), cx| cx.worker()).join().unwrap(),
        2
    );
}

/// Each task of all kinds runs or fails, and each that has run was the only one to change what it
/// claimed.
#[test]
fn no_task_is_lost_in_a_mix_of_all_kinds() {
    const GRANULES: u32 = 48;
    silence_tasks();
    on_each(settings(), |setting| {
        let rt = Arc::new(setting.build());
        let granules = granules(&rt, [0u64; GRANULES as usize]);
        let object = rt.plain(0u64).pin(Sequencing).build();
        let expected: Arc<Vec<AtomicU32>> = Arc::new((0..GRANULES).map(|_| AtomicU32::new(0)).collect());
        let follow_ups = Arc::new(Mutex::new(Vec::new()));
        let mut handles: Vec<Handle<()>> = Vec::new();
        let mut failing = 0;
        for number in 0..u64::from(many(1000)) {
            let chance = mixed(number + setting.seed());
            let length = if chance.is_multiple_of(5) { 30 } else { chance / 5 % 4 } as u32;
            let from = (chance / 20 % u64::from(GRANULES)) as u32;
            let range = from..(from + length).min(GRANULES);
            let claim = if (chance / 960).is_multiple_of(3) {
                let named = range.clone();
                granules.planned(move |view| {
                    // Possibly in another bucket.
                    view.peek(GRANULES - 1 - from, |_| ());
                    view.write(named.clone());
                })
            } else {
                granules.write(range.clone())
            };
            let (fails, goes_on) = ((chance / 2880).is_multiple_of(50), (chance / 2880).is_multiple_of(7));
            let (counts, there, more) = (expected.clone(), granules.clone(), follow_ups.clone());
            let body = move |held: &mut xtasking::Held<'_, u64>, cx: &mut xtasking::Context| {
                for granule in range.clone() {
                    *held.get_mut(granule) += 1;
                    counts[granule as usize].fetch_add(1, Relaxed);
                }
                if goes_on {
                    let task = cx.task(()).claim(there.write(from..from + 1));
                    lock(&more).push(task.submit_with(move |(), mut held, _| {
                        *held.get_mut(from) += 1;
                        counts[from as usize].fetch_add(1, Relaxed);
                    }));
                }
            };
            if fails {
                failing += 1;
                handles.push(rt.task(()).claim(claim).submit(|(), _| panic!("provoked")));
                continue;
            }
            handles.push(match chance / 60_480 % 4 {
                0 => rt.task(object.write()).claim(claim).submit_with(move |count, mut held, cx| {
                    *count += 1;
                    body(&mut held, cx);
                }),
                1 => {
                    let task = rt.task(()).core((chance % 8) as u16).claim(claim);
                    task.submit_with(move |(), mut held, cx| body(&mut held, cx))
                }
                _ => rt.task(()).claim(claim).submit_with(move |(), mut held, cx| body(&mut held, cx)),
            });
        }
        let outcomes = handles.into_iter().map(Handle::join);
        let failed = outcomes.filter(|outcome| matches!(outcome, Err(JoinError::Panicked(_)))).count();
        assert_eq!(failed, failing);
        for task in std::mem::take(&mut *lock(&follow_ups)) {
            task.join().unwrap();
        }
        let all = rt.task(()).claim(granules.read(0..GRANULES));
        let found = all.submit_with(|(), held, _| (0..GRANULES).map(|at| *held.get(at)).collect::<Vec<_>>());
        let expected: Vec<u64> = expected.iter().map(|count| count.load(Relaxed).into()).collect();
        assert_eq!(found.join().unwrap(), expected);
    });
}

/// Tasks that hosts run count like others, and hosts do not count.
#[test]
fn statistics_count_tasks_that_wait_in_buckets() {
    on_each(settings(), |setting| {
        let rt = setting.builder().statistics(true).build().unwrap();
        let granules = granules(&rt, [(); 16]);
        let group = rt.group();
        let there = granules.clone();
        rt.task(()).of(&group).spawn(move |(), cx| {
            for number in 0..100 {
                let from = number % 12;
                cx.task(()).as_sibling().claim(there.write(from..from + number % 5)).spawn(|(), _| ());
            }
        });
        for number in 0..100 {
            rt.task(()).of(&group).claim(granules.write(number % 16..16)).spawn(|(), _| ());
        }
        group.wait().unwrap();
        eventually("all tasks are counted", || rt.statistics().unwrap().finished == 201);
        let statistics = rt.statistics().unwrap();
        assert_eq!((statistics.spawned, statistics.waiting.count()), (201, 201), "{statistics}");
        assert!(statistics.workers.iter().all(|worker| worker.occupancy() == 0), "{statistics}");
    });
}
