//! Defines the command line of the soak test.

use clap::Parser;
use std::ops::RangeInclusive;
use std::time::Duration;
use xtasking_harness::common::check_range;
use xtasking_harness::failure::Failure;

/// Run random load and misuse for any length of time, with every result checked. Exits with 1 and
/// the seed if something is wrong.
///
/// The load is derived from the seed, but thread interleavings are not: a failing seed may take
/// several attempts.
#[derive(Clone, Debug, Parser)]
#[command(name = "xtasking-soak", version)]
pub struct Options {
    /// Length of the test in seconds; the last round is completed
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub seconds: u64,

    /// Maximal number of workers of a round; best more than there are cores
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub workers: usize,

    /// Seed of the first round; each round adds 1
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,

    /// Seconds without any progress that count as a hang
    #[arg(long, value_name = "N", default_value_t = 120)]
    pub patience: u64,

    /// Print every round as it ends, on the error stream
    #[arg(long, short)]
    pub verbose: bool,
}

/// Numbers of workers of a runtime.
const WORKERS: RangeInclusive<usize> = 1..=256;
/// In seconds.
const A_YEAR: u64 = 365 * 24 * 3600;

impl Options {
    /// Refuses options that cannot work.
    pub(super) fn check(&self) -> Result<(), Failure> {
        check_range("--workers", self.workers, &WORKERS, "")?;
        check_range("--seconds", self.seconds, &(0..=A_YEAR), "")?;
        check_range("--patience", self.patience, &(1..=A_YEAR), "seconds")?;
        Ok(())
    }

    /// Describes the options for the report.
    pub(super) fn describe(&self) -> String {
        let Self { seconds, workers, seed, .. } = self;
        format!("soak      {seconds} s · up to {workers} workers · seed {seed}")
    }

    /// Returns the command that begins with the round of a seed.
    pub(super) fn repeat(&self, seed: u64) -> String {
        format!("xtasking-soak --seed {seed} --workers {} --seconds {}", self.workers, self.seconds)
    }

    /// Returns the time without progress that counts as a hang.
    pub(super) fn hang(&self) -> Duration {
        Duration::from_secs(self.patience)
    }
}
