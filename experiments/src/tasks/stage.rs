//! The runtimes that a case runs on: this one, and a peer if it needs one, with the same number of
//! workers.

use xtasking::Runtime;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{start_own, start_rayon, start_tokio};

/// The settings of a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) workers: usize,
    pub(super) seed: u64,
}

/// The runtimes that a case can run on.
pub(super) struct Stage {
    pub(super) workers: usize,
    pub(super) seed: u64,
    /// The runtime of XTasking.
    pub(super) own: Runtime,
    rayon: Option<rayon::ThreadPool>,
    tokio: Option<tokio::runtime::Runtime>,
}

impl Stage {
    /// Starts XTasking.
    pub(super) fn new(Setting { workers, seed }: Setting) -> Result<Self, Failure> {
        Ok(Self { workers, seed, own: start_own(workers)?, rayon: None, tokio: None })
    }

    /// Starts XTasking and rayon.
    pub(super) fn with_rayon(setting: Setting) -> Result<Self, Failure> {
        Ok(Self { rayon: Some(start_rayon(setting.workers)?), ..Self::new(setting)? })
    }

    /// Starts XTasking and tokio.
    pub(super) fn with_tokio(setting: Setting) -> Result<Self, Failure> {
        Ok(Self { tokio: Some(start_tokio(setting.workers)?), ..Self::new(setting)? })
    }

    /// Returns rayon's pool, for runs on rayon only.
    pub(super) fn rayon(&self) -> &rayon::ThreadPool {
        self.rayon.as_ref().expect("the contender has started it")
    }

    /// Returns tokio's runtime, for runs on tokio only.
    pub(super) fn tokio(&self) -> &tokio::runtime::Runtime {
        self.tokio.as_ref().expect("the contender has started it")
    }
}
