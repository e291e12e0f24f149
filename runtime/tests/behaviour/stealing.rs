//! Jobs and tasks of a worker are stolen while it runs a long piece: no test here would end
//! otherwise. All on threads, with a barrier and without.

use crate::common::{Flag, Setting, eventually, watchdog};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::thread::yield_now;
use xtasking::platform::{Platform, Threads};
use xtasking::{Builder, Fork, QueuePolicy, Runtime};

/// Threads without a barrier, so that each join publishes its second half.
struct NoBarrier(Threads);

impl Platform for NoBarrier {
    xtasking_testing::forward_platform!(0: topology start park wake join block pages now);
}

/// Joins nested this deep need more than the usual stack in debug builds.
const STACK: usize = 256 << 20;

/// Runs the body with some numbers of workers, with a barrier and without.
fn on_threads(workers: &[usize], body: impl Fn(&Runtime)) {
    on_threads_with(workers, |builder| builder, body);
}

/// The same, with further options of the runtime.
fn on_threads_with(workers: &[usize], configure: impl Fn(Builder) -> Builder, body: impl Fn(&Runtime)) {
    let _watched = watchdog();
    for &workers in workers {
        let threads = || Threads::new(workers).stack_size(STACK);
        let builder = || configure(Setting::Threads { workers }.builder());
        body(&builder().platform(threads()).build().unwrap());
        body(&builder().platform(NoBarrier(threads())).build().unwrap());
    }
}

/// Counts pieces of work, and waits for them.
#[derive(Default)]
struct Count(AtomicUsize);

impl Count {
    fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn wait_for(&self, count: usize) {
        while self.0.load(Relaxed) < count {
            yield_now();
        }
    }
}

#[test]
fn a_half_is_stolen_while_its_owner_runs_the_other() {
    on_threads(&[2, 3], |rt| {
        for _ in 0..20 {
            let stolen = Flag::default();
            let (owner, thief) = rt
                .run(|mut cx| {
                    let first = |cx: Fork<'_>| {
                        stolen.wait();
                        cx.worker()
                    };
                    let second = |cx: Fork<'_>| {
                        stolen.set();
                        cx.worker()
                    };
                    cx.join(first, second)
                })
                .unwrap();
            assert_ne!(owner, thief);
        }
    });
}

#[test]
fn a_half_is_stolen_by_a_worker_that_comes_later() {
    on_threads(&[2], |rt| {
        for _ in 0..20 {
            let (begun, stop, stolen) = (Flag::default(), Flag::default(), Flag::default());
            let (begins, hold) = (begun.clone(), stop.clone());
            let busy = rt.task(()).core(1).submit(move |(), _| {
                begins.set();
                hold.wait();
            });
            begun.wait();
            let divided = rt.task(()).core(0).submit(move |(), cx| {
                let first = |_: Fork<'_>| {
                    stop.set();
                    stolen.wait();
                };
                cx.fork().join(first, |cx| {
                    stolen.set();
                    assert_eq!(cx.worker(), 1);
                });
            });
            divided.join().unwrap();
            busy.join().unwrap();
        }
    });
}

#[test]
fn all_pieces_of_a_scope_are_stolen_while_its_owner_is_in_the_scope() {
    on_threads(&[2, 4], |rt| {
        let ran = Count::default();
        rt.scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|_| ran.add());
            }
            ran.wait_for(100);
        })
        .unwrap();
    });
}

/// Joins a piece with all later ones. As many pieces as there are workers wait until all of them
/// have begun.
fn right(piece: usize, workers: usize, begun: &Count, mut cx: Fork<'_>) {
    if piece == 10 * workers {
        return;
    }
    let first = |_: Fork<'_>| {
        begun.add();
        begun.wait_for((piece / workers + 1) * workers);
    };
    cx.join(first, |cx| right(piece + 1, workers, begun, cx));
}

/// There is one job at a time, and most workers wait for another one's: they steal parts of parts.
#[test]
fn all_workers_take_part_in_joins_that_lean_to_the_right() {
    on_threads(&[3, 4, 7], |rt| {
        for _ in 0..5 {
            let begun = Count::default();
            rt.run(|cx| right(0, rt.workers(), &begun, cx)).unwrap();
        }
    });
}

