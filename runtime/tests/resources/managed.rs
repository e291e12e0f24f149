//! A managed pool: its size, advice on the size, and automatic sizing. The file also covers faults
//! of another pool, which must not occur here.
//!
//! GeckoDB's pool had these faults. Each has its test here or elsewhere:
//!
//! | fault | test |
//! |---|---|
//! | idle threads always spin | `idle.rs`: `a_sleeping_runtime_uses_no_cpu_time` |
//! | waiters always spin | `idle.rs`: `a_thread_that_waits_for_a_set_uses_no_cpu_time` |
//! | two enqueuers take one slot, or spin if all are busy | `sets.rs`: `ids_are_never_mixed_up` |
//! | a waiting thread runs one task | `sets.rs`: `a_waiter_runs_all_that_the_workers_do_not` |
//! | a pool of one deadlocks if a task waits | `sets.rs`: `a_task_may_wait_for_a_set` |
//! | a pool of none, and a set of none, underflow | `empty_pools_and_sets_do_not_underflow` |
//! | threads above a shrunk size are never joined | `excess_workers_end` |
//! | and yet their records are freed | `work_of_ended_workers_still_counts` |
//! | statistics are not atomic | `statistics_never_go_back_and_add_up_in_the_end` |

use crate::common::{Dropped, Flag, eventually, lock, on_all, side_by_side, watchdog};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;
use xtasking::platform::{Platform, Simulation, Threads};
use xtasking::{
    BuildError, Builder, QueuePolicy, Runtime, Shutdown,
    managed::{Managed, Reason, SetError},
    metrics::Statistics,
    platform::Driver,
    queues::RankOrder,
};

/// Tasks that keep all workers of a runtime busy while this value lives. Each sleeps a little, so
/// that more workers finish more tasks on a machine of any size.
struct Load {
    ends: Arc<AtomicBool>,
    ended: Arc<AtomicUsize>,
    begun: usize,
}

