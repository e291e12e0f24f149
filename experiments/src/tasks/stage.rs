//! What a case runs on: this runtime and perhaps a peer, with the same number of workers, each on a core of its own where
//! there are enough.

use super::cases::Who;
use crate::failure::Failure;
use crate::machine::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use xtasking::Runtime;

/// All that a case can run on.
pub(super) struct Stage {
    pub(super) workers: usize,
    pub(super) seed: u64,
    /// This runtime.
    pub(super) own: Runtime,
    rayon: Option<rayon::ThreadPool>,
    tokio: Option<tokio::runtime::Runtime>,
}

impl Stage {
    /// Starts those that take part.
    pub(super) fn new(workers: usize, seed: u64, who: &[Who]) -> Result<Self, Failure> {
        let refused = |name: &str, error: &dyn std::fmt::Display| {
            Failure::Usage(format!("--workers: {name} cannot start {workers} workers: {error}"))
        };
        let own = Runtime::builder().workers(workers).build().map_err(|error| refused("xtasking", &error))?;
        let rayon = || {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(workers);
            let builder = builder.start_handler(move |index| pin(index, workers));
            builder.build().map_err(|error| refused("rayon", &error))
        };
        let tokio = || {
            let index = AtomicUsize::new(0);
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(workers);
            builder.on_thread_start(move || pin(index.fetch_add(1, Ordering::Relaxed), workers));
            builder.build().map_err(|error| refused("tokio", &error))
        };
        Ok(Self {
            workers,
            seed,
            own,
            rayon: who.contains(&Who::Rayon).then(rayon).transpose()?,
            tokio: who.contains(&Who::Tokio).then(tokio).transpose()?,
        })
    }

    /// Rayon's pool; only its own cases ask for it.
    pub(super) fn rayon(&self) -> &rayon::ThreadPool {
        self.rayon.as_ref().expect("its cases only run if it takes part")
    }

    /// Tokio's runtime; only its own cases ask for it.
    pub(super) fn tokio(&self) -> &tokio::runtime::Runtime {
        self.tokio.as_ref().expect("its cases only run if it takes part")
    }

    /// Lets all idle workers fall asleep, and what was dropped be freed, before somebody else's turn.
    pub(super) fn settle(&self) {
        thread::sleep(Duration::from_millis(2));
    }
}
