//! A result reaches its waiter in every interleaving.

use super::platform::{Bell, running, standing};
use super::{Watched, model};
use crate::sync::Relaxed;
use crate::sync::global::AtomicU64;
use crate::{Handle, JoinError, Promise, Runtime};
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use loom::sync::Notify;
use loom::thread;
use std::sync::Arc;

/// Runs `check` with the two ends of a handle.
fn with_handle(
    preemptions: usize,
    check: impl Fn(Promise<Watched>, Handle<Watched>) + Send + Sync + 'static,
) {
    model(preemptions, move || {
        let (runtime, _drivers) = standing(1);
        let (promise, handle) = runtime.promise();
        check(promise, handle);
    });
}

fn poll<R>(handle: &mut Handle<R>, waker: &Waker) -> Option<Result<R, JoinError>> {
    match pin!(handle).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

#[test]
fn a_result_wakes_the_thread_that_joins() {
    with_handle(3, |promise, handle| {
        let other = thread::spawn(move || promise.fulfil(Watched::new(7)));
        assert_eq!(handle.join().unwrap().get(), 7);
        other.join().unwrap();
    });
}

#[test]
fn a_result_wakes_the_last_waker() {
    with_handle(3, |promise, mut handle| {
        let other = thread::spawn(move || promise.fulfil(Watched::new(7)));
        let result = poll(&mut handle, Waker::noop()).unwrap_or_else(|| handle.join());
        assert_eq!(result.unwrap().get(), 7);
        other.join().unwrap();
    });
}

#[test]
fn a_reused_waker_is_woken() {
    with_handle(3, |promise, mut handle| {
        let other = thread::spawn(move || promise.fulfil(Watched::new(7)));
        let bell = Arc::new(Bell(Notify::new()));
        let waker = bell.clone().into();
        let result = loop {
            match poll(&mut handle, &waker) {
                Some(result) => break result,
                None => bell.0.wait(),
            }
        };
        assert_eq!(result.unwrap().get(), 7);
        other.join().unwrap();
    });
}

#[test]
fn a_dropped_promise_wakes_its_waiter() {
    with_handle(3, |promise, handle| {
        let other = thread::spawn(move || drop(promise));
        assert!(matches!(handle.join(), Err(JoinError::Abandoned)));
        other.join().unwrap();
    });
}

/// Counts its drops.
struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_dropped_handle_leaves_no_result_behind() {
    model(3, || {
        let (runtime, _drivers) = standing(1);
        let (promise, mut handle) = runtime.promise();
        let dropped = Arc::new(AtomicU64::new(0));
        let result = Counted(dropped.clone());
        let other = thread::spawn(move || promise.fulfil(result));
        // Polls once, and is dropped.
        drop(poll(&mut handle, Waker::noop()));
        drop(handle);
        other.join().unwrap();
        assert_eq!(dropped.load(Relaxed), 1);
    });
}

#[test]
fn a_cancellation_that_comes_in_time_is_kept() {
    with_handle(3, |promise, handle| {
        let other = thread::spawn(move || promise.fulfil(Watched::new(7)));
        let in_time = handle.cancel();
        let cancelled = matches!(handle.join(), Err(JoinError::Cancelled));
        assert_eq!(in_time, cancelled, "`cancel` says whether it came in time");
        other.join().unwrap();
    });
}

#[test]
fn a_task_runs_unless_it_was_cancelled_in_time() {
    model(2, || {
        let runtime: Runtime = running(1);
        let ran = Arc::new(AtomicU64::new(0));
        let running = ran.clone();
        let handle = runtime.task(()).submit(move |(), _cx| running.fetch_add(1, Relaxed));
        let in_time = handle.cancel();
        let cancelled = matches!(handle.join(), Err(JoinError::Cancelled));
        assert_eq!((in_time, cancelled), (ran.load(Relaxed) == 0, ran.load(Relaxed) == 0));
    });
}

/// The body belongs to the task or to the caller of `cancel`, which drops it at once.
#[test]
fn a_cancelled_body_is_dropped_at_once_and_any_body_once() {
    model(2, || {
        let runtime: Runtime = running(1);
        let (ran, dropped) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (running, captured) = (ran.clone(), Counted(dropped.clone()));
        let handle = runtime.task(()).submit(move |(), _cx| {
            running.fetch_add(1, Relaxed);
            drop(captured);
        });
        let in_time = handle.cancel();
        if in_time {
            assert_eq!(dropped.load(Relaxed), 1, "the body is dropped by `cancel`");
        }
        assert_eq!(handle.join().is_err(), in_time);
        assert_eq!((ran.load(Relaxed) == 0, dropped.load(Relaxed)), (in_time, 1));
    });
}
