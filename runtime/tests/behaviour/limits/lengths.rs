//! How many tasks there are at once, and when their room comes back.

use super::{Live, is_unused, occupy};
use crate::common::{Setting, eventually, let_others_in, on_all, on_each, silence_tasks, watchdog};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context as PollContext, Wake, Waker};
use std::thread;
use xtasking::limit::{Limit, LimitError};
use xtasking::primitive::Sequencing;
use xtasking::{JoinError, Runtime, Shutdown};

#[test]
fn live_tasks_never_exceed_the_bound_of_a_runtime() {
    const MOST: usize = 16;
    on_all(|setting| {
        let rt = setting.builder().most_tasks(MOST).build().unwrap();
        let live = Live::default();
        for number in 0..500 {
            let task = rt.task(()).reserve_blocking().unwrap();
            assert!(live.begin() <= MOST);
            let ended = live.clone();
            task.spawn(move |(), _| {
                if number % 7 == 0 {
                    let_others_in();
                }
                ended.end();
            });
        }
        let limit = rt.task_limit().unwrap().clone();
        rt.shutdown(Shutdown::Drain);
        assert!(is_unused(Some(&limit)));
    });
}

#[test]
fn live_tasks_never_exceed_the_bounds_of_a_group_and_an_object() {
    on_all(|setting| {
        let rt = setting.build();
        let object = rt.plain(0).most_tasks(3).build();
        let group = rt.group().most_tasks(5);
        let (in_group, at_object) = (Live::default(), Live::default());
        for number in 0..300 {
            let (group_ended, object_ended) = (in_group.clone(), at_object.clone());
            if number % 2 == 0 {
                let task = rt.task(object.write()).of(&group).reserve_blocking().unwrap();
                assert!(at_object.begin() <= 3 && in_group.begin() <= 5);
                task.spawn(move |value, _| {
                    *value += 1;
                    object_ended.end();
                    group_ended.end();
                });
            } else {
                let task = rt.task(()).of(&group).reserve_blocking().unwrap();
                assert!(in_group.begin() <= 5);
                task.spawn(move |(), _| group_ended.end());
            }
        }
        let limit = group.task_limit().cloned();
        group.wait().unwrap();
        assert_eq!(rt.task(object.read()).submit(|value, _| *value).join().unwrap(), 150);
        assert!(is_unused(limit.as_ref()) && is_unused(object.task_limit()));
    });
}

/// The consumer does not run at all while the producer spawns what it can.
#[test]
fn a_producer_that_is_too_fast_keeps_memory_flat() {
    const MOST: usize = 64;
    const MEMORY: u64 = 1 << 20;
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.builder().counters(true).most_tasks(MOST).build().unwrap();
    let object = rt.plain(0usize).pin(Sequencing).build();
    let page_bytes = || rt.counters().unwrap().allocations.page_bytes;
    let go = occupy(&rt, 2);
    let spawned = |_: &usize| {
        let mut body = Some([1usize; 16]);
        let task = rt.task(object.write());
        match task.try_spawn(move |sum, _| *sum += body.take().map_or(0, |body| body[15])) {
            Ok(()) => true,
            Err(refused) => {
                assert_eq!(refused.error, LimitError::Full);
                false
            }
        }
    };
    assert_eq!((0..50_000).filter(spawned).count(), MOST);
    assert!(page_bytes() <= MEMORY, "{} bytes", page_bytes());
    assert!(rt.unfinished_tasks() >= MOST as u64 + 2);
    go.set();
    for _ in 0..20_000 {
        rt.task(object.write()).reserve_blocking().unwrap().spawn(|sum, _| *sum += 1);
    }
    assert_eq!(rt.task(object.read()).submit(|sum, _| *sum).join().unwrap(), MOST + 20_000);
    assert!(page_bytes() <= MEMORY, "{} bytes", page_bytes());
    eventually("finished", || rt.unfinished_tasks() == 0);
}

#[test]
fn room_comes_back_whatever_the_end_of_the_task() {
    silence_tasks();
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.builder().most_tasks(1).on_failure(drop).build().unwrap();
    let object = rt.plain(0).most_tasks(1).build();
    let limits = [rt.task_limit().unwrap().clone(), object.task_limit().unwrap().clone()];
    let used = || limits.each_ref().map(Limit::used);
    let task = || rt.task(object.write()).try_reserve().unwrap();
    drop(task());
    assert_eq!(used(), [0, 0], "a builder was dropped");
    task().submit(|_, _| ()).join().unwrap();
    assert_eq!(used(), [0, 0], "a task has run");
    task().spawn(|_, _| panic!("provoked"));
    eventually("a task has panicked", || used() == [0, 0] && object.is_poisoned());
    assert!(matches!(task().submit(|_, _| ()).join(), Err(JoinError::Poisoned)));
    assert_eq!(used(), [0, 0], "a task has met a poisoned object");
    object.clear_poison();
    let go = occupy(&rt, 1);
    let cancelled = task().submit(|_, _| ());
    assert!(cancelled.cancel());
    assert_eq!(used(), [1, 1], "a cancelled task takes memory until its turn");
    go.set();
    assert!(matches!(cancelled.join(), Err(JoinError::Cancelled)));
    assert_eq!(used(), [0, 0], "a task was cancelled");
    let go = occupy(&rt, 1);
    let (handle, last) = (task().submit(|_, _| ()), limits.clone());
    let ender = thread::spawn(move || rt.shutdown(Shutdown::Cancel));
    // The phase is set before waits end.
    eventually("closed", || last[0].try_acquire().err() == Some(LimitError::ShutDown));
    go.set();
    assert!(matches!(handle.join(), Err(JoinError::Cancelled)));
    ender.join().unwrap();
    assert_eq!(used(), [0, 0], "a shutdown has cancelled a task");
}

