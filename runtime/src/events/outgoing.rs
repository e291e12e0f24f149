//! The output of a worker's streams that waits, and the task that sends it.
//!
//! ```text
//! events of 50 clients -> 50 tasks, each leaves a short reply -> 1 task sends the 50 replies
//! ```
//!
//! A task that sends by itself enters the kernel between two requests, and wakes a client that then
//! sends its next request alone. A stream waits for the tasks that its worker has already. What
//! comes later does not delay it, with two exceptions: tasks of [high](Priority::High) priority,
//! unless the output is that of one, and those that handle events between two batches of many
//! streams.

use crate::annotation::Priority;
use crate::scheduler::{Context, RuntimeState};
use crate::sync::SpinMutex;
use crate::task::spawner::sealed::Origin;
use alloc::collections::VecDeque;
use alloc::sync::{Arc, Weak};

/// The streams whose output one task sends, at most: a system call each.
const BATCH: usize = 64;

/// A stream with output that waits.
pub(super) trait Sender: Send + Sync {
    /// Sends what waits, as far as there is room.
    fn send(&self);
}

/// The streams with output that one worker is to send.
///
/// While there are some of a priority, a task is going to send them, or is doing so.
pub(super) struct Outgoing {
    urgent: Streams,
    normal: Streams,
}

/// Streams in the order in which they were added.
type Streams = SpinMutex<VecDeque<Weak<dyn Sender>>>;

impl Outgoing {
    pub fn new() -> Self {
        Self { urgent: SpinMutex::new(VecDeque::new()), normal: SpinMutex::new(VecDeque::new()) }
    }

    fn streams(&self, priority: Priority) -> &Streams {
        if priority == Priority::High { &self.urgent } else { &self.normal }
    }

    /// Adds a stream. Returns true if there was none: then a task has to be spawned.
    fn add(&self, stream: Weak<dyn Sender>, priority: Priority) -> bool {
        let mut streams = self.streams(priority).lock();
        streams.push_back(stream);
        streams.len() == 1
    }

    /// Sends the output of some streams. Returns false if no others are left.
    fn send(&self, most: usize, priority: Priority) -> bool {
        let streams = self.streams(priority);
        for _ in 0..most {
            let Some(stream) = streams.lock().pop_front() else { return false };
            // A stream that is gone has sent by itself.
            if let Some(stream) = stream.upgrade() {
                stream.send();
            }
        }
        !streams.lock().is_empty()
    }
}

impl Context {
    /// Lets a task send the output of a stream, after those that this worker has now.
    pub(super) fn send_soon(&mut self, stream: Weak<dyn Sender>) {
        let queue = self.worker();
        // Not after tasks that are more urgent than this one.
        let priority = match self.priority() {
            Priority::High => Priority::High,
            Priority::Normal | Priority::Low => Priority::Normal,
        };
        if self.worker.shared().outside.outgoing(queue).add(stream, priority) {
            SendTask { shared: self.worker.shared().clone(), queue, priority }.spawn(self);
        }
    }
}

/// The body of the task that sends. It sends all when it is dropped, so that output is not left
/// behind if there is no memory for the task, or it is cancelled.
struct SendTask {
    shared: Arc<RuntimeState>,
    queue: usize,
    priority: Priority,
}

impl SendTask {
    fn spawn(self, cx: &mut Context) {
        let task = cx.task(()).core(self.queue as u16).priority(self.priority);
        task.spawn(move |(), cx| self.run(cx));
    }

    fn run(self, cx: &mut Context) {
        let most = if planted!("sends-all-at-once") { usize::MAX } else { BATCH };
        if self.shared.outside.outgoing(self.queue).send(most, self.priority) {
            // What has come meanwhile does not wait for all streams.
            cx.poll_events();
            self.spawn(cx);
        }
    }
}

impl Drop for SendTask {
    fn drop(&mut self) {
        if !planted!("dropped-task-sends-nothing") {
            self.shared.outside.outgoing(self.queue).send(usize::MAX, self.priority);
        }
    }
}
