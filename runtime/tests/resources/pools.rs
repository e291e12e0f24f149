//! Queue policies: unbound tasks reach idle workers, run once, and leave the order of all other
//! tasks alone.

use crate::common::{
    Flag, Gate, QUEUE_POLICIES, Setting, eventually, lock, on_each, silence_tasks, watchdog,
};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex};
use xtasking::platform::{Driver, Platform, PlatformError, Threads};
use xtasking::{Context, Priority, QueuePolicy, Runtime, Shutdown, primitive::Sequencing, queues::Topology};

/// Each queue policy on both platforms.
fn on_pools(pools: &[QueuePolicy], body: impl Fn(Setting, &dyn Fn() -> Runtime)) {
    for &pool in pools {
        on_each(Setting::threads().chain(Setting::simulations(&[1, 7])), |setting| {
            body(setting, &|| setting.builder().pool(pool).counters(true).build().unwrap());
        });
    }
}

/// A tree of tasks: as many as Fibonacci's function has calls.
fn calls(cx: &mut Context, number: u32, ran: Arc<AtomicUsize>) {
    ran.fetch_add(1, Relaxed);
    if number >= 2 {
        for less in 1..=2 {
            let ran = ran.clone();
            cx.task(()).spawn(move |(), cx| calls(cx, number - less, ran));
        }
    }
}

#[test]
fn every_task_runs_once() {
    on_pools(&QUEUE_POLICIES, |_, build| {
        let rt = build();
        let ran = Arc::new(AtomicUsize::new(0));
        let root = ran.clone();
        rt.task(()).spawn(move |(), cx| calls(cx, 15, root));
        for _ in 0..1000 {
            let ran = ran.clone();
            rt.task(()).spawn(move |(), _| _ = ran.fetch_add(1, Relaxed));
        }
        rt.shutdown(Shutdown::Drain);
        assert_eq!(ran.load(Relaxed), 1973 + 1000);
    });
}

/// One task spawns more than all rings hold: no task is lost, whichever worker runs it.
#[test]
fn tasks_without_room_in_a_queue_still_run() {
    on_pools(&QUEUE_POLICIES, |_, build| {
        let rt = build();
        let ran = Arc::new(AtomicUsize::new(0));
        let counted = ran.clone();
        rt.task(()).spawn(move |(), cx| {
            for number in 0..20_000 {
                let ran = counted.clone();
                // Costs differ, which must not matter.
                cx.task(()).cost(number % 5).spawn(move |(), _| _ = ran.fetch_add(1, Relaxed));
            }
        });
        rt.shutdown(Shutdown::Drain);
        assert_eq!(ran.load(Relaxed), 20_000);
    });
}

/// A chain of tasks that run inside their own spawns, because queues are full, needs no additional
/// stack.
#[test]
fn chains_without_end_need_no_stack() {
    fn fill(cx: &mut Context, chains: usize, left: usize, ran: Arc<AtomicUsize>) {
        ran.fetch_add(1, Relaxed);
        if left > 0 {
            for _ in 0..chains {
                let ran = ran.clone();
                cx.task(()).spawn(move |(), cx| fill(cx, 1, left - 1, ran));
            }
        }
    }
    on_pools(&[QueuePolicy::XQueue(Topology::All), QueuePolicy::WorkStealing], |_, build| {
        let rt = build();
        let ran = Arc::new(AtomicUsize::new(0));
        let first = ran.clone();
        rt.task(()).spawn(move |(), cx| fill(cx, 6_000, 20, first));
        rt.shutdown(Shutdown::Drain);
        assert_eq!(ran.load(Relaxed), 1 + 6_000 * 20);
    });
}

