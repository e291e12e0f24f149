//! Timers: never early, each once, and none left behind.

use crate::common::{Dropped, Gate, Setting, on_all, watchdog};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use xtasking::{Context, Priority, Promise};

const LONG: Duration = Duration::from_secs(3600);

/// Nanoseconds of a tick. Each timer is due at the end of one.
const TICK: u64 = 1 << 20;

#[test]
fn timers_are_due_in_the_order_of_their_delays_and_never_early() {
    on_all(|setting| {
        let rt = setting.build();
        let order = rt.plain(Vec::new()).build();
        let delays = [40, 3, 90, 21, 12, 70, 0, 33].map(Duration::from_millis);
        let (gate, done) = Gate::new(&rt, delays.len());
        // From one task, so that all are at one worker.
        let all = order.clone();
        let set = rt.task(()).submit(move |(), cx| {
            delays.map(|delay| {
                let (order, gate) = (all.clone(), gate.clone());
                // The timer reads the clock between these two moments.
                let due = |cx: &Context| cx.deadline_in(delay).nanoseconds();
                let earliest = due(cx);
                cx.timer(delay, move |cx| {
                    let at = cx.deadline_in(Duration::ZERO).nanoseconds();
                    cx.task(order.write()).spawn(move |order, _| {
                        order.push((delay, at));
                        gate.pass();
                    });
                });
                (delay, earliest, due(cx))
            })
        });
        let set = set.join().unwrap();
        done.join().unwrap();
        let order = rt.task(order.read()).submit(|order, _| order.clone()).join().unwrap();
        assert_eq!(order.len(), delays.len());
        let find = |delay| set.iter().find(|timer| timer.0 == delay).expect("it was set");
        for &(delay, at) in &order {
            assert!(at >= find(delay).1, "{delay:?} is early: {set:?}, {order:?}");
        }
        // A thread may be paused between two timers, so the later one may be due first.
        for (number, &(delay, _)) in order.iter().enumerate() {
            for &(later, _) in &order[number..] {
                let (latest, earliest) = (find(later).2 / TICK + 1, find(delay).1.div_ceil(TICK));
                assert!(earliest <= latest, "{delay:?} before {later:?}: {set:?}, {order:?}");
            }
        }
        assert!(!setting.is_simulation() || order.is_sorted_by_key(|&(delay, _)| delay), "{order:?}");
    });
}

#[test]
fn a_cancelled_timer_does_nothing() {
    on_all(|setting| {
        let rt = setting.build();
        let (runs, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let action = || {
            let (runs, captured) = (runs.clone(), Dropped(drops.clone()));
            move |_: &mut Context| {
                runs.fetch_add(1, SeqCst);
                drop(captured);
            }
        };
        let timers: Vec<_> = (0..100).map(|_| rt.timer(LONG, action())).collect();
        let (promise, done) = rt.promise();
        rt.timer(Duration::from_millis(2), move |_| promise.fulfil(()));
        assert!(timers.into_iter().all(|timer| timer.cancel()));
        assert_eq!(drops.load(SeqCst), 100);
        done.join().unwrap();
        assert_eq!(runs.load(SeqCst), 0);
        // One that is over cannot be cancelled, and its successor in the wheel is another one.
        let (promise, done) = rt.promise();
        let over = rt.timer(Duration::ZERO, move |_| promise.fulfil(()));
        done.join().unwrap();
        let next = rt.timer(LONG, action());
        assert!(!over.cancel() && next.cancel());
    });
}

#[test]
fn a_panic_in_a_timer_costs_no_other() {
    on_all(|setting| {
        let (sender, failures) = mpsc::channel();
        let rt = setting
            .builder()
            .on_failure(move |failure| _ = sender.send(failure.to_string()))
            .build()
            .unwrap();
        let (promise, done) = rt.promise();
        rt.task(()).spawn(move |(), cx| {
            let delay = Duration::from_millis(1);
            cx.timer(delay, |_| panic!("in a timer"));
            cx.timer(delay, move |_| promise.fulfil(7));
        });
        assert_eq!(done.join().unwrap(), 7);
        drop(rt);
        let failures: Vec<_> = failures.iter().collect();
        assert!(failures.len() == 1 && failures[0].contains("in a timer"), "{failures:?}");
    });
}

#[test]
fn the_end_of_the_runtime_drops_timers() {
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        for number in 0..50 {
            let captured = Dropped(drops.clone());
            rt.timer(LONG * number, move |_| drop(captured));
        }
        let handle = rt.handle();
        drop(rt);
        assert_eq!(drops.load(SeqCst), 50);
        let late = handle.timer(Duration::ZERO, |_| unreachable!());
        assert!(!late.cancel());
    });
}

#[test]
fn a_timer_of_another_thread_wakes_its_worker() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.builder().counters(true).build().unwrap();
    for round in 0..20 {
        // Both workers sleep as a rule, with a timer that is due much later.
        let later = rt.timer(LONG, |_| ());
        while rt.counters().unwrap().sleeps < 2 + round {
            std::thread::yield_now();
        }
        let (promise, done) = rt.promise();
        rt.timer(Duration::from_millis(1), move |_| promise.fulfil(()));
        done.join().unwrap();
        assert!(later.cancel());
    }
}

#[test]
fn timers_of_a_worker_that_has_left_are_looked_after() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 4 }.build();
    let (sender, due) = mpsc::channel();
    for core in 0..4 {
        let sender = sender.clone();
        let set = rt.task(()).core(core).submit(move |(), cx| {
            cx.timer(Duration::from_millis(20), move |_| sender.send(core).unwrap());
        });
        set.join().unwrap();
    }
    rt.resize(1).unwrap();
    let mut cores: Vec<_> = due.iter().take(4).collect();
    cores.sort_unstable();
    assert_eq!(cores, [0, 1, 2, 3]);
}

/// A part of long work. `since` counts the parts that began since one has found the timer due.
fn run_part(is_over: Arc<AtomicBool>, since: Option<usize>, done: Promise<Option<usize>>, cx: &mut Context) {
    if is_over.load(SeqCst) {
        return done.fulfil(since);
    }
    let since = since.map(|parts| parts + 1).or_else(|| cx.poll_events().then_some(0));
    cx.task(()).priority(Priority::Low).spawn(move |(), cx| run_part(is_over, since, done, cx));
}

#[test]
fn what_a_part_of_long_work_finds_comes_before_the_next_parts() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.build();
    loop {
        let (promise, parts) = rt.promise();
        rt.task(()).spawn(move |(), cx| {
            let is_over = Arc::new(AtomicBool::new(false));
            let over = is_over.clone();
            cx.timer(Duration::ZERO, move |_| over.store(true, SeqCst));
            run_part(is_over, None, promise, cx);
        });
        // At times the worker finds it by itself before a part does.
        if let Some(parts) = parts.join().unwrap() {
            // Ageing lets one of them through.
            assert!(parts <= 1, "{parts} parts");
            return;
        }
    }
}
