//! Threads that stand in for those of workers.

use super::PlatformError;
use crate::sync::SpinMutex;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

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
struct SpareThreads(Arc<SpinMutex<State>>);

#[derive(Default)]
struct State {
    /// What waits for the threads that were unparked for it.
    bodies: VecDeque<Body>,
    /// The threads that are parked, or about to park. The last one has been idle for the shortest
    /// time.
    idle: Vec<Thread>,
    threads: usize,
    is_closed: bool,
}

impl SpareThreads {
    fn run(
        &self,
        body: Body,
        start: impl FnOnce(Body) -> Result<(), PlatformError>,
    ) -> Result<(), PlatformError> {
        let mut state = self.0.lock();
        if let Some(thread) = state.idle.pop() {
            state.bodies.push_back(body);
            drop(state);
            thread.unpark();
            return Ok(());
        }
        if state.threads >= MAX_THREADS || state.is_closed {
            return Err("a worker has no more spare threads".into());
        }
        state.threads += 1;
        drop(state);
        let spares = self.clone();
        start(Box::new(move || spares.serve(body))).inspect_err(|_| self.0.lock().threads -= 1)
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
        let thread = thread::current();
        let until = Instant::now() + IDLE_TIME;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut state = self.0.lock();
            state.idle.retain(|idle| idle.id() != thread.id());
            let body = state.bodies.pop_front();
            if body.is_some() {
                return body;
            }
            if left.is_zero() || state.is_closed {
                state.threads -= 1;
                return None;
            }
            state.idle.push(thread.clone());
            drop(state);
            thread::park_timeout(left);
        }
    }

    fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.idle.iter().for_each(Thread::unpark);
    }
}
