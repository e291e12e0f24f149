//! What a cancelled task has captured is dropped at once, not at the task's turn.

use crate::common::{Dropped, Flag, Pair, Setting, let_others_in, on_all, silence_tasks, watchdog};
use crate::deadlines::occupy_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use xtasking::{
    Handle, JoinError, Runtime, Shutdown,
    primitive::{OptimisticLatched, OptimisticSequenced, Sequencing, SpinLatch},
};

/// Handles of tasks of all kinds with a body that runs once. Each has captured a value, 11 in all.
fn submit_all(rt: &Runtime, drops: &Arc<AtomicUsize>) -> Vec<Handle<()>> {
    let (a, b) = (rt.plain(0).pin(Sequencing).build(), rt.plain(0).pin(SpinLatch).build());
    let (c, d) = (
        rt.snapshot(0u64).pin(OptimisticSequenced).build(),
        rt.versioned(Pair::default()).pin(OptimisticLatched).build(),
    );
    let granules = rt.granules_of([0, 1]);
    let mut tasks = Vec::new();
    macro_rules! submit {
        ($($access:expr),+) => {$({
            let captured = Dropped(drops.clone());
            tasks.push(rt.task($access).submit(move |_, _| drop(captured)));
        })+};
    }
    submit!(
        (),
        a.write(),
        b.read(),
        c.read(),
        c.write(),
        d.write(),
        (a.write(), b.write()),
        (a.read(), d.write())
    );
    // Too large for a descriptor.
    let (captured, large) = (Dropped(drops.clone()), [7u64; 100]);
    tasks.push(rt.task(a.write()).submit(move |value, _| {
        *value += large[99];
        drop(captured);
    }));
    let captured = Dropped(drops.clone());
    tasks.push(rt.task(d.read()).submit_read(|pair| pair.0.get(), move |_, _| drop(captured)));
    let captured = Dropped(drops.clone());
    let claim = granules.write(0..2);
    tasks.push(rt.task(()).claim(claim).submit_with(move |_, _, _| drop(captured)));
    tasks
}

#[test]
fn captures_of_a_cancelled_task_are_dropped_at_once() {
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let busy = occupy_all(setting, &rt);
        for (number, task) in submit_all(&rt, &drops).into_iter().enumerate() {
            assert!(task.cancel(), "task {number} has not started");
            assert_eq!(drops.load(SeqCst), number + 1);
            // Once only.
            assert!(task.cancel());
            drop(task.cancel_on_drop());
            assert_eq!(drops.load(SeqCst), number + 1);
        }
        // Others are dropped with their guard, and their shells are cancelled in turn.
        let cancelled = submit_all(&rt, &drops);
        drop(cancelled.into_iter().map(Handle::cancel_on_drop).collect::<Vec<_>>());
        assert_eq!(drops.load(SeqCst), 22);
        let cancelled = submit_all(&rt, &drops);
        assert!(cancelled.iter().all(Handle::cancel));
        busy.iter().for_each(Flag::set);
        for task in cancelled {
            assert!(matches!(task.join(), Err(JoinError::Cancelled)));
        }
        rt.shutdown(Shutdown::Drain);
        assert_eq!(drops.load(SeqCst), 33);
    });
}

/// A task is cancelled while a worker comes to it: its capture is dropped once, by either.
#[test]
fn captures_are_dropped_once_beside_a_worker() {
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        for round in 0..100 {
            let tasks = submit_all(&rt, &drops);
            (0..round % 10).for_each(|_| let_others_in());
            let cancelled: Vec<_> = tasks.iter().map(Handle::cancel).collect();
            for (task, cancelled) in tasks.into_iter().zip(cancelled) {
                assert_eq!(matches!(task.join(), Err(JoinError::Cancelled)), cancelled);
            }
            assert_eq!(drops.load(SeqCst), (round + 1) * 11);
        }
    });
}

struct PanicsInDrop(Arc<AtomicUsize>);

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        panic!("provoked: drop");
    }
}

#[test]
fn a_capture_that_panics_when_dropped_harms_nothing() {
    silence_tasks();
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let object = rt.plain(0).pin(Sequencing).build();
        let busy = occupy_all(setting, &rt);
        let captured = PanicsInDrop(drops.clone());
        let task = rt.task(object.write()).submit(move |_, _| _ = &captured);
        // The panic is no panic of this thread.
        assert!(task.cancel());
        assert_eq!(drops.load(SeqCst), 1);
        busy.iter().for_each(Flag::set);
        assert!(matches!(task.join(), Err(JoinError::Cancelled)));
        assert_eq!(rt.task(object.read()).submit(|value, _| *value).join().unwrap(), 0);
    });
}

/// A capture may hold the handle of its own task, or cancel other tasks when it is dropped.
#[test]
fn captures_may_cancel_tasks_when_they_are_dropped() {
    on_all(|setting| {
        let drops = Arc::new(AtomicUsize::new(0));
        let rt = setting.build();
        let busy = occupy_all(setting, &rt);
        let mut chain: Option<xtasking::cancellation::CancelOnDrop<()>> = None;
        for _ in 0..50 {
            let captured = (Dropped(drops.clone()), chain.take());
            chain = Some(rt.task(()).submit(move |(), _| drop(captured)).cancel_on_drop());
        }
        drop(chain);
        assert_eq!(drops.load(SeqCst), 50);
        busy.iter().for_each(Flag::set);
    });
}

#[test]
fn a_handle_on_another_thread_drops_captures_there() {
    struct DroppedOn(Arc<std::sync::Mutex<Option<thread::ThreadId>>>);
    impl Drop for DroppedOn {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(thread::current().id());
        }
    }
    let _watched = watchdog();
    let setting = Setting::Threads { workers: 2 };
    let rt = setting.build();
    let busy = occupy_all(setting, &rt);
    let place = Arc::default();
    let captured = DroppedOn(Arc::clone(&place));
    let task = rt.task(()).submit(move |(), _| drop(captured));
    let canceller = thread::spawn(move || drop(task.cancel_on_drop()));
    let id = canceller.thread().id();
    canceller.join().unwrap();
    assert_eq!(*place.lock().unwrap(), Some(id));
    busy.iter().for_each(Flag::set);
}
