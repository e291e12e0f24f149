//! Calls: a thread outside runs a task itself where the objects are free, with the isolation of a
//! task.

use crate::common::{Dropped, Flag, PATIENCE, Pair, Setting, on_all, side_by_side, silence_tasks, watchdog};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::thread;
use xtasking::{
    Context as RunsOn, JoinError, Object, Plain, Runtime,
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
};

/// Returns true if a call that writes the object, and one that reads it, run on this thread.
macro_rules! runs_here {
    ($rt:expr, $object:expr) => {{
        let (object, caller) = ($object.build(), thread::current().id());
        let wrote = $rt.task(object.write()).call(move |_| thread::current().id() == caller);
        let read = $rt.task(object.read()).call(move |_| thread::current().id() == caller);
        let both = $rt.task((object.read(), object.read()));
        let both = both.call(move |_| thread::current().id() == caller).join().unwrap();
        let (wrote, read) = (wrote.join().unwrap(), read.join().unwrap());
        assert!(wrote == read && read == both);
        wrote
    }};
}

#[test]
fn a_call_runs_in_place_at_latched_objects_only() {
    let rt = Setting::Threads { workers: 2 }.build();
    assert!(runs_here!(rt, rt.plain(0).pin(SpinLatch)));
    assert!(runs_here!(rt, rt.shared_reads(0).pin(SpinLatch)));
    assert!(runs_here!(rt, rt.shared_reads(0).pin(ReaderWriterLatch)));
    assert!(runs_here!(rt, rt.snapshot(0u64).pin(OptimisticLatched)));
    assert!(runs_here!(rt, rt.versioned(Pair::default()).pin(OptimisticLatched)));
    assert!(!runs_here!(rt, rt.plain(0).pin(Sequencing)));
    assert!(!runs_here!(rt, rt.snapshot(0u64).pin(OptimisticSequenced)));
    let caller = thread::current().id();
    assert!(!rt.task(()).call(move |()| thread::current().id() == caller).join().unwrap());
}

/// Calls and tasks move amounts between accounts; none is lost, and each sum is of one moment.
#[test]
fn calls_are_isolated_from_tasks_and_from_each_other() {
    const MOVES: usize = if PATIENCE == 1 { 300 } else { 75 };
    on_all(|setting| {
        let rt = setting.build();
        transfers(&rt, |value| rt.plain(value).pin(SpinLatch).build());
        transfers(&rt, |value| rt.plain(value).pin(Sequencing).build());
        let accounts = [(); 3].map(|()| rt.shared_reads(10).pin(ReaderWriterLatch).build());
        let snapshots = [(); 2].map(|()| rt.snapshot(10i64).pin(OptimisticLatched).build());
        for turn in 0..MOVES {
            let [from, to] = [turn % 3, (turn + 1) % 3].map(|at| accounts[at].write());
            rt.task((from, to)).call(|(from, to)| (*from, *to) = (*from - 1, *to + 1)).join().unwrap();
            let both = (snapshots[turn % 2].write(), snapshots[(turn + 1) % 2].write());
            rt.task(both).spawn(|(from, to), _| (*from, *to) = (*from - 1, *to + 1));
            let all: Vec<_> = accounts.iter().map(|account| account.read()).collect();
            assert_eq!(rt.task(all).call(|all| all.into_iter().sum::<i64>()).join().unwrap(), 30);
            let all = (snapshots[0].read(), snapshots[1].read());
            assert_eq!(rt.task(all).call(|(one, other)| one + other).join().unwrap(), 20);
        }
    });

    fn transfers(rt: &Runtime, account: impl Fn(i64) -> Object<Plain<i64>>) {
        let accounts = [10, 20, 30].map(account);
        let transfer = &|thread: usize| {
            for turn in 0..MOVES {
                let [from, to] = [turn * thread % 3, (turn * thread + 1) % 3].map(|at| accounts[at].write());
                let moves = |from: &mut i64, to: &mut i64| (*from, *to) = (*from - 1, *to + 1);
                if (turn + thread).is_multiple_of(4) {
                    rt.task((from, to)).spawn(move |(from, to), _| moves(from, to));
                } else {
                    rt.task((from, to)).call(move |(from, to)| moves(from, to)).join().unwrap();
                }
                let all: Vec<_> = accounts.iter().map(|account| account.read()).collect();
                assert_eq!(rt.task(all).call(|all| all.into_iter().sum::<i64>()).join().unwrap(), 60);
            }
        };
        side_by_side((1..=3).map(|thread| move || transfer(thread)));
    }
}

