//! The command line of the soak test.

use crate::failure::Failure;
use clap::Args;
use std::time::Duration;

/// Load and abuse for as long as you like, every result checked. Exits with 1 and the seed if something is wrong.
///
/// What is done comes from the seed, which thread is faster does not: a failing seed may take several attempts.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// How long; the last round is completed
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub seconds: u64,

    /// The most workers of a round; more than there are cores is best
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub workers: usize,

    /// Where all chance comes from; each round adds 1
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,

    /// How many seconds without any progress count as a hang
    #[arg(long, value_name = "N", default_value_t = 120)]
    pub patience: u64,

    /// Tell every round as it ends, on the error stream
    #[arg(long, short)]
    pub verbose: bool,
}

/// The most workers that a runtime can have here.
const MAX_WORKERS: usize = 256;

impl Options {
    /// Refuses what cannot work.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let refuse = |text: String| Err(Failure::Usage(text));
        if !(1..=MAX_WORKERS).contains(&self.workers) {
            return refuse(format!("--workers is {}; choose 1 to {MAX_WORKERS}", self.workers));
        }
        if self.patience == 0 {
            return refuse("--patience: 0 would call everything a hang; choose 1 or more".to_string());
        }
        Ok(())
    }

    /// The options for people.
    pub(super) fn describe(&self) -> String {
        let Self { seconds, workers, seed, .. } = self;
        format!("soak      {seconds} s · up to {workers} workers · seed {seed}")
    }

    /// The command that begins with the round of a seed.
    pub(super) fn repeat(&self, seed: u64) -> String {
        format!("xtasking soak --seed {seed} --workers {} --seconds {}", self.workers, self.seconds)
    }

    /// How long nothing may happen.
    pub(super) fn hang(&self) -> Duration {
        Duration::from_secs(self.patience)
    }
}
