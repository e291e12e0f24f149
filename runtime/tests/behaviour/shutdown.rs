//! The end of a runtime: each task runs or is cancelled, each handle is resolved, and each value is
//! dropped once.

use crate::common::{
    Dropped, Flag, Pair, Setting, eventually, on_all, on_each, set_at_end, silence_tasks, watchdog,
};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;
use xtasking::{
    Context, Handle, JoinError, Priority, Runtime, Shutdown,
    primitive::{OptimisticLatched, OptimisticSequenced, Sequencing, SpinLatch},
};

/// Spawns two follow-ups each, to a depth.
fn tree(cx: &mut Context, depth: usize, ran: Arc<AtomicUsize>) {
    ran.fetch_add(1, SeqCst);
    if depth > 0 {
        for side in 0..2 {
            let ran = ran.clone();
            cx.task(()).core((depth * 2 + side) as u16).spawn(move |(), cx| tree(cx, depth - 1, ran));
        }
    }
}

#[test]
fn draining_runs_everything_follow_ups_included() {
    on_all(|setting| {
        let ran = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let seen = ran.clone();
        rt.task(()).priority(Priority::Low).spawn(move |(), cx| tree(cx, 8, seen));
        rt.shutdown(Shutdown::Drain);
        assert_eq!(ran.load(SeqCst), 511);
        // The same for a drop of the runtime.
        let rt = setting.build();
        let seen = ran.clone();
        rt.task(()).spawn(move |(), cx| tree(cx, 8, seen));
        drop(rt);
        assert_eq!(ran.load(SeqCst), 1022);
    });
}

#[test]
fn an_idle_runtime_ends_at_once_however_it_is_asked() {
    on_all(|setting| {
        setting.build().shutdown(Shutdown::Drain);
        setting.build().shutdown(Shutdown::Cancel);
        drop(setting.build());
        let rt = setting.build();
        thread::sleep(Duration::from_millis(2));
        drop(rt);
    });
}

/// Handles of tasks on a few objects, alone and together, whose captures count their drops.
fn many_tasks(rt: &Runtime, drops: &Arc<AtomicUsize>, ran: &Arc<AtomicUsize>) -> Vec<Handle<()>> {
    let (a, b) = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(Sequencing).build());
    let (c, d) = (
        rt.snapshot(0u64).pin(OptimisticSequenced).build(),
        rt.versioned(Pair::default()).pin(OptimisticSequenced).build(),
    );
    let (e, f) =
        (rt.plain(0).pin(SpinLatch).build(), rt.versioned(Pair::default()).pin(OptimisticLatched).build());
    let mut tasks = Vec::new();
    for round in 0..20 {
        macro_rules! submit {
            ($($access:expr),+) => {$({
                let (captured, ran) = (Dropped(drops.clone()), ran.clone());
                let task = rt.task($access).core(round);
                tasks.push(task.submit(move |_, cx| {
                    ran.fetch_add(1, SeqCst);
                    cx.task(()).spawn(move |(), _| drop(captured));
                }));
            })+};
        }
        submit!((), a.write(), b.read(), c.read(), c.write(), d.read(), e.write(), f.write());
        submit!(
            (a.write(), b.write()),
            (b.write(), c.read(), d.write()),
            (d.read(), a.read()),
            (e.write(), f.read())
        );
        submit!((c.write(), e.read(), a.write()), (a.write(),));
        let (captured, ran) = (Dropped(drops.clone()), ran.clone());
        let read = rt.task(d.read()).core(round);
        tasks.push(read.submit_read(
            |pair| pair.0.get(),
            move |_, _| {
                ran.fetch_add(1, SeqCst);
                drop(captured);
            },
        ));
    }
    tasks
}