#[test]
fn room_comes_back_if_there_is_no_memory_for_the_task() {
    let _watched = watchdog();
    let rt = Runtime::builder().workers(1).memory_limit(0).most_tasks(1).build().unwrap();
    let refused = rt.task(()).try_submit(|(), _| ()).unwrap();
    assert!(matches!(refused.join(), Err(JoinError::OutOfMemory)));
    assert!(is_unused(rt.task_limit()));
}

/// The waker of a handle looks whether there is room, in the thread that delivers the result.
#[test]
fn a_result_comes_after_the_room() {
    struct Look(Limit, AtomicUsize);
    impl Wake for Look {
        fn wake(self: Arc<Self>) {
            self.1.store(1 + self.0.used(), SeqCst);
        }
    }
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.builder().most_tasks(1).build().unwrap();
    let look = Arc::new(Look(rt.task_limit().unwrap().clone(), AtomicUsize::new(0)));
    let waker = Waker::from(look.clone());
    let go = occupy(&rt, 1);
    let mut task = rt.task(()).try_submit(|(), _| ()).unwrap();
    assert!(Pin::new(&mut task).poll(&mut PollContext::from_waker(&waker)).is_pending());
    go.set();
    eventually("delivered", || look.1.load(SeqCst) != 0);
    assert_eq!(look.1.load(SeqCst), 1, "there is room when the result comes");
}

#[test]
fn joined_tasks_leave_room_for_the_next() {
    on_all(|setting| {
        let rt = setting.builder().most_tasks(1).build().unwrap();
        for number in 0..200 {
            assert_eq!(rt.task(()).try_submit(move |(), _| number).unwrap().join().unwrap(), number);
        }
    });
}

#[test]
fn a_refused_task_gives_its_body_back() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.build();
    let object = rt.plain(Vec::new()).most_tasks(1).build();
    let room = rt.task(object.write()).try_reserve().unwrap();
    let text = String::from("kept");
    let refused = rt.task(object.write()).try_submit(move |texts: &mut Vec<_>, _| texts.push(text));
    let refused = refused.unwrap_err();
    assert_eq!(refused.error, LimitError::Full);
    drop(room);
    rt.task(object.write()).try_submit(refused.body).unwrap().join().unwrap();
    let texts = rt.task(object.read()).submit(|texts, _| texts.clone()).join().unwrap();
    assert_eq!(texts, ["kept"]);
}

#[test]
fn room_is_reserved_for_claims_and_for_tasks_after_a_group() {
    on_each(
        [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 3 }].into_iter(),
        |setting| {
            let rt = setting.builder().most_tasks(2).build().unwrap();
            let granules = rt.granules_of([0u32; 4]);
            for _ in 0..50 {
                let task = rt.task(()).reserve_blocking().unwrap().claim(granules.write(1..3));
                task.spawn_with(|(), mut held, _| *held.get_mut(1) += 1);
                let task = rt.task(()).claim(granules.write(1..3)).reserve_blocking().unwrap();
                task.spawn(|(), _| ());
            }
            let sum = rt.task(()).claim(granules.read(1..2)).submit_with(|(), held, _| *held.get(1));
            assert_eq!(sum.join().unwrap(), 50);
            let group = rt.group();
            rt.task(()).of(&group).reserve_blocking().unwrap().spawn(|(), _| ());
            let after = rt.task(()).after(group).reserve_blocking().unwrap().submit(|(), _| 3);
            assert_eq!(after.join().unwrap(), 3);
            let limit = rt.task_limit().cloned();
            rt.shutdown(Shutdown::Drain);
            assert!(is_unused(limit.as_ref()));
        },
    );
}

#[test]
fn a_request_of_several_tasks_keeps_its_permit() {
    on_all(|setting| {
        let rt = setting.build();
        let (requests, live) = (rt.limit(4), Live::default());
        for _ in 0..100 {
            let permit = requests.acquire_blocking().unwrap();
            assert!(live.begin() <= 4);
            let ended = live.clone();
            rt.task(()).spawn(move |(), cx| {
                cx.task(()).spawn(move |(), cx| {
                    cx.task(()).spawn(move |(), _| {
                        ended.end();
                        drop(permit);
                    });
                });
            });
        }
        rt.shutdown(Shutdown::Drain);
        assert!(is_unused(Some(&requests)));
    });
}
