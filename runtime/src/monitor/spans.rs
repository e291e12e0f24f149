//! Spans of the crate `tracing`, one for each run of a task.

use super::{Description, Touched};
use crate::task::{catch, discard, drop_quietly};
use core::fmt;
use tracing::span::EnteredSpan;
use tracing::{Level, enabled, span};

/// The target of the spans.
const TARGET: &str = "xtasking";

/// The span of a task that runs; leaves it when dropped.
pub(crate) struct TaskSpan(Option<EnteredSpan>);

impl Drop for TaskSpan {
    fn drop(&mut self) {
        drop_quietly(self.0.take());
    }
}

/// Enters the span of a task that begins to run, if a subscriber is interested. A panic of the
/// subscriber is discarded: the task must not be lost by it.
pub(crate) fn enter(worker: usize, describe: impl FnOnce() -> Description) -> TaskSpan {
    TaskSpan(catch(|| enter_span(worker, describe)).unwrap_or_else(|payload| {
        discard(payload);
        None
    }))
}

fn enter_span(worker: usize, describe: impl FnOnce() -> Description) -> Option<EnteredSpan> {
    // The description is only made then.
    if !enabled!(target: TARGET, Level::INFO) {
        return None;
    }
    let Description { task, objects } = describe();
    let span = span!(target: TARGET, Level::INFO, "task", task, worker, objects = %Objects(&objects));
    Some(span.entered())
}

/// The objects of a task, as text.
struct Objects<'a>(&'a [Option<Touched>]);

impl fmt::Display for Objects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, object) in self.0.iter().flatten().enumerate() {
            write!(f, "{}{object}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
