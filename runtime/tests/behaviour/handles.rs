//! Handles, promises and cancellation.

use crate::common::{
    Flag, Gate, PATIENCE, Pair, Setting, eventually, let_others_in, on_all, silence_tasks, watchdog,
};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context as PollContext, Poll, Wake, Waker};
use std::thread;
use xtasking::{
    Handle, JoinError, Primitive, Promise, Runtime,
    arena::Arena,
    primitive::{OptimisticLatched, OptimisticSequenced, Sequencing, SpinLatch},
};

fn threads(workers: usize) -> Runtime {
    Setting::Threads { workers }.build()
}

/// Keeps a worker busy until the flag is set.
pub fn occupy(rt: &Runtime, core: u16) -> Flag {
    let (inside, go) = (Flag::default(), Flag::default());
    let (i, g) = (inside.clone(), go.clone());
    rt.task(()).core(core).spawn(move |(), _| {
        i.set();
        g.wait();
    });
    inside.wait();
    go
}

#[test]
fn results_of_many_tasks_are_joined() {
    on_all(|setting| {
        let rt = setting.build();
        let tasks: Vec<_> =
            (0..300u64).map(|number| rt.task(()).submit(move |(), _| number * number)).collect();
        for (number, task) in (0..300).zip(tasks) {
            assert_eq!(task.join().unwrap(), number * number);
        }
    });
}

#[test]
fn handles_are_joined_on_other_threads() {
    let _watched = watchdog();
    let rt = threads(2);
    let joins: Vec<_> = (0..20u64)
        .map(|number| {
            let task = rt.task(()).submit(move |(), _| number);
            thread::spawn(move || task.join().unwrap())
        })
        .collect();
    let sum: u64 = joins.into_iter().map(|join| join.join().unwrap()).sum();
    assert_eq!(sum, 190);
}

async fn spawn_and_await(rt: &Runtime) {
    for round in 0..50 {
        let object = rt.plain(round).build();
        let tasks: Vec<_> = (0..20).map(|_| rt.task(object.write()).submit(|value, _| *value += 1)).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(rt.task(object.read()).submit(|value, _| *value).await.unwrap(), round + 20);
    }
    silence_tasks();
    let failed = rt.task(()).submit(|(), _| -> u8 { panic!("provoked: awaited") }).await;
    assert!(matches!(failed, Err(JoinError::Panicked(payload)) if payload.message() == "provoked: awaited"));
}

