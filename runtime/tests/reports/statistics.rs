//! Statistics: each spawned task is counted once, whatever its outcome, and times agree with the
//! clock.

use crate::common::{Pair, Setting, eventually, on_all, silence_tasks, watchdog};
use std::thread;
use std::time::Duration;
use xtasking::platform::Simulation;
use xtasking::{
    Context, JoinError, Part, Priority, QueuePolicy, Runtime,
    arena::{Arena, Link, Step, Visit},
    metrics::Statistics,
    primitive::{OptimisticLatched, Sequencing, SpinLatch},
    queues::{RankOrder, Topology},
};

/// With a queue policy that does not move tasks, so that each task is counted at one worker.
fn observed(setting: Setting) -> Runtime {
    setting.builder().pool(QueuePolicy::Local).statistics(true).on_failure(drop).build().unwrap()
}

/// Waits until every spawned task has run, and returns the statistics of that moment: those of
/// `tasks` tasks and of a few empty ones.
fn settled(rt: &Runtime, tasks: u64) -> Statistics {
    for more in 0.. {
        let statistics = rt.statistics().unwrap();
        assert!(statistics.spawned <= tasks + more, "{statistics}");
        if statistics.finished == tasks + more {
            // The statistics are consistent only now that all tasks have ended.
            return rt.statistics().unwrap();
        }
        // In a simulation, tasks run only while a thread waits.
        rt.task(()).priority(Priority::Low).submit(|(), _| ()).join().unwrap();
        thread::sleep(Duration::from_micros(more.min(50)));
    }
    unreachable!()
}

fn sum(statistics: &Statistics, of: impl Fn(&xtasking::metrics::WorkerStatistics) -> u64) -> u64 {
    statistics.workers.iter().map(of).sum()
}

#[test]
fn there_are_no_statistics_unless_requested() {
    on_all(|setting| {
        let rt = setting.build();
        rt.task(()).submit(|(), _| ()).join().unwrap();
        assert!(rt.statistics().is_none() && rt.timeline().is_none());
    });
}

/// Tasks of all kinds, from all workers to all workers.
#[test]
fn each_task_is_counted_once() {
    let _watched = watchdog();
    silence_tasks();
    on_all(|setting| {
        let rt = observed(setting);
        let plain: Vec<_> = (0..4).map(|_| rt.plain(0u64).pin(Sequencing).build()).collect();
        let (latched, copied) = (rt.plain(0u64).pin(SpinLatch).build(), rt.snapshot(0u64).build());
        let versioned = rt.versioned(Pair::default()).pin(OptimisticLatched).build();
        let mut tasks = 0;
        for round in 0..50 {
            let object = plain[round % 4].clone();
            rt.task(()).spawn(move |(), cx: &mut Context| {
                for core in 0..4 {
                    cx.task(object.write()).spawn(|value, _| *value += 1);
                    cx.task(()).core(core).spawn(|(), _| ());
                }
            });
            rt.task((plain[0].write(), plain[1 + round % 3].write(), latched.write())).spawn(|_, _| ());
            rt.task(copied.write()).spawn(|value, _| *value += 1);
            rt.task(versioned.read()).read_then(|pair| pair.0.get(), |_, _| ());
            rt.task(latched.write()).spawn(|value, _| *value += 1);
            rt.task(()).spawn(|(), _| panic!("provoked"));
            let cancelled = rt.task(()).submit(|(), _| ());
            cancelled.cancel();
            tasks += 15;
        }
        let statistics = settled(&rt, tasks);
        let all = statistics.finished;
        assert_eq!(
            (statistics.spawned, statistics.waiting.count(), statistics.completion.count()),
            (all, all, all)
        );
        assert_eq!(sum(&statistics, |worker| worker.finished), all);
        let runs = statistics.running.count();
        assert!(runs >= all && runs == sum(&statistics, |worker| worker.runs), "{statistics}");
        assert_eq!(sum(&statistics, |worker| worker.queued), runs, "{statistics}");
        assert!(statistics.workers.iter().all(|worker| worker.occupancy() == 0));
        // Follow-ups count as spawned by their workers.
        assert_eq!(sum(&statistics, |worker| worker.spawned), 50 * 8);
        assert!(
            statistics.workers.iter().all(|worker| worker.busy + worker.asleep <= 2 * statistics.elapsed)
        );
    });
}