/// A piece at a time, the deepest first; the innermost waits for all others.
fn left(depth: usize, ran: &Count, mut cx: Fork<'_>) {
    if depth == 0 {
        return ran.wait_for(DEPTH);
    }
    cx.join(|cx| left(depth - 1, ran, cx), |_| ran.add());
}

/// Fewer than a fork stack has slots, and many more than it has at first.
const DEPTH: usize = if cfg!(sanitizer = "thread") {
    4_000 // its own stack has room for 65,536 calls
} else {
    8_000
};

#[test]
fn all_halves_of_deeply_nested_joins_are_stolen() {
    on_threads(&[2], |rt| {
        let ran = Count::default();
        rt.run(|cx| left(DEPTH, &ran, cx)).unwrap();
    });
}

#[test]
fn a_worker_that_waits_for_a_half_steals_a_part_of_it() {
    on_threads(&[2], |rt| {
        for _ in 0..20 {
            let (taken, helped) = (Flag::default(), Flag::default());
            rt.run(|mut cx| {
                let owner = cx.worker();
                let second = |mut cx: Fork<'_>| {
                    taken.set();
                    cx.join(
                        |_| helped.wait(),
                        |cx| {
                            assert_eq!(cx.worker(), owner);
                            helped.set();
                        },
                    );
                };
                cx.join(|_| taken.wait(), second);
            })
            .unwrap();
        }
    });
}

/// The waiting worker has long fallen asleep when there is a part for it.
#[test]
fn a_worker_that_sleeps_in_a_join_is_woken_for_a_part() {
    on_threads(&[2], |rt| {
        let (taken, helped) = (Flag::default(), Flag::default());
        rt.run(|mut cx| {
            let second = |mut cx: Fork<'_>| {
                taken.set();
                std::thread::sleep(std::time::Duration::from_millis(20));
                cx.join(|_| helped.wait(), |_| helped.set());
            };
            cx.join(|_| taken.wait(), second);
        })
        .unwrap();
    });
}

/// Threads that count how often each worker has parked and gone on: it sleeps if that is odd.
struct CountingParks {
    threads: Threads,
    has_barrier: bool,
    parks: Arc<[AtomicUsize; 3]>,
}

impl Platform for CountingParks {
    xtasking_testing::forward_platform!(threads: topology start wake join block pages now);

    fn park(&self, worker: usize) {
        self.parks[worker].fetch_add(1, SeqCst);
        self.threads.park(worker);
        self.parks[worker].fetch_add(1, SeqCst);
    }

    fn barrier(&self) -> bool {
        self.has_barrier && self.threads.barrier()
    }
}

/// Calls `round` in tasks of three workers, with the counts of their parks.
fn beside_a_sleeper(round: impl Fn(Fork<'_>, &[AtomicUsize; 3]) + Sync) {
    let _watched = watchdog();
    for has_barrier in [true, false] {
        let parks = Arc::<[AtomicUsize; 3]>::default();
        let platform = CountingParks { threads: Threads::new(3), has_barrier, parks: parks.clone() };
        let rt = Setting::Threads { workers: 3 }.builder().platform(platform).build().unwrap();
        for _ in 0..20 {
            rt.run(|cx| round(cx, &parks)).unwrap();
        }
    }
}

/// Waits until the worker with this count sleeps.
fn wait_for_sleep(parks: &AtomicUsize) {
    eventually("the owner sleeps", || !parks.load(SeqCst).is_multiple_of(2));
}

/// A worker waits for a half, whose thief runs something long; a third worker has taken a part of
/// it. Once the first worker sleeps, that one divides the part: only the sleeper can take the rest.
/// `begin` is what it does first.
fn divide_beside_a_sleeper(begin: impl Fn(&mut Fork<'_>) + Sync) {
    beside_a_sleeper(|mut cx, parks| {
        let (taken, divided, helped) = (Flag::default(), Flag::default(), Flag::default());
        let owner = cx.worker();
        let part = |mut cx: Fork<'_>| {
            begin(&mut cx);
            divided.set();
            wait_for_sleep(&parks[owner]);
            cx.join(|_| helped.wait(), |cx| help(&cx, owner, &helped));
        };
        let half = |mut cx: Fork<'_>| {
            taken.set();
            cx.join(|_| helped.wait(), part);
        };
        cx.join(|_| (taken.wait(), divided.wait()), half);
    });
}

/// What only the owner can run.
fn help(cx: &Fork<'_>, owner: usize, helped: &Flag) {
    let worker = cx.worker();
    helped.set();
    assert_eq!(worker, owner);
}