impl Load {
    fn new(rt: &Runtime) -> Self {
        let (ends, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        fn go_on(cx: &mut xtasking::Context, ends: Arc<AtomicBool>, ended: Arc<AtomicUsize>) {
            thread::sleep(Duration::from_micros(200));
            if ends.load(SeqCst) {
                ended.fetch_add(1, SeqCst);
            } else {
                cx.task(()).spawn(move |(), cx| go_on(cx, ends, ended));
            }
        }
        let begun = 4 * rt.workers();
        for number in 0..begun {
            let (ends, ended) = (ends.clone(), ended.clone());
            rt.task(()).core(number as u16).spawn(move |(), cx| go_on(cx, ends, ended));
        }
        Self { ends, ended, begun }
    }

    fn end(self) {
        self.ends.store(true, SeqCst);
        eventually("the end of the load", || self.ended.load(SeqCst) == self.begun);
    }
}

impl Drop for Load {
    /// Ends the load when a test fails, too.
    fn drop(&mut self) {
        self.ends.store(true, SeqCst);
    }
}

pub(super) fn managed(builder: Builder) -> Managed<Arc<Runtime>> {
    Managed::new(Arc::new(builder.statistics(true).build().unwrap()))
}

fn threads() -> Builder {
    Runtime::builder().workers(1).most_workers(4)
}

#[test]
fn a_managed_pool_combines_size_sets_and_advice() {
    let _watched = watchdog();
    let rt = threads().statistics(true).build().unwrap();
    let pool = rt.managed();
    assert_eq!(pool.size(), 1);
    pool.resize(3).unwrap();
    assert_eq!((pool.size(), pool.statistics().unwrap().size), (3, 3));
    let ran = Arc::new(AtomicUsize::new(0));
    let count = || {
        let ran = ran.clone();
        move || _ = ran.fetch_add(1, SeqCst)
    };
    let (one, many) = (pool.enqueue(count()), pool.enqueue_many((0..10).map(|_| count())));
    pool.wait(many).unwrap();
    pool.enqueue_and_wait([count()]).unwrap();
    pool.wait_all().unwrap();
    assert_eq!(ran.load(SeqCst), 12);
    assert!(matches!(pool.wait(one), Err(SetError::Stale)));
    let advice = pool.suggest().unwrap();
    assert_eq!(advice.size, 3);
    assert!(advice.to_string().contains("(now 3)"), "{advice}");
}

/// With ranked queues, the functions of a set run by the rank of the set. With other queues, all
/// sets still run.
#[test]
fn sets_have_ranks() {
    let _watched = watchdog();
    let pools = [
        QueuePolicy::Ranked(RankOrder::Exact),
        QueuePolicy::Ranked(RankOrder::Relaxed),
        QueuePolicy::Local,
        QueuePolicy::WorkStealing,
    ];
    for kind in pools {
        let rt = Runtime::builder().workers(1).pool(kind).build().unwrap();
        let pool = rt.managed();
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = |rank| {
            let order = order.clone();
            move || lock(&order).push(rank)
        };
        let both = Arc::new(Barrier::new(2));
        let worker = both.clone();
        pool.enqueue(move || {
            worker.wait();
            worker.wait();
        });
        both.wait();
        let ranks = [40_000, RankOrder::MIDDLE, 7, 0];
        for rank in ranks {
            pool.enqueue_ranked(rank, [(); 3].map(|()| note(rank)));
        }
        both.wait();
        // A waiting thread runs functions, too, which must not disturb the order here.
        eventually("all have run", || lock(&order).len() == 12);
        pool.wait_all().unwrap();
        let mut expected: Vec<_> = ranks.iter().rev().flat_map(|&rank| [rank; 3]).collect();
        if matches!(kind, QueuePolicy::Local | QueuePolicy::WorkStealing) {
            // These queues distinguish three priorities and age them; otherwise they keep no order.
            lock(&order).sort_unstable();
            expected.sort_unstable();
        }
        assert_eq!(*lock(&order), expected, "{kind:?}");
    }
}

#[test]
fn without_statistics_there_is_no_advice() {
    on_all(|setting| {
        let rt = setting.build();
        let pool = rt.managed();
        pool.enqueue_and_wait([|| ()]).unwrap();
        assert_eq!((pool.suggest(), pool.follow(), rt.advice()), (None, Ok(None), None));
        assert!(pool.statistics().is_none());
        assert_eq!(pool.size(), rt.workers());
    });
}

#[test]
fn the_size_follows_the_load_when_asked() {
    let _watched = watchdog();
    let pool = managed(threads()).within(1..=4);
    let follow_until = |size: usize| {
        eventually("a size that suits the load", || {
            thread::sleep(Duration::from_millis(5));
            let before = pool.size();
            let advice = pool.follow().unwrap().unwrap();
            assert_eq!((advice.size, advice.workers), (before, pool.size()), "{advice}");
            assert!((1..=4).contains(&advice.workers), "{advice}");
            pool.size() == size
        });
    };
    follow_until(1);
    for _ in 0..2 {
        let load = Load::new(pool.runtime());
        follow_until(4);
        load.end();
        follow_until(1);
    }
}

#[test]
fn given_bounds_are_kept() {
    let _watched = watchdog();
    let pool = managed(threads()).within(2..=3);
    let load = Load::new(pool.runtime());
    let follow_until = |size: usize| {
        eventually("the bound", || {
            thread::sleep(Duration::from_millis(2));
            pool.follow().unwrap();
            assert!((1..=3).contains(&pool.size()));
            pool.size() == size
        });
    };
    follow_until(3);
    load.end();
    follow_until(2);
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(1));
        assert_eq!(pool.follow().unwrap().unwrap().workers, 2);
    }
    // The runtime has no more workers than these.
    let pool = pool.within(7..=9);
    thread::sleep(Duration::from_millis(1));
    let advice = pool.follow().unwrap().unwrap();
    assert_eq!((advice.workers, advice.reason), (4, Reason::AtLeast));
}

#[test]
fn a_runtime_follows_by_itself_if_asked() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(1).follow_advice(Duration::from_millis(2), 1..=4).build().unwrap();
    assert_eq!((rt.workers(), rt.statistics().unwrap().size), (4, 1));
    for _ in 0..2 {
        let load = Load::new(&rt);
        // Each span has its own advice: on a busy machine it may find that little was done.
        eventually("all at work", || {
            rt.running_workers() == 4 && rt.advice().is_some_and(|advice| advice.most >= 4)
        });
        load.end();
        eventually("one is left", || {
            rt.running_workers() == 1 && rt.advice().is_some_and(|advice| advice.workers == 1)
        });
    }
}

/// It may end while it starts and stops workers.
#[test]
fn a_runtime_that_follows_may_end_at_any_time() {
    let _watched = watchdog();
    for round in 0..60u64 {
        let (hook, ran) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let held = hook.clone();
        let builder = Runtime::builder().workers(1 + round as usize % 4);
        let builder = builder.follow_advice(Duration::ZERO, 1..=4);
        let rt = builder.on_failure(move |_| _ = &held).build().unwrap();
        for core in 0..200 {
            let ran = ran.clone();
            rt.task(()).core(core).spawn(move |(), _| {
                thread::sleep(Duration::from_micros(20));
                ran.fetch_add(1, SeqCst);
            });
        }
        thread::sleep(Duration::from_micros(round * 100));
        if round % 3 == 0 {
            rt.shutdown(Shutdown::Cancel);
            assert!(ran.load(SeqCst) <= 200);
        } else {
            rt.shutdown(Shutdown::Drain);
            assert_eq!(ran.load(SeqCst), 200);
        }
        assert_eq!(Arc::strong_count(&hook), 1, "something is left");
    }
}