/// Tasks may move between run queues, and run inside each other.
#[test]
fn in_each_kind_of_pool_each_task_is_counted_once() {
    let _watched = watchdog();
    silence_tasks();
    fn calls(cx: &mut Context, number: u32) {
        if number >= 2 {
            for less in 1..=2 {
                cx.task(()).spawn(move |(), cx| calls(cx, number - less));
            }
        }
        assert!(number != 7, "provoked");
    }
    let pools = [
        QueuePolicy::Local,
        QueuePolicy::WorkStealing,
        QueuePolicy::XQueue(Topology::Next),
        QueuePolicy::XQueue(Topology::All),
    ];
    for pool in pools.into_iter().chain([RankOrder::Exact, RankOrder::Relaxed].map(QueuePolicy::Ranked)) {
        on_all(|setting| {
            let builder = setting.builder().timeline(100_000).on_failure(drop);
            let rt = builder.pool(pool).build().unwrap();
            rt.task(()).spawn(|(), cx| calls(cx, 10));
            rt.task(()).spawn(|(), cx| (0..300).for_each(|_| cx.task(()).spawn(|(), _| ())));
            // The eleventh Fibonacci number is 89; the number of calls follows from it.
            let statistics = settled(&rt, 2 * 89 - 1 + 301);
            let all = statistics.finished;
            assert_eq!((statistics.waiting.count(), statistics.running.count()), (all, all), "{statistics}");
            let moved = sum(&statistics, |worker| worker.queued) - sum(&statistics, |worker| worker.given);
            assert_eq!((statistics.completion.count(), moved), (all, all), "{statistics}");
            assert!(statistics.workers.iter().all(|worker| worker.occupancy() == 0), "{statistics}");
            // The time of a task inside another one counts once.
            assert!(
                statistics.workers.iter().all(|worker| worker.busy <= statistics.elapsed),
                "{statistics}"
            );
            // The last task of a worker may be counted and its event not yet kept.
            for core in 0..rt.workers() {
                rt.task(()).core(core as u16).submit(|(), _| ()).join().unwrap();
            }
            let timeline = rt.timeline().unwrap();
            assert!(timeline.dropped() == 0 && timeline.events() as u64 >= all, "{timeline:?}");
        });
    }
}

/// A walk over nodes that are not kept in the cache, so that each is fetched in turn.
struct Walk<'a>(Vec<Link<Pair>>, &'a str);

impl Visit for Walk<'static> {
    type Target = Pair;
    type Output = ();
    fn read(&self, at: Link<Pair>, _: &Pair) -> Step<Pair, ()> {
        let here = self.0.iter().position(|link| link.address() == at.address()).unwrap();
        self.0.get(here + 1).map_or(Step::End(()), |next| Step::Go(*next, Part::HEAD))
    }
    fn then(self, (): (), cx: &mut Context) {
        assert_eq!(self.1, "a walk");
        assert!(cx.worker() < cx.workers());
    }
}

#[test]
fn a_walk_is_one_task_that_runs_often() {
    let _watched = watchdog();
    on_all(|setting| {
        let rt = observed(setting);
        let arena = Arena::new(&rt);
        let nodes: Vec<_> = (0..10).map(|_| arena.alloc_outside(Pair::default())).collect();
        for _ in 0..20 {
            rt.task(nodes[0].read()).visit(Walk(nodes.clone(), "a walk"));
        }
        let statistics = settled(&rt, 20);
        // All other tasks ran once.
        assert_eq!(statistics.running.count(), 20 * 9 + statistics.finished, "{statistics}");
        assert_eq!(sum(&statistics, |worker| worker.queued), statistics.running.count());
        drop(rt);
        drop(arena);
    });
}

