//! The ways to end a runtime.

use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xtasking::{Runtime, Shutdown};
use xtasking_harness::random::Random;

/// How a runtime is ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Drain,
    Cancel,
    Drop,
    DropInTask,
    DrainWithin(Duration),
    CancelWithin(Duration),
}

/// How a runtime has ended.
pub(super) struct ShutdownResult {
    /// No task is left.
    pub(super) is_over: bool,
    /// Tasks may have been cancelled.
    pub(super) cancels: bool,
}

impl Ending {
    pub(super) fn any(random: &mut Random) -> Self {
        // In half of the cases the limit comes too early.
        let limit = [Duration::from_micros(random.below(3000)), Duration::from_secs(60)];
        let limit = limit[random.below(2) as usize];
        match random.below(6) {
            0 => Self::Drain,
            1 => Self::Cancel,
            2 => Self::Drop,
            3 => Self::DropInTask,
            4 => Self::DrainWithin(limit),
            _ => Self::CancelWithin(limit),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Drain => "drained",
            Self::Cancel => "cancelled",
            Self::Drop => "dropped",
            Self::DropInTask => "dropped by one of its tasks",
            Self::DrainWithin(_) => "drained with a limit",
            Self::CancelWithin(_) => "cancelled with a limit",
        }
    }

    /// Ends the runtime.
    pub(super) fn end(self, rt: Runtime) -> ShutdownResult {
        let (is_over, cancels) = match self {
            Self::Drain => {
                rt.shutdown(Shutdown::Drain);
                (true, false)
            }
            Self::Cancel => {
                rt.shutdown(Shutdown::Cancel);
                (true, true)
            }
            Self::Drop => {
                drop(rt);
                (true, false)
            }
            Self::DropInTask => {
                drop_in_task(rt);
                (false, false)
            }
            // At the limit the tasks that are left are cancelled, too.
            Self::DrainWithin(limit) => {
                let is_over = rt.shutdown_within(Shutdown::Drain, limit).is_ok();
                (is_over, !is_over)
            }
            Self::CancelWithin(limit) => (rt.shutdown_within(Shutdown::Cancel, limit).is_ok(), true),
        };
        ShutdownResult { is_over, cancels }
    }
}

/// Lets a task drop the last handle of the runtime.
fn drop_in_task(rt: Runtime) {
    let rt = Arc::new(rt);
    let (last, (promise, begun)) = (rt.clone(), rt.promise());
    rt.task(()).spawn(move |(), _| {
        promise.fulfil(());
        // Waits until this task is the last owner.
        while Arc::strong_count(&last) > 1 {
            thread::yield_now();
        }
        drop(last);
    });
    drop(rt);
    // From now on the runtime ends by itself.
    let _ = begun.join();
}
