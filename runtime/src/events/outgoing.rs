//! The output of a worker's streams that waits, and the task that sends it.
//!
//! ```text
//! events of 50 clients -> 50 tasks, each leaves a short reply -> 1 task sends the 50 replies
//! ```
//!
//! A task that sends by itself enters the kernel between two requests, and wakes a client that then
//! sends its next request alone. A stream waits only for tasks that its worker has already: later
//! ones do not delay it.

use crate::annotation::Priority;
use crate::scheduler::{Context, RuntimeState};
use crate::sync::SpinMutex;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::mem;

/// A stream with output that waits.
pub(super) trait Sender: Send + Sync {
    /// Sends what waits, as far as there is room.
    fn send(&self);
}

/// The streams with output that one worker is to send.
pub(super) struct Outgoing(SpinMutex<Vec<Weak<dyn Sender>>>);

impl Outgoing {
    pub fn new() -> Self {
        Self(SpinMutex::new(Vec::new()))
    }

    /// Adds a stream. Returns true if there was none: then a task has to be spawned.
    fn add(&self, stream: Weak<dyn Sender>) -> bool {
        let mut streams = self.0.lock();
        streams.push(stream);
        streams.len() == 1
    }

    /// Sends the output of all streams.
    fn send(&self) {
        // Streams that are added from now on get another task.
        let mut streams = mem::take(&mut *self.0.lock());
        for stream in streams.drain(..) {
            // A stream that is gone has sent by itself.
            if let Some(stream) = stream.upgrade() {
                stream.send();
            }
        }
        // Its memory is used again.
        let mut newer = self.0.lock();
        if newer.is_empty() {
            *newer = streams;
        }
    }
}

impl Context {
    /// Lets a task send the output of a stream, after those that this worker has now.
    pub(super) fn send_soon(&mut self, stream: Weak<dyn Sender>) {
        let queue = self.worker();
        if self.worker.shared().outside.outgoing(queue).add(stream) {
            let all = SendTask { shared: self.worker.shared().clone(), queue };
            let task = self.task(()).core(queue as u16).priority(Priority::Normal);
            task.spawn(move |(), _| drop(all));
        }
    }
}

/// The body of the task that sends. It sends when it is dropped, so that output is not left behind
/// if there is no memory for the task.
struct SendTask {
    shared: Arc<RuntimeState>,
    queue: usize,
}

impl Drop for SendTask {
    fn drop(&mut self) {
        self.shared.outside.outgoing(self.queue).send();
    }
}