fn simulated(cores: usize, tasks: u16, core: impl Fn(u16) -> u16) -> Statistics {
    let rt = Runtime::builder().platform(Simulation::new(cores, 7)).statistics(true).build().unwrap();
    let handles: Vec<_> =
        (0..tasks).map(|number| rt.task(()).core(core(number)).submit(|(), _| ())).collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    rt.statistics().unwrap()
}

/// On a virtual clock each task takes one step.
#[test]
fn lambda_says_how_lopsided_the_work_was() {
    let _watched = watchdog();
    for cores in [2, 4, 16] {
        let even = simulated(cores, 1600, |number| number);
        assert!(even.imbalance().abs() < 1e-9, "{even}");
        let one = simulated(cores, 1600, |_| 1);
        assert!((one.imbalance() - (cores as f64 - 1.0)).abs() < 1e-9, "{one}");
        assert_eq!((one.workers[1].busy, one.workers[0].busy), (Duration::from_nanos(1600), Duration::ZERO));
        assert!(one.elapsed >= one.workers[1].busy);
    }
    // One of two workers has three quarters of the work.
    let lopsided = simulated(2, 1600, |number| u16::from(number % 4 != 0));
    assert!((lopsided.imbalance() - 0.5).abs() < 1e-9, "{lopsided}");
    assert_eq!(Statistics::default().imbalance(), 0.0);
}

#[test]
fn times_are_those_of_the_clock() {
    let _watched = watchdog();
    let one_step = Duration::from_nanos(1);
    let simulated = simulated(1, 100, |_| 0);
    assert_eq!((simulated.running.percentile(1.0), simulated.running.max()), (one_step, one_step));
    assert!(
        simulated.waiting.max() > 50 * one_step && simulated.waiting.max() < 110 * one_step,
        "{simulated}"
    );
    // A reported value may be the upper end of a bucket of two or more.
    assert!(simulated.completion.max() >= simulated.waiting.max(), "{simulated}");
    assert!(simulated.completion.max() <= simulated.waiting.max() + 3 * one_step, "{simulated}");

    let rt = observed(Setting::Threads { workers: 1 });
    let long = Duration::from_millis(20);
    let first = rt.task(()).submit(move |(), _| thread::sleep(long));
    let second = rt.task(()).submit(|(), _| ());
    let meanwhile = rt.statistics().unwrap();
    assert!(meanwhile.occupancy() <= 2);
    first.join().unwrap();
    second.join().unwrap();
    let statistics = settled(&rt, 2);
    // A reported value may be 3% too high, as a bucket is that wide, and clocks are not exact.
    let slack = 95 * long / 100;
    assert!(statistics.running.max() >= slack && statistics.workers[0].busy >= slack, "{statistics}");
    assert!(statistics.completion.max() >= slack && statistics.elapsed >= slack, "{statistics}");
}

/// A worker that runs a long task is not counted as idle, and one that sleeps for long is counted
/// as asleep.
#[test]
fn ongoing_work_and_sleep_count() {
    let _watched = watchdog();
    let rt = observed(Setting::Threads { workers: 2 });
    let (promise, end) = rt.promise::<()>();
    let flag = crate::common::Flag::default();
    let go_on = flag.clone();
    rt.task(()).core(0).spawn(move |(), _| {
        go_on.wait();
        promise.fulfil(());
    });
    eventually("a busy worker", || rt.statistics().unwrap().workers[0].busy > Duration::from_millis(5));
    eventually("a sleeper", || rt.statistics().unwrap().workers[1].asleep > Duration::from_millis(5));
    let [first, second] = &rt.statistics().unwrap().workers[..] else { unreachable!() };
    assert_eq!((first.running.count(), second.busy), (0, Duration::ZERO));
    flag.set();
    end.join().unwrap();
}