/// One task spawns and continues: other workers run the spawned tasks meanwhile.
#[test]
fn an_idle_worker_gets_tasks_of_a_busy_one() {
    for pool in &QUEUE_POLICIES[1..] {
        let _watched = watchdog();
        let rt = Runtime::builder().workers(4).pool(*pool).build().unwrap();
        let (done, ran) = (Flag::default(), Arc::new(AtomicUsize::new(0)));
        let finished = done.clone();
        let by = Arc::new(Mutex::new(HashSet::new()));
        let workers = by.clone();
        let task = rt.task(()).submit(move |(), cx| {
            for _ in 0..64 {
                let (ran, by) = (ran.clone(), by.clone());
                cx.task(()).spawn(move |(), cx| {
                    lock(&by).insert(cx.worker());
                    ran.fetch_add(1, Relaxed);
                });
            }
            // The task keeps its own worker busy, so another worker has to run them (or half of
            // them, with links in one direction).
            let enough = if *pool == QueuePolicy::WorkStealing { 1 } else { 16 };
            eventually("others run some", || ran.load(Relaxed) >= enough);
            finished.set();
            cx.worker()
        });
        done.wait();
        let own = task.join().unwrap();
        drop(rt);
        assert!(lock(&workers).iter().any(|&worker| worker != own), "{pool:?}");
    }
}

/// A worker whose queues were all full distributes tasks again when there is room.
#[test]
fn queues_that_were_full_are_filled_again() {
    for links in [Topology::Next, Topology::All, Topology::Kautz] {
        let _watched = watchdog();
        let rt = Runtime::builder().workers(2).pool(QueuePolicy::XQueue(links)).build().unwrap();
        let task = rt.task(()).submit(move |(), cx| {
            let (own, hold) = (cx.worker(), Flag::default());
            // Spawns tasks and counts those that reach the other worker, which is blocked until the
            // flag is set.
            let spawn = |cx: &mut Context, tasks: usize| {
                let elsewhere = Arc::new(AtomicUsize::new(0));
                for _ in 0..tasks {
                    let (elsewhere, hold) = (elsewhere.clone(), hold.clone());
                    cx.task(()).spawn(move |(), cx| {
                        if cx.worker() != own {
                            hold.wait();
                            elsewhere.fetch_add(1, Release);
                        }
                    });
                }
                elsewhere
            };
            let first = spawn(cx, 30_000);
            hold.set();
            // More than half of a ring, so that there is room even if the other worker is no longer
            // scheduled.
            eventually("there is room again", || first.load(Acquire) >= 2_100);
            // It gets half of these, except for the few that are spawned before the queues are
            // probed again.
            let second = spawn(cx, 1_000);
            eventually("it gets some again", || second.load(Relaxed) >= 400);
        });
        task.join().unwrap();
    }
}

/// Sleeping workers are woken for tasks that are sent to them or can be stolen.
#[test]
fn sleepers_are_woken_for_tasks_of_others() {
    for pool in &QUEUE_POLICIES[1..] {
        let _watched = watchdog();
        let rt = Runtime::builder().workers(2).pool(*pool).counters(true).build().unwrap();
        for _ in 0..50 {
            let sleeps = rt.counters().unwrap().sleeps;
            eventually("both sleep", || rt.counters().unwrap().sleeps > sleeps || sleeps >= 2);
            let (gate, all) = Gate::new(&rt, 2);
            rt.task(()).core(0).spawn(move |(), cx| {
                let there = Flag::default();
                for _ in 0..4 {
                    let (there, gate) = (there.clone(), gate.clone());
                    cx.task(()).spawn(move |(), cx| {
                        if cx.worker() == 1 && !there.is_set() {
                            there.set();
                            gate.pass();
                        }
                    });
                }
                // The other worker arrives without further action of this one.
                there.wait();
                gate.pass();
            });
            all.join().unwrap();
        }
    }
}

