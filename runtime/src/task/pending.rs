//! Tasks that are complete, but wait for a group or for granules before they enter a run queue.

use super::Task;
use super::options::Options;
use super::spawner::{CompleteTask, Route, sealed::Origin};
use crate::annotation::Place;
use crate::object::Fetch;
use crate::pool::{QueuePolicy, RankOrder};
use alloc::boxed::Box;
use core::ptr::NonNull;

/// A stored task: complete, and admitted unless it says otherwise.
pub enum PendingTask {
    /// It goes to this home if given, else where the options say.
    Bound(NonNull<Task>, Options, Option<usize>),
    /// It has no objects; it is unbound unless the options name a place.
    Unbound(NonNull<Task>, Options),
    /// As `Unbound`, but not admitted: it gets an epoch when it is sent.
    UnboundLater(NonNull<Task>, Options),
    /// Its placeholders go to their homes. (Boxed, because most stored tasks are of the other
    /// kinds, which are smaller.)
    Placeholders(Box<[(usize, NonNull<Task>)]>),
}

impl PendingTask {
    /// Stores a task that is to take this route later.
    #[inline(always)]
    pub fn new(task: NonNull<Task>, options: &Options, route: Route<'_>) -> Self {
        match route {
            Route::Bound(home) => Self::Bound(task, *options, home),
            Route::Unbound => Self::Unbound(task, *options),
            Route::Enlist(placeholders) => Self::Placeholders((&*placeholders).into()),
        }
    }

    /// Returns the task; `None` if it is known by its placeholders only.
    pub fn task(&self) -> Option<NonNull<Task>> {
        match *self {
            Self::Bound(task, ..) | Self::Unbound(task, _) | Self::UnboundLater(task, _) => Some(task),
            Self::Placeholders(_) => None,
        }
    }

    /// Returns true if the task is unbound and its options name no place.
    pub fn is_unbound(&self) -> bool {
        matches!(self, Self::Unbound(_, options) if matches!(options.place, Place::Here))
    }

    /// Sends an unbound task to a worker. If it is stealable, idle workers may steal it where the
    /// queue policy allows that.
    pub fn send_to(self, worker: usize, is_stealable: bool, spawner: &mut impl Origin) {
        let Self::Unbound(mut task, options) = self else { return self.send(spawner) };
        // SAFETY: phase stored: the spawner gave the task up to this value, which is consumed here.
        unsafe {
            let meta = task.as_ref().meta;
            if is_stealable && (meta.rank() != RankOrder::MIDDLE || Self::should_stay(worker, spawner)) {
                return spawner.send_unbound(task, &options, meta);
            }
            if is_stealable && spawner.shared().policy == QueuePolicy::WorkStealing {
                task.as_mut().meta = meta.unbound();
            }
            let there = Options { place: Place::Core(worker as u16), ..options };
            let complete = CompleteTask { task, meta: task.as_ref().meta, fetch: Fetch::NONE };
            spawner.send(complete, &there, None);
        }
    }

    /// Returns true if the task should stay on the spawning worker: it is the task's home, or the
    /// home has not drained its inbox and is probably inside a long task. Idle workers may steal it
    /// from here.
    fn should_stay(home: usize, spawner: &impl Origin) -> bool {
        let shared = spawner.shared();
        let is_slow = || {
            shared.policy == QueuePolicy::WorkStealing
                && shared.slots[home].inbox.seems_to_have_tasks()
                && !planted!("home-though-busy")
        };
        spawner.on_worker().is_some_and(|own| own == home || is_slow())
    }

    /// Lets the spawning worker run an unbound task next; sends any other.
    pub fn keep(self, spawner: &mut impl Origin) {
        match self {
            // SAFETY: phase stored: the spawner gave the task up to this value, which is consumed
            // here.
            Self::Unbound(task, options) => unsafe {
                spawner.keep_unbound(task, &options, task.as_ref().meta)
            },
            other => other.send(spawner),
        }
    }

    /// Sends the task to a run queue. Inlined: a spawn that sends it at once knows its kind.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn send(self, spawner: &mut impl Origin) {
        // SAFETY: phase stored: the spawner gave the task, or its placeholders, up to this value,
        // which is consumed here.
        unsafe {
            match self {
                Self::Bound(task, options, home) => {
                    let &Task { meta, fetch, .. } = task.as_ref();
                    spawner.send(CompleteTask { task, meta, fetch }, &options, home);
                }
                Self::Unbound(task, options) => spawner.send_unbound(task, &options, task.as_ref().meta),
                Self::UnboundLater(mut task, options) => {
                    let begun = Options { begins_operation: true, ..options };
                    let meta = task.as_ref().meta.in_epoch(spawner.admit(&begun).epoch());
                    task.as_mut().meta = meta;
                    // Only after the task is counted in its epoch: a shutdown sees it there or as
                    // waiting.
                    spawner.shared().epochs.end_wait();
                    spawner.send_unbound(task, &options, meta);
                }
                Self::Placeholders(mut placeholders) => spawner.enlist(&mut placeholders),
            }
        }
    }
}
