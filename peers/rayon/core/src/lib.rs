//! rayon-core's unit tests as `.ci/rayon` copies them. They use these modules of their crate.

#![forbid(unsafe_code)]

#![cfg(test)]

pub use rayon_core::*;

#[path = "../copied/test.rs"]
mod pools;

#[path = "../copied/broadcast"]
mod broadcast {
    mod test;
}

#[path = "../copied/join"]
mod join {
    use crate::unwind;
    use rayon_core::{join, join_context};
    mod test;
}

#[path = "../copied/scope"]
mod scope {
    mod test;
}

#[path = "../copied/spawn"]
mod spawn {
    use rayon_core::{spawn, spawn_fifo};
    mod test;
}

#[path = "../copied/thread_pool"]
mod thread_pool {
    mod test;
}

mod unwind {
    pub fn halt_unwinding<R>(body: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(body))
    }
}

mod registry {
    /// Calls a function on a worker.
    pub fn in_worker<R: Send>(body: impl FnOnce((), bool) -> R + Send) -> R {
        rayon_core::scope(|_| body((), false))
    }
}
