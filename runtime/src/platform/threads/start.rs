//! Starting the threads of workers, and waiting on any thread.

use super::{NO_WORKER, Threads, WORKER_OF};
use crate::platform::runtime_wait::registry::RecordedWait;
use crate::platform::{Platform, PlatformError, WorkerThread, WouldBlock};
use crate::task::{catch, discard};
use alloc::boxed::Box;
use alloc::string::String;
use core::task::Waker;
use std::io;

impl Threads {
    /// Starts the thread of a worker, or lets the program do so.
    pub(super) fn spawn_worker(
        &self,
        worker: usize,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), PlatformError> {
        let name = alloc::format!("xtasking-{worker}");
        match &self.spawn_handler {
            None => self.spawn(name, body),
            Some(handler) => {
                let what = alloc::format!("the spawn handler cannot start thread `{name}`");
                let (body, stack_bytes) = (Box::new(body), self.stack_bytes);
                let _ends = self.handed_out.hand_out();
                let thread = WorkerThread { worker, name, stack_bytes, body, _ends };
                // Caught, so that a worker that never runs is not counted as running.
                let started = catch(|| handler(thread)).unwrap_or_else(|payload| {
                    discard(payload);
                    Err(io::Error::other("the handler panicked"))
                });
                started.map_err(|cause| PlatformError::with_cause(what, cause))
            }
        }
    }

    /// Starts a thread that [`join`](Platform::join) waits for.
    pub(super) fn spawn(
        &self,
        name: String,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), PlatformError> {
        let what = alloc::format!("cannot start thread `{name}`");
        let builder = std::thread::Builder::new().name(name).stack_size(self.stack_bytes);
        let thread = builder.spawn(body).map_err(|cause| PlatformError::with_cause(what, cause))?;
        let mut join_handles = self.join_handles.lock();
        join_handles.retain(|thread| !thread.is_finished());
        join_handles.push(thread);
        Ok(())
    }

    /// Lets the calling thread wait: `wait` calls its argument until it returns true.
    pub(super) fn block_while(
        &self,
        ready: &mut dyn FnMut(&Waker) -> bool,
        wait: impl FnOnce(&mut dyn FnMut(&Waker) -> bool) -> bool,
    ) -> Result<bool, WouldBlock> {
        let worker = WORKER_OF.get();
        if worker.0 == self.number {
            return Err(WouldBlock);
        }
        let (mut recorded, mut is_lost) = (None, false);
        let is_ready = wait(&mut |waker| {
            if ready(waker) {
                return true;
            }
            is_lost = self.has_lost_workers() && !planted!("lost-workers-waited-for");
            if !is_lost && worker != NO_WORKER {
                recorded.get_or_insert_with(|| RecordedWait::new(worker, self.number));
            }
            is_lost
        });
        if is_lost { Err(WouldBlock) } else { Ok(is_ready) }
    }
}
