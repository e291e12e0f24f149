//! Handles and promises: each waiter is woken, in any order of events.

use crate::platform::{pause, runtime};
use crate::schedules::explore;
use shuttle::future::block_on;
use shuttle::thread;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use xtasking::JoinError;

#[test]
fn an_awaited_handle_wakes_its_task() {
    explore(|_| {
        let rt = Arc::new(runtime(2));
        let spawner = rt.clone();
        let other = thread::spawn(move || block_on(spawner.task(()).submit(|(), _| 3)).unwrap());
        let sum = async {
            rt.task(()).submit(|(), _| 1).await.unwrap() + rt.task(()).submit(|(), _| 2).await.unwrap()
        };
        assert_eq!(block_on(sum) + other.join().unwrap(), 6);
    });
}

#[test]
fn the_last_waker_counts() {
    explore(|_| {
        let rt = runtime(1);
        let (promise, handle) = rt.promise();
        rt.task(()).spawn(move |(), _| {
            pause();
            promise.fulfil(4);
        });
        let mut handle = pin!(handle);
        // First a waker registers that is dropped again; then the one that waits.
        let early = handle.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let late = match early {
            Poll::Ready(result) => result,
            Poll::Pending => block_on(poll_fn(|context| handle.as_mut().poll(context))),
        };
        assert_eq!(late.unwrap(), 4);
    });
}

#[test]
fn a_promise_is_kept_or_abandoned_in_any_order_of_drops() {
    explore(|_| {
        let rt = runtime(2);
        let runs = Arc::new(AtomicUsize::new(0));
        let (kept, result) = rt.promise();
        let (lost, nothing) = rt.promise::<()>();
        let (unheard, dropped) = rt.promise();
        rt.task(()).core(0).spawn(move |(), _| kept.fulfil(1));
        rt.task(()).core(1).spawn(move |(), _| drop(lost));
        let ran = runs.clone();
        rt.task(()).core(0).spawn(move |(), _| {
            unheard.fulfil(ran.clone());
            ran.fetch_add(1, Relaxed);
        });
        let detached = runs.clone();
        drop(rt.task(()).submit(move |(), _| detached.fetch_add(1, Relaxed)));
        drop(dropped);
        assert!(matches!(nothing.join(), Err(JoinError::Abandoned)));
        assert_eq!(result.join().unwrap(), 1);
        drop(rt);
        assert_eq!((runs.load(Relaxed), Arc::strong_count(&runs)), (2, 1));
    });
}

#[test]
fn a_task_cannot_wait_for_its_own_runtime() {
    explore(|_| {
        let rt = runtime(1);
        let (promise, handle) = rt.promise::<()>();
        let asked = rt.task(()).submit(move |(), _| matches!(handle.join(), Err(JoinError::WouldBlock)));
        assert!(asked.join().unwrap());
        drop(promise);
    });
}
