//! The cases on the runtimes of others, written as their users would, and on bare atomics.

pub(super) mod atomics;
pub(super) mod rayon;
pub(super) mod tokio;