/// Tasks with objects, places and priorities run where these require.
#[test]
fn bound_tasks_run_where_they_are_bound() {
    on_pools(&QUEUE_POLICIES, |_, build| {
        let rt = build();
        let home = rt.plain(()).pin(Sequencing).build();
        let at = home.home();
        let (gate, all) = Gate::new(&rt, 3 * 200);
        for number in 0..200u16 {
            let passed = gate.clone();
            rt.task(home.write()).spawn(move |_, cx| {
                assert_eq!(cx.worker(), at);
                passed.pass();
            });
            let (workers, passed) = (rt.workers(), gate.clone());
            rt.task(()).core(number).spawn(move |(), cx| {
                assert_eq!(cx.worker(), usize::from(number) % workers);
                let here = cx.worker();
                let urgent = passed.clone();
                cx.task(()).priority(Priority::High).spawn(move |(), cx| {
                    assert_eq!(cx.worker(), here);
                    urgent.pass();
                });
                passed.pass();
            });
        }
        all.join().unwrap();
    });
}

/// Neither kind of task starves, even if the supply of the other is endless.
#[test]
fn nothing_starves() {
    fn again(cx: &mut Context, bound: bool, stop: Flag) {
        if !stop.is_set() {
            let place = cx.worker() as u16;
            let task = cx.task(());
            let task = if bound { task.core(place) } else { task };
            task.spawn(move |(), cx| again(cx, bound, stop));
        }
    }
    on_pools(&QUEUE_POLICIES, |_, build| {
        for bound in [true, false] {
            let rt = build();
            let stop = Flag::default();
            for worker in 0..rt.workers() {
                let stop = stop.clone();
                rt.task(()).core(worker as u16).spawn(move |(), cx| again(cx, bound, stop));
            }
            for place in [None, Some(0)] {
                for priority in [Priority::High, Priority::Normal, Priority::Low] {
                    let (gate, all) = Gate::new(&rt, 10);
                    for _ in 0..10 {
                        let gate = gate.clone();
                        rt.task(()).core(0).spawn(move |(), cx| {
                            let task = cx.task(()).priority(priority);
                            let task = if let Some(place) = place { task.core(place) } else { task };
                            task.spawn(move |(), _| gate.pass());
                        });
                    }
                    all.join().unwrap();
                }
            }
            stop.set();
        }
    });
}

/// If queues are full, the continuation of a group runs inside a spawn or at the end of a burst.
/// Groups that begin there end, too.
#[test]
fn groups_within_groups_end_where_queues_are_full() {
    /// Begins a group whose continuation begins another one, several times.
    fn follow(cx: &mut Context, left: u32, ran: Arc<AtomicUsize>) {
        ran.fetch_add(1, Relaxed);
        if left > 0 {
            let group = cx.group();
            cx.task(()).of(&group).spawn(|(), _| ());
            group.then(cx, move |_, cx| follow(cx, left - 1, ran));
        }
    }
    on_pools(&[QueuePolicy::XQueue(Topology::All)], |_, build| {
        for others in [0, 1] {
            let rt = build();
            let ran = Arc::new(AtomicUsize::new(0));
            let counted = ran.clone();
            rt.task(()).spawn(move |(), cx| {
                // Queues stay full: each of these tasks spawns another one when it runs.
                for _ in 0..40_000 {
                    cx.task(()).spawn(|(), cx| cx.task(()).spawn(|(), _| ()));
                }
                for _ in 0..20 {
                    follow(cx, 5, counted.clone());
                    for _ in 0..others {
                        // A member of another group replaces the tickets of the last group.
                        let other = cx.group();
                        cx.task(()).of(&other).spawn(|(), _| ());
                    }
                }
            });
            rt.shutdown(Shutdown::Drain);
            assert_eq!(ran.load(Relaxed), 20 * 6);
        }
    });
}

