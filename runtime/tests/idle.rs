//! Sleeping and waking.

mod common;

use common::{Setting, watchdog};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use xtasking::{Context, Fork, Promise, Runtime, Shutdown};

/// These tests measure the whole process, so one runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processor time of this process.
#[cfg(unix)]
fn processor_time() -> Duration {
    // SAFETY: plain numbers, for which all zeros are fine.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is there to be written.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) }, 0);
    let time = |part: libc::timeval| Duration::new(part.tv_sec as u64, part.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

#[cfg(unix)]
#[test]
#[cfg_attr(any(sanitizer = "address", sanitizer = "thread"), ignore = "a sanitizer takes its own time")]
fn a_sleeping_runtime_uses_no_processor() {
    let _alone = alone();
    for (workers, seconds, watched) in [(1, 1, false), (2, 5, false), (2, 5, true), (8, 1, false)] {
        let mut builder = Setting::Threads { workers }.builder();
        if watched {
            builder = builder.watchdog(Duration::from_millis(100), |_| ());
        }
        let rt = builder.build().unwrap();
        let object = rt.plain(0).build();
        for round in 0..1000 {
            rt.task(object.write()).core(round).spawn(|value, _| *value += 1);
        }
        assert!(rt.task(object.read()).submit(|value, _| *value).join().is_ok());
        // Something to be freed meanwhile.
        drop(object);
        thread::sleep(Duration::from_millis(100));
        let before = processor_time();
        thread::sleep(Duration::from_secs(seconds));
        let used = processor_time() - before;
        assert!(used < Duration::from_millis(20), "{workers} idle workers used {used:?} in {seconds} s");
    }
}

#[test]
#[cfg_attr(any(sanitizer = "address", sanitizer = "thread"), ignore = "a sanitizer takes its own time")]
fn a_sleeping_runtime_wakes_promptly() {
    let _alone = alone();
    let _watched = watchdog();
    for workers in [1, 2, 4] {
        let rt = Setting::Threads { workers }.builder().counters(true).build().unwrap();
        let mut times: Vec<_> = (0..21)
            .map(|core| {
                thread::sleep(Duration::from_millis(5));
                let began = Instant::now();
                rt.task(()).core(core).submit(|(), _| ()).join().unwrap();
                began.elapsed()
            })
            .collect();
        times.sort_unstable();
        // The system may be busy with others for some of the time.
        assert!(times[5] < Duration::from_millis(10), "{workers} workers: {times:?}");
        assert!(rt.counters().unwrap().sleeps > 10);
    }
}

#[test]
fn sleep_and_wake_thousands_of_times() {
    let _alone = alone();
    let _watched = watchdog();
    for workers in [1, 2, 4] {
        let rt = Setting::Threads { workers }.build();
        for round in 0..3000u32 {
            let task = rt.task(()).core(round as u16).submit(move |(), _| round);
            assert_eq!(task.join().unwrap(), round);
            // Long enough to fall asleep, or just about not.
            let pause = Instant::now() + Duration::from_micros(u64::from(round % 50));
            while Instant::now() < pause {
                std::hint::spin_loop();
            }
        }
    }
}

/// One task hops between workers that sleep whenever it is not there.
#[test]
fn a_task_that_hops_wakes_each_worker() {
    fn hop(cx: &mut Context, left: u32, promise: Promise<u32>) {
        if left == 0 {
            return promise.fulfil(0);
        }
        let next = (cx.worker() + 1) as u16;
        cx.task(()).core(next).spawn(move |(), cx| hop(cx, left - 1, promise));
    }
    let _alone = alone();
    let _watched = watchdog();
    for workers in [2, 3, 8] {
        let rt = Setting::Threads { workers }.build();
        let handles: Vec<_> = (0..2)
            .map(|_| {
                let (promise, handle) = rt.promise();
                rt.task(()).spawn(move |(), cx| hop(cx, 5000, promise));
                handle
            })
            .collect();
        handles.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), 0));
    }
}

#[cfg(unix)]
#[test]
fn a_runtime_that_waits_for_its_last_task_uses_no_processor() {
    let _alone = alone();
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 4 }.build();
    let last = rt.task(()).submit(|(), _| thread::sleep(Duration::from_secs(1)));
    let before = processor_time();
    rt.shutdown(Shutdown::Drain);
    let used = processor_time() - before;
    assert!(last.is_finished());
    assert!(used < Duration::from_millis(50), "three idle workers used {used:?}");
}

