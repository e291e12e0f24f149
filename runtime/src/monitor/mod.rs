//! What the runtime counts and reports about itself.
//!
//! | file | what is in it |
//! |---|---|
//! | `counters` | counters of each worker |
//! | `histogram` | histograms of durations |
//! | `inspection` | what an inspected runtime looks like |
//! | `observation` | what is to be observed, by the builder and the environment |
//! | `observer` | times of each task and each worker |
//! | `posts` | what runs on each worker |
//! | `sessions` | the times during which a runtime is recorded on demand |
//! | `spans` | spans of the crate `tracing` |
//! | `statistics` | the numbers that a runtime reports |
//! | `timeline` | the last events of each worker, for Perfetto |
//! | `watchdog` | reports of tasks that run too long |

mod counters;
mod histogram;
mod inspection;
mod observation;
mod observer;
mod posts;
mod sessions;
#[cfg(feature = "tracing")]
pub(crate) mod spans;
mod statistics;
mod timeline;
mod watchdog;

pub use counters::{Allocation, Counters};
pub(crate) use counters::{Counter, WorkerCounters};
pub use histogram::{Bucket, Histogram};
pub use inspection::{
    Activity, EpochLag, Inspection, ObjectLabel, ObjectUse, RunningInspection, TaskKind, WaitingClaim,
    WorkerInspection,
};
pub(crate) use observation::Observation;
pub(crate) use observer::{LEAD, Lead, Observer, RECORDED_EVENTS, Record};
pub use posts::RunningTask;
pub(crate) use posts::{Posts, Running};
pub(crate) use sessions::Sessions;
pub use statistics::{Statistics, WorkerStatistics};
pub use timeline::Timeline;
pub(crate) use timeline::{Event, Ran, What};
pub use watchdog::{Description, Overrun, Touched};
pub(crate) use watchdog::{Hook, Watchdog};