/// At any point of the work, each handle is resolved.
#[test]
fn cancelling_resolves_every_handle() {
    on_all(|setting| {
        // More threads than cores take long to end.
        let rounds = if matches!(setting, Setting::Threads { workers: 4.. }) { 1 } else { 4 };
        for round in 0..rounds {
            let (drops, ran) = (Arc::default(), Arc::default());
            let rt = setting.build();
            let tasks = many_tasks(&rt, &drops, &ran);
            match setting {
                Setting::Threads { .. } => (0..round * 20).for_each(|_| thread::yield_now()),
                Setting::Simulation { .. } => {
                    // Some steps.
                    (0..round).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
                }
            }
            rt.shutdown(Shutdown::Cancel);
            let all = tasks.len();
            let mut done = 0;
            for task in tasks {
                assert!(task.is_finished());
                match task.join() {
                    Ok(()) => done += 1,
                    Err(JoinError::Cancelled) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(ran.load(SeqCst), done);
            assert_eq!(drops.load(SeqCst), all, "what bodies hold is dropped once");
        }
    });
}

#[test]
fn draining_resolves_every_handle() {
    on_all(|setting| {
        let (drops, ran) = (Arc::default(), Arc::default());
        let rt = setting.build();
        let tasks = many_tasks(&rt, &drops, &ran);
        let all = tasks.len();
        drop(rt);
        assert!(tasks.into_iter().all(|task| task.is_finished() && task.join().is_ok()));
        assert_eq!((ran.load(SeqCst), drops.load(SeqCst)), (all, all));
    });
}

/// Tasks with several objects wait behind one that runs, and other tasks behind them.
#[test]
fn cancelling_resolves_what_waits_at_held_objects() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let (a, b) = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(Sequencing).build());
        let c = rt.versioned(Pair::default()).pin(OptimisticSequenced).build();
        let (inside, go) = (Flag::default(), Flag::default());
        let (i, g) = (inside.clone(), go.clone());
        let first = rt.task((a.write(), c.write())).core(0).submit(move |_, _| {
            i.set();
            g.wait();
        });
        inside.wait();
        let waiting: Vec<Handle<()>> = (0..20)
            .flat_map(|round| {
                let task = rt.task((b.write(), a.write(), c.write()));
                [
                    task.core(round).submit(|_, _| ()),
                    rt.task(a.write()).submit(|_, _| ()),
                    rt.task((a.read(), b.read())).submit(|_, _| ()),
                    rt.task(c.write()).submit(|_, _| ()),
                    rt.task(c.read()).submit_read(|pair| pair.0.get(), |_, _| ()),
                ]
            })
            .collect();
        // All of them are deferred, or wait for the first worker: a read that has begun by now
        // would succeed.
        for _ in 0..2 {
            for worker in 1..rt.workers() {
                rt.task(()).core(worker as u16).submit(|(), _| ()).join().unwrap();
            }
        }
        let ending = set_at_end(&rt, go);
        rt.shutdown(Shutdown::Cancel);
        ending.join().unwrap();
        assert!(first.join().is_ok());
        assert!(waiting.into_iter().all(|task| matches!(task.join(), Err(JoinError::Cancelled))));
    });
}

/// An endless chain of follow-ups can see the shutdown.
#[test]
fn tasks_see_the_shutdown() {
    fn chain(cx: &mut Context, ended: Arc<AtomicUsize>) {
        if cx.is_shutting_down() {
            ended.fetch_add(1, SeqCst);
        } else {
            cx.task(()).spawn(move |(), cx| chain(cx, ended));
        }
    }
    on_all(|setting| {
        let ended = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        for _ in 0..4 {
            let ended = ended.clone();
            rt.task(()).spawn(move |(), cx| chain(cx, ended));
        }
        rt.task(()).submit(|(), _| ()).join().unwrap();
        rt.shutdown(Shutdown::Drain);
        assert_eq!(ended.load(SeqCst), 4);
    });
}

/// The last owner of a runtime is one of its tasks.
#[test]
fn a_runtime_may_be_dropped_by_its_own_task() {
    for how in [None, Some(Shutdown::Drain), Some(Shutdown::Cancel)] {
        on_all(|setting| {
            let (ran, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let rt = Arc::new(setting.build());
            let object = rt.plain(Dropped(drops.clone())).build();
            let (seen, inner, go) = (ran.clone(), rt.clone(), Flag::default());
            let waiting = go.clone();
            let task = rt.task(object.write()).submit(move |_, cx| {
                waiting.wait();
                for core in 0..10 {
                    let seen = seen.clone();
                    cx.task(()).core(core).spawn(move |(), _| _ = seen.fetch_add(1, SeqCst));
                }
                match (how, Arc::into_inner(inner)) {
                    (Some(how), Some(inner)) => inner.shutdown(how),
                    (_, inner) => drop(inner.expect("the last owner")),
                }
            });
            drop((rt, object));
            go.set();
            task.join().unwrap();
            if how != Some(Shutdown::Cancel) {
                eventually("the follow-ups run", || ran.load(SeqCst) == 10);
            }
            // The workers end, and their memory is freed.
            eventually("the object is freed", || drops.load(SeqCst) == 1);
        });
    }
}

#[test]
fn objects_outlive_their_runtime() {
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let objects: Vec<_> = (0..10).map(|_| rt.plain(Dropped(drops.clone())).build()).collect();
        let pair = rt.versioned(Pair::default()).build();
        rt.task(pair.write()).spawn(|pair, _| pair.0.set(5, pair.token()));
        let more = objects.clone();
        drop(rt);
        assert_eq!(pair.peek().0.get(), 5);
        drop(objects);
        assert_eq!(drops.load(SeqCst), 0);
        drop(more);
        assert_eq!(drops.load(SeqCst), 10);
    });
}

/// A body with large captures, aligned more strictly than a descriptor.
#[repr(align(256))]
struct Aligned([u64; 32]);