#[test]
fn handles_are_awaited_in_tokio_on_one_thread() {
    let _watched = watchdog();
    for workers in [1, 2, 4] {
        let rt = threads(workers);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(spawn_and_await(&rt));
    }
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "tokio's own locks are in compiled code of std, unseen")]
fn handles_are_awaited_in_tokio_on_several_threads() {
    let _watched = watchdog();
    let rt = Arc::new(threads(2));
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
    tokio.block_on(async {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let rt = rt.clone();
                tokio::spawn(async move { spawn_and_await(&rt).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_dropped_handle_detaches_its_task() {
    on_all(|setting| {
        let rt = setting.build();
        let (gate, all) = Gate::new(&rt, 100);
        for _ in 0..100 {
            let gate = gate.clone();
            drop(rt.task(()).submit(move |(), _| gate.pass()));
        }
        all.join().unwrap();
    });
}

#[test]
fn is_finished_says_if_the_result_is_there() {
    let _watched = watchdog();
    let rt = threads(1);
    let go = occupy(&rt, 0);
    let task = rt.task(()).submit(|(), _| 5);
    assert!(!task.is_finished());
    go.set();
    eventually("finished", || task.is_finished());
    assert_eq!(task.join().unwrap(), 5);
}

/// Either the cancellation or the start wins, and the handle says which.
#[test]
fn a_task_is_cancelled_before_its_start_or_not_at_all() {
    on_all(|setting| {
        let rt = setting.build();
        let ran = Arc::new(AtomicUsize::new(0));
        let mut cancelled = 0;
        for round in 0..200 {
            let seen = ran.clone();
            let task = rt.task(()).submit(move |(), _| _ = seen.fetch_add(1, SeqCst));
            (0..round % 10).for_each(|_| let_others_in());
            let in_time = task.cancel();
            cancelled += usize::from(in_time);
            assert_eq!(matches!(task.join(), Err(JoinError::Cancelled)), in_time);
        }
        assert_eq!(ran.load(SeqCst), 200 - cancelled);
        // In a simulation, tasks run only while a thread waits.
        assert!(matches!(setting, Setting::Threads { .. }) || cancelled == 200);
    });
}

#[test]
fn every_kind_of_task_can_be_cancelled() {
    on_all(|setting| {
        let rt = setting.build();
        let (a, b) = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(SpinLatch).build());
        let (c, d) = (
            rt.snapshot(0u64).pin(OptimisticSequenced).build(),
            rt.versioned(Pair::default()).pin(OptimisticLatched).build(),
        );
        let run: fn() = || unreachable!("it was cancelled");
        let go: Vec<_> = match setting {
            Setting::Threads { workers } => (0..workers).map(|core| occupy(&rt, core as u16)).collect(),
            Setting::Simulation { .. } => Vec::new(),
        };
        let tasks = [
            rt.task(a.write()).submit(move |_, _| run()),
            rt.task(b.read()).submit(move |_, _| run()),
            rt.task(c.read()).submit(move |_, _| run()),
            rt.task(d.read()).submit_read(|pair| pair.0.get(), move |_, _| run()),
            rt.task((a.write(), b.write(), c.write(), d.write())).submit(move |_, _| run()),
        ];
        assert!(tasks.iter().all(Handle::cancel));
        go.iter().for_each(Flag::set);
        for (task, what) in tasks.into_iter().zip(["sequenced", "latched", "copied", "read", "several"]) {
            assert!(matches!(task.join(), Err(JoinError::Cancelled)), "{what}");
        }
        // The objects have been released.
        let last = rt.task((a.write(), b.write(), c.write(), d.write())).submit(|_, _| 1);
        assert_eq!(last.join().unwrap(), 1);
    });
}

#[test]
fn a_cancellation_that_comes_too_late_returns_false() {
    let _watched = watchdog();
    let rt = threads(1);
    let (inside, go) = (Flag::default(), Flag::default());
    let (i, g) = (inside.clone(), go.clone());
    let task = rt.task(()).submit(move |(), _| {
        i.set();
        g.wait();
        7
    });
    inside.wait();
    assert!(!task.cancel());
    go.set();
    assert_eq!(task.join().unwrap(), 7);
    let task = rt.task(()).submit(|(), _| 8);
    eventually("finished", || task.is_finished());
    assert!(!task.cancel());
    assert_eq!(task.join().unwrap(), 8);
}

#[test]
fn a_worker_does_not_wait_for_its_own_runtime() {
    on_all(|setting| {
        let rt = setting.build();
        let inner = rt.task(()).submit(|(), _| 1);
        let outer = rt.task(()).submit(move |(), _| matches!(inner.join(), Err(JoinError::WouldBlock)));
        assert!(outer.join().unwrap());
    });
    // A worker of another runtime may block.
    let _watched = watchdog();
    let (one, two) = (threads(1), threads(1));
    let inner = two.task(()).submit(|(), _| 3);
    assert_eq!(one.task(()).submit(move |(), _| inner.join().unwrap()).join().unwrap(), 3);
}

/// A waker that counts its wake-ups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let _watched = watchdog();
    let rt = threads(1);
    let go = occupy(&rt, 0);
    let mut task = pin!(rt.task(()).submit(|(), _| 9));
    let bells: Vec<Arc<Bell>> = (0..3).map(|_| Arc::default()).collect();
    for bell in &bells {
        let waker = Waker::from(bell.clone());
        for _ in 0..3 {
            assert!(task.as_mut().poll(&mut PollContext::from_waker(&waker)).is_pending());
        }
    }
    go.set();
    eventually("woken", || bells[2].0.load(SeqCst) == 1);
    assert_eq!(bells.iter().map(|bell| bell.0.load(SeqCst)).collect::<Vec<_>>(), [0, 0, 1]);
    let ready = task.as_mut().poll(&mut PollContext::from_waker(Waker::noop()));
    assert!(matches!(ready, Poll::Ready(Ok(9))));
    // The worker may still be dropping the one that it has woken.
    eventually("all wakers are dropped", || bells.iter().all(|bell| Arc::strong_count(bell) == 1));
}

/// Polls with a new waker each time race with the completion: either the last waker is woken or the
/// result is ready.
#[test]
fn no_wake_up_is_lost_while_wakers_are_replaced() {
    let _watched = watchdog();
    let rt = threads(2);
    for _ in 0..800 / PATIENCE {
        let mut task = pin!(rt.task(()).submit(|(), _| 1));
        loop {
            let bell: Arc<Bell> = Arc::default();
            let waker = Waker::from(bell.clone());
            if task.as_mut().poll(&mut PollContext::from_waker(&waker)).is_ready() {
                break;
            }
            if task.is_finished() {
                eventually("the last waker is woken", || bell.0.load(SeqCst) == 1);
            }
        }
    }
}

#[test]
fn promises_are_kept_or_broken() {
    on_all(|setting| {
        let rt = setting.build();
        let (promise, handle) = rt.promise();
        fn pass_on(promise: Promise<u32>, left: u32, cx: &mut xtasking::Context) {
            if left == 0 {
                return promise.fulfil(77);
            }
            cx.task(()).core(left as u16).spawn(move |(), cx| pass_on(promise, left - 1, cx));
        }
        rt.task(()).spawn(move |(), cx| pass_on(promise, 20, cx));
        assert_eq!(handle.join().unwrap(), 77);
        let (promise, handle) = rt.promise::<u32>();
        rt.task(()).spawn(move |(), _| drop(promise));
        assert!(matches!(handle.join(), Err(JoinError::Abandoned)));
        // A promise has no start: it can be cancelled until it is fulfilled.
        let (promise, handle) = rt.promise();
        assert!(handle.cancel());
        promise.fulfil(1);
        assert!(!handle.cancel() && handle.is_finished());
        assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    });
}

#[test]
fn handles_describe_what_they_refer_to() {
    let rt = Setting::Simulation { cores: 3, seed: 1 }.build();
    let object = rt.plain(0).pin(SpinLatch).build();
    assert_eq!(format!("{rt:?}"), "Runtime { workers: 3, .. }");
    assert_eq!(
        format!("{object:?}"),
        format!("Object {{ primitive: SpinLatch, home: {}, .. }}", object.home())
    );
    let (promise, handle) = rt.promise();
    assert_eq!(format!("{handle:?}"), "Handle { finished: false, .. }");
    promise.fulfil(1);
    assert_eq!(format!("{handle:?}"), "Handle { finished: true, .. }");
    let arena = Arena::with_primitive(&rt, Sequencing);
    let link = arena.alloc_outside(Pair::default());
    assert_eq!(format!("{link:?}"), format!("Link({:#x})", link.to_word()));
    assert_eq!(arena.primitive(), Primitive::Sequencing);
    drop(arena);
}
