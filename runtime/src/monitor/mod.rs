//! What the runtime counts and reports about itself.
//!
//! | file | what is in it |
//! |---|---|
//! | `counters` | counters of each worker |
//! | `details` | what a worker records on demand |
//! | `histogram` | histograms of durations |
//! | `inspection` | what an inspected runtime looks like |
//! | `observation` | what is to be observed, by the builder and the environment |
//! | `observer` | times of each task and each worker |
//! | `posts` | what runs on each worker |
//! | `queue_lengths` | how many tasks wait for each object |
//! | `sessions` | the times during which a runtime is recorded on demand |
//! | `snapshot` | how the records of all workers become one inspection |
//! | `spans` | spans of the crate `tracing` |
//! | `stamps` | when tasks were queued, if that is recorded on demand |
//! | `statistics` | the numbers that a runtime reports |
//! | `timeline` | the last events of each worker, for Perfetto |
//! | `top_objects` | the objects with the greatest weights |
//! | `watchdog` | reports of tasks that run too long |

mod counters;
mod details;
mod histogram;
mod inspection;
mod observation;
mod observer;
mod posts;
mod queue_lengths;
mod sessions;
mod snapshot;
#[cfg(feature = "tracing")]
pub(crate) mod spans;
mod stamps;
mod statistics;
mod timeline;
mod top_objects;
mod watchdog;

pub use counters::{Allocation, Counters};
pub(crate) use counters::{Counter, WorkerCounters};
pub(crate) use details::{EndedRun, HeldGranules, RecordedRun};
pub use histogram::{Bucket, Histogram};
pub use inspection::{
    Activity, EpochLag, Inspection, ObjectLabel, ObjectUse, RunningInspection, TaskKind, WaitingClaim,
    WorkerInspection,
};
pub(crate) use observation::Observation;
pub(crate) use observer::{Arrival, LEAD, Observer, RECORDED_EVENTS, Record};
pub use posts::RunningTask;
pub(crate) use posts::{Posts, Running};
pub(crate) use sessions::Sessions;
pub(crate) use snapshot::Snapshot;
#[cfg(all(test, model = "loom"))]
pub(crate) use stamps::{Stamp, Stamps};
pub use statistics::{Statistics, WorkerStatistics};
pub use timeline::Timeline;
pub(crate) use timeline::{Event, Ran, What};
pub use watchdog::{Description, Overrun, Touched};
pub(crate) use watchdog::{Hook, Watchdog};
