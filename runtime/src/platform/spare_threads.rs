//! Threads that stand in for those of workers.

use super::PlatformError;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Spare threads of one worker, at most.
const MAX_THREADS: usize = 256;
/// How long a thread without work waits for more before it ends.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// What a spare thread runs.
type Body = Box<dyn FnOnce() + Send>;

/// The spare threads of all workers of a platform. Dropping this ends the idle ones.
pub(super) struct SparePool(Box<[SpareThreads]>);

impl SparePool {
    pub fn new(workers: usize) -> Self {
        Self((0..workers).map(|_| SpareThreads::default()).collect())
    }

    /// Runs `body` on an idle thread of that worker, or on a new one that `start` starts.
    ///
    /// # Errors
    ///
    /// If there are 256 threads already, or `start` fails.
    pub fn run(
        &self,
        worker: usize,
        body: Body,
        start: impl FnOnce(Body) -> Result<(), PlatformError>,
    ) -> Result<(), PlatformError> {
        self.0[worker].run(body, start)
    }

    /// Ends the threads that are idle, and all others when they are.
    pub fn close(&self) {
        self.0.iter().for_each(SpareThreads::close);
    }
}

impl Drop for SparePool {
    fn drop(&mut self) {
        self.close();
    }
}

/// The spare threads of one worker. They end when they have been idle for a while.
#[derive(Clone, Default)]
struct SpareThreads(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    bodies: VecDeque<Body>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

impl SpareThreads {
    fn run(
        &self,
        body: Body,
        start: impl FnOnce(Body) -> Result<(), PlatformError>,
    ) -> Result<(), PlatformError> {
        let mut state = self.state();
        if state.bodies.len() < state.idle {
            state.bodies.push_back(body);
            drop(state);
            self.0.1.notify_one();
            return Ok(());
        }
        if state.threads >= MAX_THREADS || state.is_closed {
            return Err("a worker has no more spare threads".into());
        }
        state.threads += 1;
        drop(state);
        let spares = self.clone();
        start(Box::new(move || spares.serve(body))).inspect_err(|_| self.state().threads -= 1)
    }

    /// Runs `body`, and then others.
    fn serve(&self, body: Body) {
        let mut next = Some(body);
        while let Some(body) = next {
            body();
            next = self.next();
        }
    }

    /// Waits for the next body. Without one the calling thread is to end, and counts as ended.
    fn next(&self) -> Option<Body> {
        let mut state = self.state();
        state.idle += 1;
        let is_needless = |state: &mut State| state.bodies.is_empty() && !state.is_closed;
        let waited = self.0.1.wait_timeout_while(state, IDLE_TIME, is_needless);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.idle -= 1;
        let body = state.bodies.pop_front();
        state.threads -= usize::from(body.is_none());
        body
    }

    fn close(&self) {
        self.state().is_closed = true;
        self.0.1.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