#[test]
fn a_call_at_a_busy_object_becomes_a_task() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    // Whichever of the two has the smaller address, one order enters the free object first.
    for order in [false, true] {
        let objects = [(); 2].map(|()| rt.plain(0).pin(SpinLatch).build());
        let (busy, free) = (&objects[usize::from(order)], &objects[usize::from(!order)]);
        let (entered, leave) = (Flag::default(), Flag::default());
        let (inside, waits) = (entered.clone(), leave.clone());
        let holder = rt.task(busy.write()).submit(move |busy, _| {
            inside.set();
            waits.wait();
            *busy = 7;
        });
        entered.wait();
        let call = rt.task((busy.read(), free.write())).call(|(busy, free)| {
            *free = *busy;
            *free
        });
        assert!(!call.is_finished());
        leave.set();
        assert_eq!(call.join().unwrap(), 7);
        holder.join().unwrap();
        assert_eq!(rt.task(free.read()).call(|free| *free).join().unwrap(), 7);
    }
}

/// A task that holds an object calls at it: it neither deadlocks nor gets in twice.
#[test]
fn a_call_inside_a_task_at_its_own_object_runs_later() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 1 }.build();
    let object = Arc::new(rt.plain(1).pin(SpinLatch).build());
    let (handle, same) = (rt.handle(), object.clone());
    let call = rt.task(object.write()).submit(move |value, _| {
        let call = handle.task(same.read()).call(|value| *value);
        assert!(!call.is_finished());
        *value = 2;
        call
    });
    assert_eq!(call.join().unwrap().join().unwrap(), 2);
}

#[test]
fn a_panic_in_place_poisons_what_was_written() {
    silence_tasks();
    on_all(|setting| {
        let rt = setting.build();
        let (written, read) = (rt.plain(0).pin(SpinLatch).build(), rt.plain(0).pin(SpinLatch).build());
        let drops = Arc::new(AtomicUsize::new(0));
        let captured = Dropped(drops.clone());
        let call = rt.task((written.write(), read.read())).call(move |_| {
            let _captured = captured;
            panic!("provoked")
        });
        let Err(JoinError::Panicked(payload)) = call.join() else { panic!("the call has not failed") };
        assert_eq!(payload.message(), "provoked");
        let captured = Dropped(drops.clone());
        let refused = rt.task(written.write()).call(move |_| drop(captured)).join();
        assert!(matches!(refused, Err(JoinError::Poisoned)), "{refused:?}");
        assert_eq!(drops.load(SeqCst), 2);
        assert_eq!(rt.task(read.read()).call(|read| *read).join().unwrap(), 0);
        written.clear_poison();
        assert_eq!(rt.task(written.read()).call(|written| *written).join().unwrap(), 0);
    });
}

#[test]
fn a_call_is_a_future_that_is_ready_once_it_has_run() {
    let rt = Setting::Threads { workers: 1 }.build();
    let object = rt.plain(3).pin(SpinLatch).build();
    let mut call = pin!(rt.task(object.read()).call(|value| *value));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(call.as_mut().poll(&mut context), Poll::Ready(Ok(3))));
    assert!(matches!(call.as_mut().poll(&mut context), Poll::Ready(Err(JoinError::Abandoned))));
}

#[test]
fn a_call_after_the_end_is_refused() {
    let rt = Setting::Threads { workers: 1 }.build();
    let (handle, object) = (rt.handle(), rt.plain(3).pin(SpinLatch).build());
    drop(rt);
    let late = handle.task(object.read()).call(|value| *value).join();
    assert!(matches!(late, Err(JoinError::ShutDown)), "{late:?}");
}

