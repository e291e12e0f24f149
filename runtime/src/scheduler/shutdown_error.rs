//! The error of a shutdown with a limit, and the tasks that run.

use super::{Runtime, RuntimeState};
use crate::monitor::RunningTask;
use crate::sync::Relaxed;
use alloc::vec::Vec;
use core::fmt;

/// The error of [`Runtime::shutdown_within`]: tasks were still running at the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownTimedOut {
    /// The tasks that were running. It is empty if the tasks that were left had not started, and
    /// were cancelled, or if they [block in place](crate::Context::block_in_place).
    pub running: Vec<RunningTask>,
}

impl fmt::Display for ShutdownTimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the shutdown has reached its limit")?;
        if self.running.is_empty() {
            return f.write_str("; tasks that had not started were cancelled");
        }
        for (number, task) in self.running.iter().enumerate() {
            write!(f, "{} {task}", if number == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl core::error::Error for ShutdownTimedOut {}

impl Runtime {
    /// Returns the workers that are inside a task now, with names and times if
    /// [`Builder::name_running`](crate::Builder::name_running) is on. Without it, a worker between
    /// two tasks may be among them.
    pub fn running_tasks(&self) -> Vec<RunningTask> {
        self.shared.running_tasks()
    }
}

impl RuntimeState {
    pub(super) fn running_tasks(&self) -> Vec<RunningTask> {
        let queues = 0..self.slots.len();
        let running = |queue: usize| match &self.posts {
            Some(posts) => {
                let details = posts.running(queue, &*self.platform)?;
                Some(RunningTask { worker: queue, details: Some(details) })
            }
            None => self.seems_busy(queue).then(|| RunningTask { worker: self.owner(queue), details: None }),
        };
        queues.filter_map(running).collect()
    }

    /// Returns true if a run queue is held, and its worker neither sleeps nor searches. A hint. In
    /// a simulation no task runs while this thread does.
    fn seems_busy(&self, queue: usize) -> bool {
        let slot = &self.slots[queue];
        !self.is_simulated
            && slot.parked.is_empty()
            && !slot.asleep.0.load(Relaxed)
            && !slot.idle.load(Relaxed)
    }
}
