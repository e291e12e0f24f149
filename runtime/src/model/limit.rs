//! Permits of a limit beside waiters that come, wait and go away: no permit is lost, none is given
//! twice, and a waiter is woken.

use super::platform::{Bell, standing};
use super::{Watched, model};
use crate::limit::{Acquire, Limit, LimitError, Permit};
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use loom::sync::Notify;
use loom::thread;
use std::sync::Arc;

/// Runs `check` with a limit of one permit.
fn with_limit(preemptions: usize, check: impl Fn(Limit) + Send + Sync + 'static) {
    model(preemptions, move || {
        let (runtime, _drivers) = standing(1);
        check(runtime.limit(1));
    });
}

fn poll(waiter: &mut Acquire, waker: &Waker) -> Option<Result<Permit, LimitError>> {
    match pin!(waiter).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

/// Waits as a thread does that sleeps until it is woken.
fn wait(mut waiter: Acquire) -> Result<Permit, LimitError> {
    let bell = Arc::new(Bell(Notify::new()));
    let waker = bell.clone().into();
    loop {
        match poll(&mut waiter, &waker) {
            Some(outcome) => return outcome,
            None => bell.0.wait(),
        }
    }
}

#[test]
fn a_waiter_gets_the_permit_that_is_returned() {
    with_limit(3, |limit| {
        let held = limit.try_acquire().unwrap();
        let other = thread::spawn(move || drop(held));
        drop(wait(limit.acquire()).unwrap());
        other.join().unwrap();
        assert_eq!((limit.used(), limit.waiting()), (0, 0));
    });
}

#[test]
fn holders_of_the_permit_follow_each_other() {
    with_limit(2, |limit| {
        let data = Arc::new(Watched::new(0));
        let others = [0, 1].map(|_| {
            let (limit, data) = (limit.clone(), data.clone());
            thread::spawn(move || {
                let permit = wait(limit.acquire()).unwrap();
                data.add(1);
                drop(permit);
            })
        });
        if let Ok(permit) = limit.try_acquire() {
            data.add(10);
            drop(permit);
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!([2, 12].contains(&data.get()));
        assert_eq!((limit.used(), limit.waiting()), (0, 0));
    });
}

#[test]
fn a_waiter_that_goes_away_passes_its_permit_on() {
    with_limit(3, |limit| {
        let held = limit.try_acquire().unwrap();
        let (mut first, mut second) = (limit.acquire(), limit.acquire());
        assert!(poll(&mut first, Waker::noop()).is_none());
        assert!(poll(&mut second, Waker::noop()).is_none());
        let other = thread::spawn(move || drop(held));
        drop(first);
        drop(wait(second).unwrap());
        other.join().unwrap();
        assert_eq!((limit.used(), limit.waiting()), (0, 0));
        assert!(limit.try_acquire().is_ok());
    });
}

#[test]
fn a_waiter_that_comes_beside_one_that_goes_is_served() {
    with_limit(1, |limit| {
        let held = limit.try_acquire().unwrap();
        let mut first = limit.acquire();
        assert!(poll(&mut first, Waker::noop()).is_none());
        let gone = thread::spawn(move || drop(first));
        let returned = thread::spawn(move || drop(held));
        drop(wait(limit.acquire()).unwrap());
        gone.join().unwrap();
        returned.join().unwrap();
        assert_eq!((limit.used(), limit.waiting()), (0, 0));
    });
}

#[test]
fn a_shutdown_beside_a_waiter_ends_its_wait() {
    model(2, || {
        let (runtime, _drivers) = standing(1);
        let limit = runtime.limit(1);
        let held = limit.try_acquire().unwrap();
        let waiting = limit.clone();
        let other = thread::spawn(move || wait(waiting.acquire()).err());
        runtime.shared().limits.close();
        assert_eq!(other.join().unwrap(), Some(LimitError::ShutDown));
        drop(held);
        assert_eq!((limit.used(), limit.waiting()), (0, 0));
    });
}