#[test]
fn large_and_aligned_bodies_run_and_are_dropped() {
    fn run<const WORDS: usize>(rt: &Runtime, drops: &Arc<AtomicUsize>) -> usize {
        let object = rt.plain(0u64).build();
        let pair = rt.versioned(Pair::default()).build();
        let load = || {
            let (words, aligned) = ([7u64; WORDS], Aligned([WORDS as u64; 32]));
            let captured = Dropped(drops.clone());
            move || {
                let _captured = &captured;
                assert_eq!((&raw const aligned).addr() % 256, 0);
                words.iter().sum::<u64>() + aligned.0[31]
            }
        };
        let (one, two, three, four, five) = (load(), load(), load(), load(), load());
        let plain = {
            let (words, captured) = ([7u64; WORDS], Dropped(drops.clone()));
            move || {
                let _captured = &captured;
                words.iter().sum::<u64>() + WORDS as u64
            }
        };
        let tasks = [
            rt.task(()).submit(move |(), _| one()),
            rt.task(object.write()).submit(move |_, _| two()),
            rt.task((object.write(), pair.read())).submit(move |_, _| three()),
            rt.task(pair.read()).submit_read(move |_| four(), |sum, _| sum),
            rt.task(pair.read()).submit_read(|pair| pair.0.get(), move |_, _| five()),
            rt.task((object.write(),)).submit(move |_, _| plain()),
        ];
        let count = tasks.len();
        assert!(tasks.into_iter().all(|task| task.join().unwrap() == 8 * WORDS as u64));
        let cancelled = load();
        rt.task(()).submit(move |(), _| cancelled()).cancel();
        count + 1
    }
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let spawned = run::<0>(&rt, &drops)
            + run::<5>(&rt, &drops)
            + run::<55>(&rt, &drops)
            + run::<60>(&rt, &drops)
            + run::<64>(&rt, &drops)
            + run::<5000>(&rt, &drops);
        drop(rt);
        assert_eq!(drops.load(SeqCst), spawned);
    });
}

/// Whether a task runs, panics, is poisoned or cancelled, its captures are dropped once.
#[test]
fn captures_of_a_body_are_dropped_once() {
    silence_tasks();
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let alive: Arc<()> = Arc::default();
        let watched: Weak<()> = Arc::downgrade(&alive);
        let rt = setting.builder().on_failure(drop).build().unwrap();
        let (good, bad) = (rt.plain(0u64).build(), rt.versioned(Pair::default()).build());
        let poison: Handle<()> = rt.task(bad.write()).submit(|_, _| panic!("provoked"));
        assert!(poison.join().is_err());
        let mut spawned = 0;
        for round in 0..30 {
            macro_rules! spawn {
                ($($access:expr),+) => {$({
                    let captured = (Dropped(drops.clone()), alive.clone());
                    spawned += 1;
                    let task = rt.task($access).core(round);
                    let body = move |_: &mut Context| {
                        let _captured = &captured;
                        if round % 3 == 0 {
                            panic!("provoked");
                        }
                    };
                    match round % 4 {
                        0 => task.spawn(move |_, cx| body(cx)),
                        1 => _ = task.submit(move |_, cx| body(cx)).cancel(),
                        _ => drop(task.submit(move |_, cx| body(cx))),
                    }
                })+};
            }
            spawn!((), good.read(), bad.read(), bad.write(), (good.read(), bad.write()), (good.read(),));
            let captured = Dropped(drops.clone());
            spawned += 1;
            rt.task(bad.read()).read_then(|pair| pair.0.get(), move |_, _| drop(captured));
        }
        drop(alive);
        drop(rt);
        assert_eq!(drops.load(SeqCst), spawned);
        assert!(watched.upgrade().is_none());
    });
}

#[test]
fn runtimes_come_and_go() {
    let _watched = watchdog();
    for round in 0..200 {
        let rt = Setting::Threads { workers: 1 + round % 4 }.build();
        let task = rt.task(()).core(round as u16).submit(|(), cx| cx.workers());
        if round % 2 == 0 {
            assert_eq!(task.join().unwrap(), 1 + round % 4);
        }
    }
}

/// The last worker stops the watchdog, which would keep the runtime until its next look.
#[test]
fn a_runtime_that_was_left_is_freed_although_it_has_a_watchdog() {
    const A_DAY: Duration = Duration::from_secs(24 * 3600);
    let _watched = watchdog();
    for by_task in [true, false] {
        let freed = Arc::<AtomicUsize>::default();
        let held = Dropped(freed.clone());
        let builder = Setting::Threads { workers: 2 }.builder();
        let rt = builder.watchdog(A_DAY, move |_| _ = &held).build().unwrap();
        let go = Flag::default();
        let end = go.clone();
        if by_task {
            let rt = Arc::new(rt);
            let last = rt.clone();
            rt.task(()).spawn(move |(), _| {
                end.wait();
                drop(last);
            });
            drop(rt);
        } else {
            let inside = Flag::default();
            let entered = inside.clone();
            rt.task(()).spawn(move |(), _| {
                entered.set();
                end.wait();
            });
            inside.wait();
            rt.shutdown_within(Shutdown::Drain, Duration::from_millis(1)).unwrap_err();
        }
        assert_eq!(freed.load(SeqCst), 0);
        go.set();
        eventually("freed", || freed.load(SeqCst) == 1);
    }
}