/// Like [`Threads`], but starting more than one worker takes long.
struct Slow(Threads, Arc<AtomicUsize>);

impl Platform for Slow {
    xtasking_testing::forward_platform!(0: topology park wake join watch block pages now);

    fn start(&self, worker: Driver) -> Result<(), xtasking::platform::PlatformError> {
        if self.1.fetch_add(1, SeqCst) > 0 {
            thread::sleep(Duration::from_millis(20));
        }
        self.0.start(worker)
    }
}

#[test]
fn a_worker_that_starts_too_late_is_waited_for() {
    let _watched = watchdog();
    for how in [Shutdown::Cancel, Shutdown::Drain].repeat(5) {
        let (hook, starts) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let held = hook.clone();
        let builder = Runtime::builder().platform(Slow(Threads::new(4), starts.clone())).workers(1);
        let builder = builder.follow_advice(Duration::ZERO, 1..=4).on_failure(move |_| _ = &held);
        let rt = builder.build().unwrap();
        let load = Load::new(&rt);
        eventually("another one starts", || starts.load(SeqCst) > 1);
        drop(load);
        rt.shutdown(how);
        assert_eq!(Arc::strong_count(&hook), 1, "something is left");
    }
}

/// This holds even for a long interval.
#[test]
fn following_advice_ends_with_the_runtime() {
    let _watched = watchdog();
    let hook = Arc::new(());
    let builder = || {
        let held = hook.clone();
        let builder = Runtime::builder().workers(2).follow_advice(Duration::from_secs(3600), 1..=2);
        builder.on_failure(move |_| _ = &held)
    };
    let rt = builder().build().unwrap();
    thread::sleep(Duration::from_millis(1));
    assert_eq!(rt.advice(), None, "it is not time yet");
    drop(rt);
    assert_eq!(Arc::strong_count(&hook), 1);
    // Dropped by one of its own tasks, which cannot wait.
    let rt = Arc::new(builder().build().unwrap());
    let last = rt.clone();
    rt.task(()).spawn(move |(), _| {
        eventually("the other is gone", || Arc::strong_count(&last) == 1);
        drop(last);
    });
    drop(rt);
    eventually("nothing is left", || Arc::strong_count(&hook) == 1);
}

#[test]
fn a_simulation_does_not_follow_by_itself() {
    let builder = Runtime::builder().platform(Simulation::new(2, 1));
    let refused = builder.follow_advice(Duration::from_millis(1), 1..=2).build();
    assert!(matches!(refused, Err(BuildError::Platform(ref why)) if why.what().contains("no watchers")));
}

#[test]
fn impossible_bounds_are_clamped() {
    let _watched = watchdog();
    let builder = || Runtime::builder().workers(2);
    for (from, to, workers, most) in [(9, 0, 2, 2), (9, 3, 3, 3), (1, 1, 1, 2), (3, 3, 3, 3)] {
        let rt = builder().follow_advice(Duration::ZERO, from..=to).build().unwrap();
        assert_eq!(rt.workers(), most);
        eventually("advice", || rt.running_workers() == workers && rt.advice().is_some());
    }
    let refused = builder().follow_advice(Duration::ZERO, 1..=usize::MAX).build();
    assert_eq!(refused.unwrap_err(), BuildError::TooManyWorkers(usize::MAX));
}

/// GeckoDB's pool of no threads underflowed.
#[test]
fn empty_pools_and_sets_do_not_underflow() {
    let _watched = watchdog();
    assert_eq!(Runtime::builder().workers(0).build().unwrap_err(), BuildError::NoWorkers);
    let pool = managed(threads());
    assert_eq!(pool.resize(0), Err(BuildError::NoWorkers));
    let nothing = pool.enqueue_many([(); 0].map(|()| || ()));
    assert!(pool.is_over(nothing).unwrap());
    pool.wait(nothing).unwrap();
    pool.enqueue_and_wait([(); 0].map(|()| || ())).unwrap();
    pool.wait_all().unwrap();
    let pool = pool.within(0..=0);
    thread::sleep(Duration::from_millis(1));
    assert_eq!(pool.follow().unwrap().unwrap().workers, 1);
    let rt = Runtime::builder().workers(1).follow_advice(Duration::ZERO, 0..=0).build().unwrap();
    eventually("advice", || rt.advice().is_some());
    assert_eq!((rt.advice().unwrap().workers, rt.running_workers(), rt.workers()), (1, 1, 1));
}

std::thread_local! {
    /// Dropped at the end of the thread.
    static THREAD: RefCell<Option<Dropped>> = const { RefCell::new(None) };
}

