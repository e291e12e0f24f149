//! Bounds on tasks that are not finished: try, wait, block.

mod futures;
mod lengths;
mod waiters;

use crate::common::Flag;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context as PollContext, Poll, Wake, Waker};
use xtasking::Runtime;
use xtasking::limit::Limit;

/// Counts its wake-ups.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A future with a waker of its own.
struct Waiter<F> {
    future: F,
    wakes: Arc<Wakes>,
}

impl<F: Future + Unpin> Waiter<F> {
    fn new(future: F) -> Self {
        Self { future, wakes: Arc::default() }
    }

    fn poll(&mut self) -> Option<F::Output> {
        let waker = Waker::from(self.wakes.clone());
        match Pin::new(&mut self.future).poll(&mut PollContext::from_waker(&waker)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn is_woken(&self) -> bool {
        self.wakes.0.load(SeqCst) != 0
    }
}

/// Tasks that are spawned and not finished, as the test counts them.
#[derive(Clone, Default)]
struct Live(Arc<AtomicUsize>);

impl Live {
    /// Counts a task that has room, and returns how many there are.
    fn begin(&self) -> usize {
        self.0.fetch_add(1, SeqCst) + 1
    }

    fn end(&self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Keeps the workers of a runtime busy until the flag is set.
fn occupy(rt: &Runtime, workers: usize) -> Flag {
    let go = Flag::default();
    for core in 0..workers {
        let (inside, go) = (Flag::default(), go.clone());
        let entered = inside.clone();
        rt.task(()).core(core as u16).spawn(move |(), _| {
            entered.set();
            go.wait();
        });
        inside.wait();
    }
    go
}

fn is_unused(limit: Option<&Limit>) -> bool {
    limit.is_some_and(|limit| limit.used() == 0 && limit.waiting() == 0)
}
