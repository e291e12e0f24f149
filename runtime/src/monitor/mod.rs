//! What the runtime counts and tells about itself.

mod counters;
mod watchdog;

pub use counters::{Allocation, Snapshot};
pub(crate) use counters::{Counter, Counters};
pub use watchdog::{Description, Overrun, Touched};
pub(crate) use watchdog::{Hook, Watchdog};
