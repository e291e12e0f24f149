//! The cases on other runtimes, in the idiomatic style of each, and on atomics.

pub(super) mod atomics;
#[allow(unsafe_code, reason = "reads a tree without checks: no thread changes it")]
pub(super) mod lookups;
pub(super) mod rayon;
mod spin;
pub(super) mod tokio;
