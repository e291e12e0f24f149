//! The interface of a runtime to its tasks, so that the work is written once for all runtimes.

use super::tally;
use std::hint::spin_loop;
use std::marker::PhantomData;
use std::time::{Duration, Instant};
use xtasking::Context;

/// A runtime as its tasks see it.
pub(crate) trait Executor: 'static {
    /// The context of a running task.
    type Cx<'a>;

    /// Spawns an unbound task.
    fn spawn(cx: &mut Self::Cx<'_>, body: impl FnOnce(Self::Cx<'_>) + Send + 'static);

    /// Returns the worker that runs the task.
    fn worker(cx: &Self::Cx<'_>) -> usize;

    /// Returns true if the task must not compute, but take a number of nanoseconds: on virtual
    /// cores, where this adds them to the task's time, and if threads spin instead. Otherwise it
    /// does nothing.
    fn spend(_: &mut Self::Cx<'_>, _: u64) -> bool {
        false
    }
}

/// XTasking.
pub(crate) struct Xtasking;

impl Executor for Xtasking {
    type Cx<'a> = &'a mut Context;

    #[inline(always)]
    fn spawn(cx: &mut Self::Cx<'_>, body: impl FnOnce(Self::Cx<'_>) + Send + 'static) {
        cx.task(()).spawn(move |(), cx| body(cx));
    }

    #[inline(always)]
    fn worker(cx: &Self::Cx<'_>) -> usize {
        cx.worker()
    }
}

/// XTasking, with tasks that spin for the time that they would take on virtual cores.
pub(crate) struct Spinning;

impl Executor for Spinning {
    type Cx<'a> = &'a mut Context;

    fn spawn(cx: &mut Self::Cx<'_>, body: impl FnOnce(Self::Cx<'_>) + Send + 'static) {
        Xtasking::spawn(cx, body);
    }

    fn worker(cx: &Self::Cx<'_>) -> usize {
        cx.worker()
    }

    fn spend(_: &mut Self::Cx<'_>, nanoseconds: u64) -> bool {
        let (began, time) = (Instant::now(), Duration::from_nanos(nanoseconds));
        while began.elapsed() < time {
            spin_loop();
        }
        true
    }
}

/// Rayon, in a scope that waits for all tasks.
pub(crate) struct Rayon;

impl Executor for Rayon {
    type Cx<'a> = &'a rayon::Scope<'static>;

    #[inline(always)]
    fn spawn(cx: &mut Self::Cx<'_>, body: impl FnOnce(Self::Cx<'_>) + Send + 'static) {
        cx.spawn(|scope| body(scope));
    }

    #[inline(always)]
    fn worker(_: &Self::Cx<'_>) -> usize {
        rayon::current_thread_index().expect("tasks run in the pool")
    }
}

/// Tokio.
pub(crate) struct Tokio;

impl Executor for Tokio {
    type Cx<'a> = ();

    #[inline(always)]
    fn spawn((): &mut (), body: impl FnOnce(()) + Send + 'static) {
        tokio::spawn(async move { body(()) });
    }

    #[inline(always)]
    fn worker((): &()) -> usize {
        xtasking_harness::lineup::tokio_worker()
    }
}

/// A runtime whose tasks record how long they run, which costs more than a small task.
pub(crate) struct Timed<C>(PhantomData<C>);

impl<C: Executor> Executor for Timed<C> {
    type Cx<'a> = C::Cx<'a>;

    fn spawn(cx: &mut Self::Cx<'_>, body: impl FnOnce(Self::Cx<'_>) + Send + 'static) {
        C::spawn(cx, |cx| Self::run(cx, body));
    }

    fn worker(cx: &Self::Cx<'_>) -> usize {
        C::worker(cx)
    }
}

impl<C: Executor> Timed<C> {
    /// Runs a task's body and records its time. The time of a task that runs inline, within another
    /// one's spawn, counts as part of that one.
    pub(crate) fn run(cx: C::Cx<'_>, body: impl FnOnce(C::Cx<'_>)) {
        let worker = C::worker(&cx);
        let is_outermost = tally::enter(worker);
        let began = Instant::now();
        body(cx);
        tally::leave(worker, is_outermost.then(|| began.elapsed()));
    }
}
