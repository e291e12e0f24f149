//! What a case runs on: this runtime and perhaps a peer, with the same number of workers, each on a core of its own where
//! there are enough.

use super::cases::Who;
use crate::failure::Failure;
use crate::lineup::{start_own, start_rayon, start_tokio};
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
        Ok(Self {
            workers,
            seed,
            own: start_own(workers)?,
            rayon: who.contains(&Who::Rayon).then(|| start_rayon(workers)).transpose()?,
            tokio: who.contains(&Who::Tokio).then(|| start_tokio(workers)).transpose()?,
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
