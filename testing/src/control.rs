//! The controls of claims.

#[cfg(feature = "baselines")]
pub use xtasking::claims::{Control, Granularity};

/// The only control of builds without baselines.
#[cfg(not(feature = "baselines"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Tasks get granules in the order of their spawns.
    Fifo,
}
