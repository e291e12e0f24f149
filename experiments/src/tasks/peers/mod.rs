//! The cases on other runtimes, in the idiomatic style of each, and on atomics.

pub(super) mod atomics;
pub(super) mod rayon;
mod spin;
pub(super) mod tokio;
