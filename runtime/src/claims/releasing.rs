//! The sink of a task with a claim.

use super::kind::ClaimHandle;
use crate::scheduler::{Context, Worker};
use crate::task::spawner::sealed::Origin;
use crate::task::{JoinError, Sink, Task};
use core::ptr::NonNull;

/// Releases what the task has claimed when it is over, then completes another sink.
pub struct ReleasingSink<K, S> {
    sink: K,
    state: S,
}

impl<K, S> ReleasingSink<K, S> {
    pub(crate) fn new(sink: K, state: S) -> Self {
        Self { sink, state }
    }
}

impl<K: Sink<()>, S: ClaimHandle> Sink<()> for ReleasingSink<K, S> {
    #[inline(always)]
    fn enter(&self, origin: &mut impl Origin) {
        self.sink.enter(origin);
    }

    #[inline(always)]
    unsafe fn is_ready(this: *const Self, task: NonNull<Task>, cx: &mut Worker) -> bool {
        // SAFETY: the worker owns the task, which contains the sink and owns the state.
        unsafe { (*this).state.is_ready(task, cx) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn start(&self, cx: &mut Worker) -> Result<(), JoinError> {
        let outcome = self.sink.start(cx);
        // SAFETY: this is part of the task, which owns the state.
        let granted = unsafe { self.state.start(cx) };
        outcome.and(granted)
    }

    fn pause(&self, cx: &mut Worker) {
        self.sink.pause(cx);
    }

    fn resume(&self, cx: &mut Worker) {
        self.sink.resume(cx);
    }

    fn make_room(&mut self) {
        self.sink.make_room();
    }

    fn name(&self) -> Option<&'static str> {
        self.sink.name()
    }

    fn complete(self, outcome: Result<(), JoinError>, cx: &mut Worker) {
        // SAFETY: this is part of the task, which is over and owns the state.
        unsafe {
            self.state.leave(Context::of(cx));
            if !planted!("claim-state-leaked") {
                self.state.free(&mut Context::of(cx));
            }
        }
        self.sink.complete(outcome, cx);
    }

    fn refuse(self, origin: &impl Origin, why: JoinError) {
        self.sink.refuse(origin, why);
    }
}