/// In GeckoDB, threads beyond the reduced size of a pool never ended.
#[test]
fn excess_workers_end() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(4).build().unwrap();
    let pool = rt.managed();
    let (marked, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for size in [2, 4, 1, 3] {
        let (all, before) = (pool.size(), ended.load(SeqCst));
        // Each worker runs one of these at the same time.
        let go = Flag::default();
        marked.store(0, SeqCst);
        for core in 0..all {
            let (go, marked, ended) = (go.clone(), marked.clone(), ended.clone());
            rt.task(()).core(core as u16).spawn(move |(), _| {
                THREAD.with_borrow_mut(|mark| _ = mark.get_or_insert_with(|| Dropped(ended)));
                marked.fetch_add(1, SeqCst);
                go.wait();
            });
        }
        eventually("all are marked", || marked.load(SeqCst) == all);
        go.set();
        pool.resize(size).unwrap();
        let gone = all.saturating_sub(size);
        eventually("those that are too many are gone", || ended.load(SeqCst) == before + gone);
        assert_eq!(rt.running_workers(), size);
    }
    drop(rt);
    // The first four, and three of the later ones; of the last three, two have not been marked.
    assert_eq!(ended.load(SeqCst), 2 + 3 + 1);
}

fn of_all(statistics: &Statistics, of: impl Fn(&xtasking::metrics::WorkerStatistics) -> u64) -> u64 {
    statistics.workers.iter().map(of).sum()
}

/// GeckoDB freed the record of an ending thread, which still wrote to it.
#[test]
fn work_of_ended_workers_still_counts() {
    on_all(|setting| {
        let rt = setting.builder().statistics(true).build().unwrap();
        let most = rt.workers();
        let mut tasks = 0;
        for size in [most, 1, most, 1, most.div_ceil(2)] {
            rt.managed().resize(size).unwrap();
            let handles: Vec<_> =
                (0..20 * most).map(|core| rt.task(()).core(core as u16).submit(|(), _| ())).collect();
            tasks += handles.len() as u64;
            handles.into_iter().for_each(|task| task.join().unwrap());
            eventually("all is noted", || rt.statistics().unwrap().finished == tasks);
            let statistics = rt.statistics().unwrap();
            assert_eq!((statistics.size, statistics.workers.len(), statistics.spawned), (size, most, tasks));
            assert!(statistics.workers.iter().all(|worker| worker.occupancy() == 0), "{statistics}");
            assert_eq!(of_all(&statistics, |worker| worker.runs), statistics.running.count());
        }
    });
}

/// Several threads wrote and read GeckoDB's statistics without synchronization.
#[test]
fn statistics_never_go_back_and_add_up_in_the_end() {
    const EACH: usize = 3000;
    let _watched = watchdog();
    let pool = managed(Runtime::builder().workers(2).most_workers(4));
    let done = AtomicUsize::new(0);
    let enqueue = || {
        for round in 0..EACH / 10 {
            let set = pool.enqueue_many((0..10).map(|_| || ()));
            if round % 3 == 0 {
                pool.forget(set).unwrap();
            } else {
                pool.wait(set).unwrap();
            }
            if round % 50 == 0 {
                pool.resize(1 + round / 50 % 4).unwrap();
            }
        }
        done.fetch_add(1, SeqCst);
    };
    let watch = || {
        let mut last = pool.statistics().unwrap();
        while done.load(SeqCst) < 2 {
            let now = pool.statistics().unwrap();
            let numbers = |statistics: &Statistics| {
                let of = |of: fn(&xtasking::metrics::WorkerStatistics) -> u64| of_all(statistics, of);
                [
                    statistics.spawned,
                    statistics.finished,
                    statistics.waiting.count(),
                    statistics.running.count(),
                    of(|worker| worker.queued),
                    of(|worker| worker.sleeps),
                    of(|worker| worker.runs),
                ]
            };
            assert!(numbers(&last).iter().zip(numbers(&now)).all(|(before, now)| *before <= now), "{now}");
            // Each ended task was spawned before.
            assert!(now.finished <= pool.statistics().unwrap().spawned, "{now}");
            last = now;
        }
    };
    side_by_side([&enqueue as &(dyn Fn() + Sync), &enqueue, &watch]);
    let rt = pool.runtime();
    eventually("nothing is left", || rt.statistics().unwrap().occupancy() == 0);
    let end = rt.statistics().unwrap();
    assert_eq!((end.finished, end.completion.count()), (end.spawned, end.spawned));
    assert_eq!((end.waiting.count(), end.running.count()), (end.spawned, end.spawned));
    assert_eq!(of_all(&end, |worker| worker.queued) - of_all(&end, |worker| worker.given), end.spawned);
    // One task for each function that no waiting thread has run, and one that finds nothing for
    // each of up to four runners of a set.
    assert!(end.spawned <= 2 * (EACH + 4 * EACH / 10) as u64 && end.spawned >= 2 * EACH as u64 / 3, "{end}");
}