/// GeckoDB's waiters spin, as its idle threads do.
#[cfg(unix)]
#[test]
#[cfg_attr(any(sanitizer = "address", sanitizer = "thread"), ignore = "a sanitizer takes its own time")]
fn who_waits_for_a_set_uses_no_processor() {
    let _alone = alone();
    let _watched = watchdog();
    let rt = Runtime::builder().workers(4).follow_advice(Duration::from_millis(200), 1..=4).build().unwrap();
    let pool = rt.managed();
    let (begun, begins) = mpsc::channel();
    let nap = pool.enqueue(move || {
        begun.send(()).unwrap();
        thread::sleep(Duration::from_secs(2));
    });
    // By a worker, or else who waits would have it.
    begins.recv().unwrap();
    let before = processor_time();
    thread::scope(|scope| {
        scope.spawn(|| pool.wait(nap).unwrap());
        scope.spawn(|| pool.wait_all().unwrap());
    });
    let used = processor_time() - before;
    assert!(used < Duration::from_millis(60), "two who wait, and three idle workers, used {used:?}");
}

/// Joins here until somebody else has begun something that is divided from this.
fn join_until(begun: &AtomicBool, mut cx: Fork<'_>) {
    while !begun.load(Relaxed) {
        cx.join(|_| (), |_| ());
    }
}

#[cfg(unix)]
#[test]
#[cfg_attr(any(sanitizer = "address", sanitizer = "thread"), ignore = "a sanitizer takes its own time")]
fn who_waits_in_a_join_uses_no_processor() {
    let _alone = alone();
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    let begun = AtomicBool::new(false);
    let nap = || {
        begun.store(true, Relaxed);
        let before = processor_time();
        thread::sleep(Duration::from_secs(1));
        processor_time() - before
    };
    let ((), used) = rt.run(|mut cx| cx.join(|cx| join_until(&begun, cx), |_| nap())).unwrap();
    assert!(used < Duration::from_millis(50), "who waits in a join used {used:?} in 1 s");
}

#[test]
fn who_sleeps_in_a_join_is_woken_for_a_part() {
    let _alone = alone();
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    for round in 0..20 {
        let (begun, helped) = (AtomicBool::new(false), AtomicBool::new(false));
        rt.run(|mut cx| {
            let owner = cx.worker();
            let divide = |mut cx: Fork<'_>| {
                begun.store(true, Relaxed);
                // Long enough for the owner to fall asleep; now and then not.
                thread::sleep(Duration::from_millis(round % 5 * 5));
                // Its help is the only end of this.
                while !helped.load(Relaxed) {
                    cx.join(
                        |_| thread::sleep(Duration::from_micros(200)),
                        |cx: Fork<'_>| {
                            if cx.worker() == owner {
                                helped.store(true, Relaxed);
                            }
                        },
                    );
                }
            };
            cx.join(|cx| join_until(&begun, cx), divide);
        })
        .unwrap();
    }
}

/// A pool may get another keeper while its worker sleeps in the midst of a task: it is the worker that is woken.
#[test]
fn who_sleeps_in_a_join_is_woken_though_the_runtime_is_resized() {
    let _alone = alone();
    let _watched = watchdog();
    for _ in 0..5 {
        let rt = Setting::Threads { workers: 2 }.build();
        let (begin, begins) = mpsc::channel();
        let (resize, resized) = mpsc::channel();
        let joined = rt.task(()).core(1).submit(move |(), cx| {
            let begun = &AtomicBool::new(false);
            let half = move |_: Fork<'_>| {
                begun.store(true, Relaxed);
                begin.send(()).unwrap();
                resized.recv().unwrap();
                thread::sleep(Duration::from_millis(20));
            };
            cx.fork().join(|cx| join_until(begun, cx), half);
        });
        begins.recv().unwrap();
        rt.resize(1).unwrap();
        resize.send(()).unwrap();
        joined.join().unwrap();
    }
}

/// The workers that finish last tell of it, however close they are.
#[test]
fn a_shutdown_is_not_missed() {
    let _alone = alone();
    let _watched = watchdog();
    for workers in [2, 4] {
        for round in 0..300u32 {
            let rt = Setting::Threads { workers }.build();
            for core in 0..workers as u16 {
                rt.task(()).core(core).spawn(move |(), _| {
                    (0..round * u32::from(core)).for_each(|_| std::hint::spin_loop());
                });
            }
            rt.shutdown(if round % 2 == 0 { Shutdown::Drain } else { Shutdown::Cancel });
        }
    }
}
