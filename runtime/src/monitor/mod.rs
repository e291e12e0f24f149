//! What the runtime counts and tells about itself.

mod advice;
mod adviser;
mod counters;
mod histogram;
mod observation;
mod observer;
#[cfg(feature = "tracing")]
pub(crate) mod spans;
mod statistics;
mod timeline;
mod watchdog;

pub(crate) use advice::Reading;
pub use advice::{Advice, Reason};
pub(crate) use adviser::Adviser;
pub use counters::{Allocation, Snapshot};
pub(crate) use counters::{Counter, Counters};
pub use histogram::{Bucket, Histogram};
pub(crate) use observation::Observation;
pub(crate) use observer::{LEAD, Lead, Observer, Record};
pub use statistics::{Statistics, WorkerStatistics};
pub use timeline::Timeline;
pub(crate) use timeline::{Event, Ran, What};
pub use watchdog::{Description, Overrun, Touched};
pub(crate) use watchdog::{Hook, Watchdog};
