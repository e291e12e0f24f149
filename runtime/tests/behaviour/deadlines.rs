//! Deadlines, waits with a limit, and handles that cancel their task.

use crate::common::{Dropped, Flag, Pair, Setting, eventually, on_all, watchdog};
use crate::handles::occupy;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context as PollContext, Waker};
use std::time::Duration;
use xtasking::platform::{Costs, Simulation};
use xtasking::{
    Handle, JoinError, Runtime,
    primitive::{OptimisticLatched, OptimisticSequenced, Sequencing, SpinLatch},
};

const LONG: Duration = Duration::from_secs(3600);

/// Keeps all workers busy until the flags are set. In a simulation nothing runs anyway.
pub fn occupy_all(setting: Setting, rt: &Runtime) -> Vec<Flag> {
    match setting {
        Setting::Threads { workers } => (0..workers).map(|core| occupy(rt, core as u16)).collect(),
        Setting::Simulation { .. } => Vec::new(),
    }
}

#[test]
fn a_dropped_guard_cancels_its_task() {
    on_all(|setting| {
        let (ran, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let rt = setting.build();
        let busy = occupy_all(setting, &rt);
        let submit = || {
            let (ran, captured) = (ran.clone(), Dropped(drops.clone()));
            rt.task(()).submit(move |(), _| {
                ran.fetch_add(1, SeqCst);
                drop(captured);
            })
        };
        drop(submit().cancel_on_drop());
        // A future that was polled, and is dropped at a timeout or because a client has gone.
        let mut request = Box::pin(async { submit().cancel_on_drop().await });
        assert!(request.as_mut().poll(&mut PollContext::from_waker(Waker::noop())).is_pending());
        drop(request);
        let kept = submit().cancel_on_drop().detach();
        let explicit = submit().cancel_on_drop();
        assert!(explicit.cancel() && !explicit.is_finished());
        busy.iter().for_each(Flag::set);
        assert!(matches!(explicit.join(), Err(JoinError::Cancelled)));
        kept.join().unwrap();
        drop(rt);
        assert_eq!((ran.load(SeqCst), drops.load(SeqCst)), (1, 4));
    });
}

#[test]
fn a_guard_returns_the_result() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    assert_eq!(rt.task(()).submit(|(), _| 3).cancel_on_drop().join().unwrap(), 3);
    let awaited = async { rt.task(()).submit(|(), _| 4).cancel_on_drop().await };
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(tokio.block_on(awaited).unwrap(), 4);
    // Too late to cancel: the task has started, and its effects stay.
    let (inside, go, done) = (Flag::default(), Flag::default(), Flag::default());
    let (i, g, d) = (inside.clone(), go.clone(), done.clone());
    let task = rt.task(()).submit(move |(), _| {
        i.set();
        g.wait();
        d.set();
    });
    inside.wait();
    drop(task.cancel_on_drop());
    go.set();
    eventually("the task ends", || done.is_set());
}

/// Handles of tasks of each kind.
fn tasks_of_all_kinds(rt: &Runtime, limit: Duration) -> [Handle<()>; 8] {
    let (a, b) = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(SpinLatch).build());
    let (c, d) = (
        rt.snapshot(0u64).pin(OptimisticSequenced).build(),
        rt.versioned(Pair::default()).pin(OptimisticLatched).build(),
    );
    let granules = rt.granules_of([0, 1]);
    let inside = granules.clone();
    let before = rt.group();
    [
        rt.task(()).within(limit).submit(|(), _| ()),
        rt.task(a.write()).within(limit).submit(|_, _| ()),
        rt.task(b.read()).within(limit).submit(|_, _| ()),
        rt.task(c.read()).within(limit).submit(|_, _| ()),
        rt.task(d.read()).within(limit).submit_read(|pair| pair.0.get(), |_, _| ()),
        rt.task((a.write(), b.write(), c.write(), d.write())).within(limit).submit(|_, _| ()),
        rt.task(a.write()).within(limit).claim(inside.write(0..2)).submit_with(|_, _, _| ()),
        rt.task(a.write()).after(before).within(limit).submit(|_, _| ()),
    ]
}

#[test]
fn a_late_task_of_any_kind_does_not_run() {
    on_all(|setting| {
        let rt = setting.build();
        let late = tasks_of_all_kinds(&rt, Duration::ZERO);
        for (kind, task) in late.into_iter().enumerate() {
            let outcome = task.join();
            assert!(matches!(outcome, Err(JoinError::DeadlineExceeded)), "kind {kind}: {outcome:?}");
        }
        for task in tasks_of_all_kinds(&rt, LONG).into_iter().chain(tasks_of_all_kinds(&rt, Duration::MAX)) {
            task.join().unwrap();
        }
    });
}

