//! Where tasks go and how workers run them.

mod build_error;
mod burst;
mod context;
mod driver;
#[cfg(feature = "std")]
mod export;
mod follow;
mod free;
mod observed;
mod placement;
mod ranked;
mod reclaim;
mod runtime;
mod shared;
mod staff;
mod tally;

pub use build_error::BuildError;
pub use context::Context;
pub use driver::{Driver, Progress};
pub use runtime::{Builder, Runtime, Shutdown};
pub(crate) use shared::{Seat, Shared};
pub(crate) use tally::Tally;
