//! Checks the memory of the process from round to round.

use std::fmt;
use xtasking_harness::failure::Wrong;
use xtasking_harness::machine::resident_memory;

/// The largest of the first rounds, which differ, sets the bound for all others.
const WARM_UP: usize = 8;
/// Bytes that allocators may retain beyond that: far less than a leak adds in some minutes.
const SLACK: u64 = 64 << 20;

/// Checks memory between rounds, when there is no runtime.
#[derive(Default)]
pub(super) struct Growth {
    rounds: usize,
    first: u64,
    bound: u64,
    last: u64,
}

impl Growth {
    /// Checks memory after a round.
    pub(super) fn check(&mut self) -> Result<(), Wrong> {
        self.check_against(resident_memory().unwrap_or(0))
    }

    fn check_against(&mut self, resident: u64) -> Result<(), Wrong> {
        if self.rounds == 0 {
            self.first = resident;
        }
        self.rounds += 1;
        self.last = resident;
        if self.rounds <= WARM_UP {
            self.bound = self.bound.max(resident + SLACK);
        } else if resident > self.bound {
            let text = format!("{} of memory is in use after round {}", mebibytes(resident), self.rounds);
            return Err(Wrong::new(format!("{text}; the bound is {}", mebibytes(self.bound))));
        }
        Ok(())
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.last == 0 {
            return f.write_str("resident memory was not checked: this system does not report it");
        }
        write!(
            f,
            "resident memory between rounds: {} at first, {} at last",
            mebibytes(self.first),
            mebibytes(self.last)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_memory_is_detected() {
        let mut growth = Growth::default();
        let sizes = (0..).map(|round| (100 << 20) + round * (1 << 20));
        let round = sizes.take(1000).position(|resident| growth.check_against(resident).is_err());
        assert_eq!(round, Some(WARM_UP + 64));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn resident_memory_is_reported() {
        assert!(resident_memory().unwrap() > 1 << 20);
    }
}
