//! What the runtime counts about itself.

mod counters;

pub use counters::{Allocation, Snapshot};
pub(crate) use counters::{Counter, Counters};
