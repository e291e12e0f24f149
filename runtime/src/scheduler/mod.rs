//! Where tasks go and how workers run them.

mod context;
mod driver;
#[cfg(feature = "std")]
mod export;
mod observed;
mod placement;
mod reclaim;
mod runtime;
mod shared;

pub use context::Context;
pub use driver::{Driver, Progress};
pub use runtime::{BuildError, Builder, Runtime, Shutdown};
pub(crate) use shared::{Seat, Shared};