/// The worker that divides the part has nothing to give when it sees the request: the job that it
/// has pushed was taken before.
#[test]
fn a_request_for_a_part_is_kept_until_there_is_one() {
    beside_a_sleeper(|mut cx, parks| {
        let (begun, taken, helped) = (Flag::default(), Flag::default(), Flag::default());
        let owner = cx.worker();
        let part = |mut cx: Fork<'_>| {
            begun.set();
            cx.scope(|scope| {
                scope.spawn(|_| taken.set());
                taken.wait();
                wait_for_sleep(&parks[owner]);
            });
            cx.join(|_| helped.wait(), |cx| help(&cx, owner, &helped));
        };
        let half = |mut cx: Fork<'_>| cx.join(|_| helped.wait(), part);
        cx.join(|_| begun.wait(), half);
    });
}

/// The thief's youngest jobs were taken and are done, but their places are still in use: the part
/// that still runs is behind them.
#[test]
fn a_worker_that_sleeps_in_a_join_is_woken_for_a_part_behind_many_that_are_done() {
    const DONE: usize = 100;
    beside_a_sleeper(|mut cx, parks| {
        let (begun, helped) = (Flag::default(), Flag::default());
        let (owner, done) = (cx.worker(), AtomicUsize::new(0));
        let part = |mut cx: Fork<'_>| {
            begun.set();
            eventually("the other parts are done", || done.load(SeqCst) == DONE);
            wait_for_sleep(&parks[owner]);
            // The first join of a stolen job publishes its second half by itself.
            let before = parks[owner].load(SeqCst);
            cx.join(|_| (), |_| ());
            eventually("the owner is woken", || parks[owner].load(SeqCst) > before);
            wait_for_sleep(&parks[owner]);
            cx.join(|_| helped.wait(), |cx| help(&cx, owner, &helped));
        };
        let half = |mut cx: Fork<'_>| {
            cx.scope(|scope| {
                scope.spawn(part);
                begun.wait();
                (0..DONE).for_each(|_| scope.spawn(|_| _ = done.fetch_add(1, SeqCst)));
                helped.wait();
            });
        };
        cx.join(|_| begun.wait(), half);
    });
}

#[test]
fn a_worker_that_sleeps_in_a_join_is_woken_for_a_part_of_a_part() {
    divide_beside_a_sleeper(|_| ());
}

/// The first join of a stolen job publishes its second half by itself.
#[test]
fn a_worker_that_sleeps_in_a_join_is_woken_for_a_later_part_of_a_part() {
    divide_beside_a_sleeper(|cx| _ = cx.join(|_| (), |_| ()));
}

/// Every piece divides itself, panics or spawns a scope, as its number says. Returns how many ran.
fn shape(number: u64, depth: u32, ran: &Count, mut cx: Fork<'_>) {
    ran.add();
    if depth == 0 {
        return;
    }
    let child = |index: u64| number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(index);
    match number >> 33 & 1 {
        0 => {
            let (a, b) = (child(1), child(2));
            cx.join(|cx| shape(a, depth - 1, ran, cx), |cx| shape(b, depth - 1, ran, cx));
        }
        _ => cx.scope(|scope| {
            for index in 1..=2 {
                let number = child(index);
                scope.spawn(move |cx| shape(number, depth - 1, ran, cx));
            }
        }),
    }
}

#[test]
fn trees_of_joins_and_scopes_run_each_piece_once() {
    on_threads(&[2, 4], |rt| {
        for seed in 0..20 {
            let ran = Count::default();
            rt.run(|cx| shape(seed, 10, &ran, cx)).unwrap();
            assert_eq!(ran.0.into_inner(), 2047, "seed {seed}");
        }
    });
}

#[test]
fn tasks_are_stolen_while_their_worker_runs_the_one_that_spawned_them() {
    let configure = |builder: Builder| builder.pool(QueuePolicy::WorkStealing);
    on_threads_with(&[2, 4], configure, |rt| {
        for tasks in [1, 2, 64, 1000] {
            let ran = Arc::new(Count::default());
            let spawner = rt.task(()).submit(move |(), cx| {
                for _ in 0..tasks {
                    let ran = ran.clone();
                    cx.task(()).spawn(move |(), _| ran.add());
                }
                ran.wait_for(tasks);
            });
            spawner.join().unwrap();
        }
    });
}