#[test]
fn a_stolen_half_is_work_of_the_thief() {
    let _watched = watchdog();
    let mut steals = 0;
    for seed in 0..20 {
        let setting = Setting::Simulation { cores: 4, seed };
        let rt = observed(setting);
        fn fib(n: u64, cx: xtasking::Fork<'_>) -> u64 {
            if n < 2 {
                return n;
            }
            let (a, b) = { cx }.join(|cx| fib(n - 1, cx), |cx| fib(n - 2, cx));
            a + b
        }
        assert_eq!(rt.run(|cx| fib(12, cx)).unwrap(), 144);
        let statistics = settled(&rt, 1);
        for worker in &statistics.workers {
            assert!(
                worker.steals == 0 || worker.busy > Duration::from_nanos(worker.finished),
                "{statistics}"
            );
        }
        assert_eq!(sum(&statistics, |worker| worker.steals), statistics.counters.steals);
        steals += statistics.counters.steals;
    }
    assert!(steals > 20, "{steals} steals");
}

#[test]
fn a_refused_task_is_not_spawned() {
    let _watched = watchdog();
    let builder = Setting::Simulation { cores: 2, seed: 3 }.builder().statistics(true).memory_limit(1 << 20);
    let rt = builder.build().unwrap();
    let handles: Vec<_> = (0..20_000).map(|_| rt.task(()).submit(|(), _| ())).collect();
    let ran = handles.into_iter().map(xtasking::Handle::join);
    let refused = ran.filter(|result| matches!(result, Err(JoinError::OutOfMemory))).count() as u64;
    let statistics = rt.statistics().unwrap();
    assert!(refused > 0 && refused == statistics.counters.allocations.refused);
    assert_eq!((statistics.spawned, statistics.finished), (20_000 - refused, 20_000 - refused));
}

/// A joined task is in the statistics and in the timeline as soon as the join returns.
#[test]
fn a_joined_task_has_been_recorded() {
    let _watched = watchdog();
    silence_tasks();
    on_all(|setting| {
        let rt = setting.builder().timeline(1000).on_failure(drop).build().unwrap();
        let objects = [(); 2].map(|()| rt.plain(0u64).build());
        for joined in (1..).step_by(4).take(60) {
            let [a, b] = &objects;
            rt.task(()).submit(|(), _| ()).join().unwrap();
            rt.task(a.write()).submit(|a, _| *a += 1).join().unwrap();
            rt.task((a.read(), b.write())).submit(|(a, b), _| *b += *a).join().unwrap();
            rt.task(()).submit(|(), _| panic!("provoked")).join().unwrap_err();
            let statistics = rt.statistics().unwrap();
            let Statistics { spawned, finished, .. } = statistics;
            assert_eq!((spawned, finished), (joined + 3, joined + 3));
            assert_eq!(statistics.waiting.count(), finished);
        }
        let told = rt.timeline().unwrap().to_string();
        assert_eq!(told.matches(r#""put back":false"#).count(), 240);
    });
}

#[test]
fn the_summary_says_it_in_words() {
    let text = simulated(2, 100, |number| number).to_string();
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0].starts_with("100 of 100 tasks finished in ") && lines[0].ends_with("λ = 0.00"),
        "{text}"
    );
    assert_eq!(lines[2], "  running:    p50 1.0ns, p99 1.0ns, max 1.0ns");
    assert!(lines[6].starts_with("  worker 1: 50 tasks, busy ") && lines.len() == 7, "{text}");
}

#[cfg(feature = "serde")]
#[test]
fn statistics_are_plain_data() {
    let statistics = simulated(2, 100, |number| number);
    let json = serde_json::to_string(&statistics).unwrap();
    assert_eq!(serde_json::from_str::<Statistics>(&json).unwrap(), statistics);
}

#[cfg(feature = "serde")]
#[test]
fn advice_is_plain_data() {
    let (before, mut now) = (Statistics::default(), Statistics::default());
    now.elapsed = Duration::from_secs(3);
    let advice = xtasking::managed::Advice::between(&before, &now, 1..=3);
    let json = serde_json::to_string(&advice).unwrap();
    assert_eq!(serde_json::from_str::<xtasking::managed::Advice>(&json).unwrap(), advice);
}