#[test]
fn a_late_task_releases_its_objects_and_drops_its_captures() {
    on_all(|setting| {
        let rt = setting.build();
        let drops = Arc::new(AtomicUsize::new(0));
        let object = rt.plain(0).pin(Sequencing).build();
        let deadline = rt.deadline_in(Duration::ZERO);
        for round in 0..50 {
            let captured = Dropped(drops.clone());
            rt.task(object.write())
                .core(round)
                .deadline(deadline)
                .submit(move |_, _| drop(captured))
                .join()
                .unwrap_err();
            rt.task(object.write()).spawn(|value, _| *value += 1);
        }
        assert_eq!(rt.task(object.read()).submit(|value, _| *value).join().unwrap(), 50);
        assert_eq!(drops.load(SeqCst), 50);
    });
}

#[test]
fn a_late_task_without_a_handle_is_reported() {
    on_all(|setting| {
        let (tell, told) = mpsc::channel();
        let rt = setting.builder().on_failure(move |failure| tell.send(failure).unwrap()).build().unwrap();
        rt.task(()).within(Duration::ZERO).spawn(|(), _| unreachable!());
        let group = rt.group();
        rt.task(()).of(&group).within(Duration::ZERO).spawn(|(), _| unreachable!());
        rt.task(()).of(&group).within(LONG).spawn(|(), _| ());
        assert!(matches!(group.wait(), Err(JoinError::DeadlineExceeded)));
        // A follow-up, with the deadline that its parent has passed on.
        rt.task(()).spawn(|(), cx| {
            let deadline = cx.deadline_in(Duration::ZERO);
            cx.task(()).deadline(deadline).spawn(|(), _| unreachable!());
        });
        drop(rt);
        let failures: Vec<_> = told.iter().collect();
        assert_eq!(failures.len(), 2);
        assert!(failures.iter().all(|failure| matches!(failure.error, JoinError::DeadlineExceeded)));
    });
}

/// In virtual time it is certain which task is late.
#[test]
fn deadlines_hold_in_virtual_time() {
    for seed in 0..10 {
        let costs = Costs { task: 10, ..Costs::default() };
        let (simulation, clocks) = Simulation::with_costs(2, 1, seed, costs);
        let rt = Runtime::builder().platform(simulation).build().unwrap();
        let object = rt.plain(0).pin(Sequencing).build();
        rt.task(object.write()).spawn(move |_, _| clocks.spend(1000));
        let late = rt.task(object.write()).within(Duration::from_nanos(900)).submit(|_, _| ());
        let early = rt.task(object.write()).within(Duration::from_nanos(2000)).submit(|_, _| ());
        assert!(matches!(late.join(), Err(JoinError::DeadlineExceeded)));
        early.join().unwrap();
    }
}

#[test]
fn a_wait_with_a_limit_gives_the_handle_back() {
    on_all(|setting| {
        let rt = setting.build();
        let (promise, handle) = rt.promise();
        let deadline = rt.deadline_in(Duration::from_micros(100));
        let handle = handle.join_deadline(deadline).unwrap_err();
        // In a simulation the clock has moved on to the limit.
        assert!(rt.deadline_in(Duration::ZERO) >= deadline);
        let handle = handle.join_timeout(Duration::ZERO).unwrap_err();
        rt.task(()).spawn(move |(), _| promise.fulfil(5));
        assert_eq!(handle.join_timeout(LONG).expect("in time").unwrap(), 5);
        // Without a need to wait, the limit does not matter.
        let (promise, handle) = rt.promise();
        promise.fulfil(6);
        assert_eq!(handle.join_timeout(Duration::ZERO).expect("it is there").unwrap(), 6);
    });
}

#[test]
fn a_wait_with_a_limit_fails_on_a_worker() {
    on_all(|setting| {
        let rt = setting.build();
        let (_promise, inner) = rt.promise::<()>();
        let outer = rt.task(()).submit(move |(), _| inner.join_timeout(LONG).map_err(drop));
        assert!(matches!(outer.join().unwrap(), Ok(Err(JoinError::WouldBlock))));
    });
}

/// A platform without waits with a limit: the runtime polls.
#[test]
fn a_port_need_not_know_waits_with_a_limit() {
    use xtasking::platform::{Platform, Threads, WouldBlock};
    struct Plain(Threads);
    impl Platform for Plain {
        xtasking_testing::forward_platform!(0: topology start park wake join block pages now);
    }
    let _watched = watchdog();
    let rt = Runtime::builder().platform(Plain(Threads::new(1))).workers(1).build().unwrap();
    let (promise, handle) = rt.promise();
    let handle = handle.join_timeout(Duration::from_millis(1)).unwrap_err();
    rt.task(()).spawn(move |(), _| promise.fulfil(7));
    assert_eq!(handle.join_timeout(LONG).expect("in time").unwrap(), 7);
    let on_worker = rt.task(()).submit(|(), _| Threads::new(1).block_until(0, &mut |_| true));
    assert_eq!(on_worker.join().unwrap(), Ok::<_, WouldBlock>(true), "a worker of another platform");
}