/// Adds a task's number to the lists in order, from `next` on: in place, or else by a follow-up.
fn add_in_order(lists: Arc<Vec<Object<Plain<Vec<usize>>>>>, task: usize, mut next: usize, cx: &mut RunsOn) {
    while let Some(list) = lists.get(next) {
        if cx.task(list.write()).try_call(|list| list.push(task)).is_err() {
            let all = lists.clone();
            return cx.task(list.write()).as_sibling().spawn(move |list, cx| {
                list.push(task);
                add_in_order(all, task, next + 1, cx);
            });
        }
        next += 1;
    }
}

/// No addition is lost or made twice, whether a task was in place or had to wait.
#[test]
fn tasks_call_at_objects_in_place_with_the_isolation_of_a_task() {
    const TASKS: usize = 20;
    on_all(|setting| {
        let rt = setting.build();
        let lists: Arc<Vec<_>> =
            Arc::new((0..10).map(|_| rt.plain(Vec::new()).pin(SpinLatch).build()).collect());
        let group = rt.group();
        for task in 0..TASKS {
            let lists = lists.clone();
            rt.task(()).of(&group).spawn(move |(), cx| add_in_order(lists, task, 0, cx));
        }
        let all: Vec<_> = lists.iter().map(|list| list.write()).collect();
        let check = rt.task(all).after(group).submit(|lists, _| {
            for list in lists {
                list.sort_unstable();
                assert!(list.iter().copied().eq(0..TASKS));
            }
        });
        check.join().unwrap();
    });
}

#[test]
fn a_body_comes_back_where_it_would_have_to_wait() {
    let rt = Setting::Threads { workers: 1 }.build();
    let latched = Arc::new(rt.plain(1).pin(SpinLatch).build());
    let sequenced = Arc::new(rt.plain(1).pin(Sequencing).build());
    let (free, same) = (rt.shared_reads(5).pin(ReaderWriterLatch).build(), latched.clone());
    let task = rt.task(latched.write()).submit(move |value, cx| {
        // The running task is inside.
        assert!(cx.task(same.write()).try_call(|value| *value = 7).is_err());
        assert!(cx.task((free.read(), same.read())).try_call(|_| ()).is_err());
        assert!(cx.task(sequenced.write()).try_call(|value| *value = 7).is_err());
        assert!(cx.task(()).try_call(|()| ()).is_err());
        // What it has entered first is free again.
        let sum = cx.task(vec![free.write()]).try_call(|mut all| {
            *all[0] += 1;
            *all[0] + *value
        });
        sum.map_err(drop).unwrap()
    });
    assert_eq!(task.join().unwrap(), 7);
    let simulated = Setting::Simulation { cores: 1, seed: 1 }.build();
    let object = simulated.plain(1).pin(SpinLatch).build();
    let body = simulated.task(()).submit(move |(), cx| cx.task(object.write()).try_call(|_| ()).is_err());
    assert!(body.join().unwrap());
}

#[test]
fn a_panic_in_a_body_in_place_is_one_of_the_running_task() {
    silence_tasks();
    let rt = Setting::Threads { workers: 1 }.build();
    let object = Arc::new(rt.plain(0).pin(SpinLatch).build());
    let same = object.clone();
    let failed = rt.task(()).submit(move |(), cx| {
        _ = cx.task(same.write()).try_call(|value| {
            *value = 1;
            panic!("provoked")
        });
    });
    let Err(JoinError::Panicked(payload)) = failed.join() else { panic!("the task has not failed") };
    assert_eq!(payload.message(), "provoked");
    let same = object.clone();
    let refused = rt.task(()).submit(move |(), cx| cx.task(same.write()).try_call(|_| ()).is_err());
    assert!(refused.join().unwrap() && object.is_poisoned());
    object.clear_poison();
    assert_eq!(rt.task(object.read()).submit(|value, _| *value).join().unwrap(), 1);
}
