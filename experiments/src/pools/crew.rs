//! Who runs tasks, so that the work is written once for all.

use super::tally;
use std::marker::PhantomData;
use std::time::Instant;
use xtasking::Context;

/// A runtime as seen from within its tasks.
pub(super) trait Crew: 'static {
    /// Where a task is.
    type At<'a>;

    /// Spawns a task that is bound to nothing.
    fn spawn(at: &mut Self::At<'_>, body: impl FnOnce(Self::At<'_>) + Send + 'static);

    /// The worker that runs the task.
    fn worker(at: &Self::At<'_>) -> usize;

    /// On virtual cores the task takes that many nanoseconds more, instead of computing anything. `false`: the core is a
    /// true one.
    fn spend(_: &mut Self::At<'_>, _: u64) -> bool {
        false
    }
}

/// This runtime.
pub(super) struct Own;

impl Crew for Own {
    type At<'a> = &'a mut Context;

    #[inline(always)]
    fn spawn(at: &mut Self::At<'_>, body: impl FnOnce(Self::At<'_>) + Send + 'static) {
        at.task(()).spawn(move |(), cx| body(cx));
    }

    #[inline(always)]
    fn worker(at: &Self::At<'_>) -> usize {
        at.worker()
    }
}

/// Rayon, in a scope that waits for all.
pub(super) struct Rayon;

impl Crew for Rayon {
    type At<'a> = &'a rayon::Scope<'static>;

    #[inline(always)]
    fn spawn(at: &mut Self::At<'_>, body: impl FnOnce(Self::At<'_>) + Send + 'static) {
        at.spawn(|scope| body(scope));
    }

    #[inline(always)]
    fn worker(_: &Self::At<'_>) -> usize {
        rayon::current_thread_index().expect("it runs in the pool")
    }
}

/// Tokio.
pub(super) struct Tokio;

impl Crew for Tokio {
    type At<'a> = ();

    #[inline(always)]
    fn spawn((): &mut (), body: impl FnOnce(()) + Send + 'static) {
        tokio::spawn(async move { body(()) });
    }

    #[inline(always)]
    fn worker((): &()) -> usize {
        crate::lineup::tokio_worker()
    }
}

/// One whose workers note how long they are busy: that costs more than a small task.
pub(super) struct Timed<C>(PhantomData<C>);

impl<C: Crew> Crew for Timed<C> {
    type At<'a> = C::At<'a>;

    fn spawn(at: &mut Self::At<'_>, body: impl FnOnce(Self::At<'_>) + Send + 'static) {
        C::spawn(at, |at| Self::run(at, body));
    }

    fn worker(at: &Self::At<'_>) -> usize {
        C::worker(at)
    }
}

impl<C: Crew> Timed<C> {
    /// Runs a task's body and notes how long it took; one that runs within another one's spawn is a part of that one.
    pub(super) fn run(at: C::At<'_>, body: impl FnOnce(C::At<'_>)) {
        let worker = C::worker(&at);
        let is_outermost = tally::enter(worker);
        let began = Instant::now();
        body(at);
        tally::leave(worker, is_outermost.then(|| began.elapsed()));
    }
}