/// A panic of a task inside another task's spawn ends that task alone.
#[test]
fn a_panic_within_a_spawn_is_its_own() {
    silence_tasks();
    on_pools(&[QueuePolicy::XQueue(Topology::All), QueuePolicy::WorkStealing], |_, build| {
        let rt = build();
        let (panicked, after) = rt
            .task(())
            .submit(|(), cx| {
                let handles: Vec<_> = (0..12_000)
                    .map(|number: u32| {
                        cx.task(()).submit(move |(), _| assert!(!number.is_multiple_of(3), "provoked"))
                    })
                    .collect();
                (handles, 7)
            })
            .join()
            .unwrap();
        assert_eq!(after, 7);
        let failed = panicked.into_iter().filter_map(|handle| handle.join().err());
        assert_eq!(failed.count(), 4000);
    });
}

/// Tasks that have not started are cancelled, in every queue.
#[test]
fn cancelling_resolves_what_lies_anywhere() {
    on_pools(&QUEUE_POLICIES, |_, build| {
        let rt = build();
        let task = rt
            .task(())
            .submit(|(), cx| (0..1000).map(|_| cx.task(()).submit(|(), _| ())).collect::<Vec<_>>());
        let handles = task.join().unwrap();
        rt.shutdown(Shutdown::Cancel);
        assert!(handles.iter().all(|handle| handle.is_finished()));
    });
}

/// Threads of which the first worker starts late.
struct LateStart {
    below: Arc<Threads>,
    first: Arc<Mutex<Option<Driver>>>,
    /// How often the first worker has parked.
    parks: Arc<AtomicUsize>,
}

impl Platform for LateStart {
    xtasking_testing::forward_platform!(below: topology wake join block pages now);

    fn start(&self, worker: Driver) -> Result<(), PlatformError> {
        if worker.worker() == 0 {
            *lock(&self.first) = Some(worker);
            return Ok(());
        }
        self.below.start(worker)
    }

    fn park(&self, worker: usize) {
        if worker == 0 {
            self.parks.fetch_add(1, Relaxed);
        }
        self.below.park(worker);
    }
}

/// A worker whose run queues others have taken over sleeps until there is one for it.
#[test]
fn a_worker_without_a_run_queue_is_woken_for_one() {
    let _watched = watchdog();
    let (below, first, parks) = (Arc::new(Threads::new(2)), Arc::default(), Arc::default());
    let late = LateStart { below: below.clone(), first: Arc::clone(&first), parks: Arc::clone(&parks) };
    let builder = Runtime::builder().platform(late).workers(2).most_workers(4);
    let rt = builder.pool(QueuePolicy::WorkStealing).build().unwrap();
    let run_all = |queues: Range<u16>| {
        let tasks: Vec<_> = queues.map(|queue| rt.task(()).core(queue).submit(|(), _| ())).collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    };
    // The second worker takes over what the first one does not run.
    run_all(0..4);
    let driver = lock(&first).take().unwrap();
    below.start(driver).unwrap();
    eventually("the first worker sleeps", || parks.load(Relaxed) > 0);
    let (begun, stop) = (Flag::default(), Flag::default());
    let (begins, hold) = (begun.clone(), stop.clone());
    let held = rt.task(()).core(0).submit(move |(), _| {
        begins.set();
        hold.wait();
    });
    begun.wait();
    run_all(1..4);
    stop.set();
    held.join().unwrap();
}

/// Idle workers take over run queues whose worker runs a long task.
#[test]
fn a_waiting_pool_is_taken_over_with_its_objects() {
    let _watched = watchdog();
    let builder = Runtime::builder().workers(2).most_workers(8).pool(QueuePolicy::WorkStealing);
    let rt = builder.build().unwrap();
    let objects: Vec<_> = (0..8).map(|_| rt.plain(0).pin(Sequencing).build()).collect();
    for round in 0..20 {
        // The worker that runs this is busy until all other tasks have run.
        let stop = Flag::default();
        let hold = stop.clone();
        let held = rt.task(()).core(round % 8).submit(move |(), _| hold.wait());
        let others = objects.iter().filter(|object| object.home() != usize::from(round % 8));
        let tasks: Vec<_> =
            others.map(|object| rt.task(object.write()).submit(|count, _| *count += 1)).collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        stop.set();
        held.join().unwrap();
    }
}