/// The tasks wait for each other, so each needs a worker of its own. Most sleep when the tasks are
/// spawned.
#[test]
fn each_thief_calls_the_next_one() {
    fn three(mut spawn: impl FnMut(Box<dyn FnOnce() + Send>)) -> Arc<Count> {
        let begun = Arc::new(Count::default());
        std::thread::sleep(std::time::Duration::from_millis(2));
        for _ in 0..3 {
            let begun = begun.clone();
            spawn(Box::new(move || {
                begun.add();
                begun.wait_for(3);
            }));
        }
        begun
    }
    let configure = |builder: Builder| builder.pool(QueuePolicy::WorkStealing);
    on_threads_with(&[4], configure, |rt| {
        for _ in 0..20 {
            let spawner = rt.task(()).submit(|(), cx| {
                three(|body| cx.task(()).spawn(|(), _| body())).wait_for(3);
            });
            spawner.join().unwrap();
            three(|body| rt.task(()).spawn(|(), _| body())).wait_for(3);
        }
    });
}

#[test]
fn tasks_from_outside_are_run_while_workers_are_busy() {
    let configure = |builder: Builder| builder.pool(QueuePolicy::WorkStealing);
    on_threads_with(&[2, 4], configure, |rt| {
        let workers = rt.workers();
        for round in 0..20 {
            // All but one of the workers are busy until all other tasks have run.
            let (begun, stop) = (Arc::new(Count::default()), Flag::default());
            let busy = (1..workers).map(|offset| {
                let (begun, stop) = (begun.clone(), stop.clone());
                rt.task(()).core(((round + offset) % workers) as u16).submit(move |(), _| {
                    begun.add();
                    stop.wait();
                })
            });
            let busy: Vec<_> = busy.collect();
            begun.wait_for(workers - 1);
            let tasks: Vec<_> = (0..100).map(|_| rt.task(()).submit(|(), _| ())).collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            stop.set();
            busy.into_iter().for_each(|task| task.join().unwrap());
        }
    });
}

/// A worker takes one task from outside at a time, unless they are brief: else younger ones would
/// overtake those that wait behind a long one.
#[test]
fn a_task_from_outside_is_not_overtaken_while_a_worker_is_in_an_older_one() {
    let configure = |builder: Builder| builder.pool(QueuePolicy::WorkStealing);
    on_threads_with(&[2], configure, |rt| {
        let flags = || [(); 2].map(|()| Flag::default());
        let (inside, leave) = (flags(), flags());
        for core in 0..2 {
            let (inside, leave) = (inside[core].clone(), leave[core].clone());
            rt.task(()).core(core as u16).spawn(move |(), _| {
                inside.set();
                leave.wait();
            });
        }
        inside.iter().for_each(Flag::wait);
        let (begun, end) = (Flag::default(), Flag::default());
        let (begins, ends) = (begun.clone(), end.clone());
        rt.task(()).spawn(move |(), _| {
            begins.set();
            ends.wait();
        });
        let ran = Arc::new(Count::default());
        let places: Vec<_> = (0..9)
            .map(|_| {
                let ran = ran.clone();
                rt.task(()).submit(move |(), _| {
                    ran.add();
                    ran.0.load(Relaxed)
                })
            })
            .collect();
        leave[0].set();
        begun.wait();
        // Only now there is a second worker, which runs all others.
        leave[1].set();
        let places: Vec<_> = places.into_iter().map(|task| task.join().unwrap()).collect();
        end.set();
        assert_eq!(places[0], 1, "{places:?}");
    });
}

#[test]
fn one_worker_runs_tasks_from_outside_in_order() {
    let configure = |builder: Builder| builder.pool(QueuePolicy::WorkStealing);
    on_threads_with(&[1], configure, |rt| {
        let (inside, leave) = (Flag::default(), Flag::default());
        let (enters, leaves) = (inside.clone(), leave.clone());
        rt.task(()).spawn(move |(), _| {
            enters.set();
            leaves.wait();
        });
        inside.wait();
        let ran = Arc::new(Count::default());
        let places: Vec<_> = (0..100)
            .map(|_| {
                let ran = ran.clone();
                rt.task(()).submit(move |(), _| ran.0.fetch_add(1, Relaxed))
            })
            .collect();
        leave.set();
        assert!(places.into_iter().map(|task| task.join().unwrap()).eq(0..100));
    });
}
