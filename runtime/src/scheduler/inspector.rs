//! Inspectors: a runtime seen from outside while it runs, recorded on demand.

use super::runtime_state::phase;
use super::{Runtime, RuntimeState};
use crate::monitor::{Inspection, RECORDED_EVENTS, Timeline};
use alloc::sync::{Arc, Weak};
use core::fmt;
use core::time::Duration;

/// Looks at a runtime while it runs; from [`Runtime::inspector`].
///
/// It does not keep the runtime running, nor its memory, and may be cloned and sent to any thread.
///
/// ```
/// use xtasking::Runtime;
///
/// let rt = Runtime::builder().workers(2).inspection(true).build()?;
/// let inspector = rt.inspector().expect("inspection is on");
/// let recording = inspector.record();
/// let stock = rt.plain(10u32).name("stock").build();
/// rt.task(stock.write()).name("sell").submit(|stock, _| *stock -= 3).join()?;
///
/// let inspection = inspector.snapshot().expect("the runtime has not ended");
/// assert!(inspection.is_recording);
/// assert_eq!((&inspection.kinds[0].name[..], inspection.kinds[0].finished), ("sell", 1));
/// assert_eq!(inspection.objects[0].object.name.as_deref(), Some("stock"));
/// drop(recording);
/// drop(rt);
/// assert!(inspector.snapshot().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Inspector {
    shared: Weak<RuntimeState>,
}

/// Makes a runtime record what its tasks do, until it is dropped; from [`Inspector::record`].
///
/// Several may be active at once, and share what is recorded. Recording costs some 2,000
/// instructions for each run of a task. A worker that is inside a task begins to record after that
/// task.
#[must_use = "the recording ends when it is dropped"]
pub struct Recording {
    shared: Weak<RuntimeState>,
}

impl Runtime {
    /// Returns what looks at this runtime while it runs. `None` unless
    /// [`Builder::inspection`](crate::Builder::inspection) is on.
    pub fn inspector(&self) -> Option<Inspector> {
        self.shared.observer.as_ref()?.demand.as_ref()?;
        Some(Inspector { shared: Arc::downgrade(&self.shared) })
    }
}

impl Inspector {
    /// Begins to record what tasks and workers do: names, times, objects, claims and events. Ends
    /// when the guard is dropped, if no other is left.
    ///
    /// Without a recording a [snapshot](Self::snapshot) has counts, queues, memory and epochs only.
    /// If the runtime has ended, nothing is recorded.
    pub fn record(&self) -> Recording {
        if let Some(shared) = self.shared.upgrade() {
            shared.begin_recording();
        }
        Recording { shared: self.shared.clone() }
    }

    /// Returns what the runtime looks like now; `None` once it has ended.
    ///
    /// A worker that ends a task while its records are copied waits for some microseconds.
    pub fn snapshot(&self) -> Option<Inspection> {
        self.open()?.inspection()
    }

    /// Returns the events of the last `span` that a recording has kept, for Perfetto. `None` once
    /// the runtime has ended.
    ///
    /// At most [`EVENTS`](Self::EVENTS) of each worker are kept: the last ones. They are dropped
    /// with the last [`Recording`]. A worker waits for some microseconds at a time while they are
    /// copied; so the first of a full record may be missing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).inspection(true).build()?;
    /// let inspector = rt.inspector().expect("inspection is on");
    /// let recording = inspector.record();
    /// rt.task(()).name("first").submit(|(), _| ()).join()?;
    /// let timeline = inspector.timeline(Duration::from_secs(2)).expect("the runtime runs");
    /// let file = timeline.to_string();
    /// drop(recording);
    /// # assert!(file.contains("traceEvents"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timeline(&self, span: Duration) -> Option<Timeline> {
        let shared = self.open()?;
        Some(Timeline::last(shared.observer.as_ref()?, span, &shared.names))
    }

    /// The largest number of events of each worker that are kept for a [timeline](Self::timeline).
    pub const EVENTS: usize = RECORDED_EVENTS;

    fn open(&self) -> Option<Arc<RuntimeState>> {
        self.shared.upgrade().filter(|shared| shared.phase() != phase::STOPPED)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.end_recording();
        }
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").finish_non_exhaustive()
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}
