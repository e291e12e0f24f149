//! What the transfers of a turn are, and when they are due.

use super::transfer::Transfer;
use std::fmt;
use std::time::Duration;
use xtasking_harness::random::Random;

/// What is asked of a server in one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Load {
    /// As many transfers as the server serves, each connection sending one after another.
    Closed(Pattern),
    /// Transfers of a length in microseconds that come at random moments, at this percentage of
    /// what the workers can serve.
    Open { micros: u32, percent: u32 },
}

/// Which accounts the transfers touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Any two.
    Uniform,
    /// Any one, and account 0.
    Hot,
    /// Any two; one transfer of a hundred panics.
    Panics,
}

/// The largest amount of a transfer.
const MOST: u64 = 100;
/// One in this many transfers of [`Pattern::Panics`] fails.
const TRANSFERS_PER_PANIC: u64 = 100;

impl Load {
    /// Returns the pattern of its transfers.
    pub fn pattern(self) -> Pattern {
        match self {
            Self::Closed(pattern) => pattern,
            Self::Open { .. } => Pattern::Uniform,
        }
    }

    /// Returns the moments at which transfers are due, from the begin of the turn: a Poisson
    /// process. `None` in a closed loop.
    pub fn schedule(self, workers: usize, time: Duration, seed: u64) -> Option<Vec<Duration>> {
        let Self::Open { micros, percent } = self else { return None };
        let gap = f64::from(micros) / workers as f64 * 100.0 / f64::from(percent);
        let mut random = Random::new(seed, &[1, micros.into(), percent.into()]);
        let mut due = 0.0;
        let moments = std::iter::from_fn(|| {
            due -= gap * (-random.fraction()).ln_1p();
            Some(Duration::from_secs_f64(due / 1e6))
        });
        Some(moments.take_while(|due| *due < time).collect())
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(Pattern::Uniform) => f.write_str("any accounts"),
            Self::Closed(Pattern::Hot) => f.write_str("a hot account"),
            Self::Closed(Pattern::Panics) => f.write_str("1% panics"),
            Self::Open { micros, percent } => write!(f, "{micros} µs at {percent}%"),
        }
    }
}

/// The transfers of one connection.
pub(super) struct Transfers {
    random: Random,
    pattern: Pattern,
    accounts: u64,
    steps: u64,
}

impl Transfers {
    /// Returns the transfers of a connection, each with a computation of this many steps.
    pub fn new(pattern: Pattern, accounts: usize, steps: u64, seed: u64, connection: usize) -> Self {
        let random = Random::new(seed, &[0, connection as u64]);
        Self { random, pattern, accounts: accounts as u64, steps }
    }

    /// Draws the next transfer, between two different accounts.
    pub fn draw(&mut self) -> Transfer {
        let Self { random, pattern, accounts, steps } = self;
        let from = random.below(*accounts);
        let to = match pattern {
            Pattern::Hot if from != 0 => 0,
            _ => (from + 1 + random.below(*accounts - 1)) % *accounts,
        };
        let fails = *pattern == Pattern::Panics && random.below(TRANSFERS_PER_PANIC) == 0;
        let amount = 1 + random.below(MOST) as i64;
        Transfer { from: from as u32, to: to as u32, amount, steps: *steps, fails }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_are_between_two_accounts() {
        for pattern in [Pattern::Uniform, Pattern::Hot, Pattern::Panics] {
            let mut transfers = Transfers::new(pattern, 5, 0, 7, 3);
            let drawn: Vec<_> = (0..10_000).map(|_| transfers.draw()).collect();
            assert!(
                drawn
                    .iter()
                    .all(|transfer| transfer.from != transfer.to && transfer.from.max(transfer.to) < 5)
            );
            let hot = drawn.iter().filter(|transfer| transfer.from == 0 || transfer.to == 0).count();
            assert_eq!(hot == drawn.len(), pattern == Pattern::Hot);
            let fails = drawn.iter().filter(|transfer| transfer.fails).count();
            assert_eq!(fails > 0, pattern == Pattern::Panics);
            assert!(fails < 300);
        }
    }

    #[test]
    fn a_schedule_has_the_rate_of_its_load() {
        let load = Load::Open { micros: 100, percent: 80 };
        let schedule = load.schedule(2, Duration::from_secs(2), 5).unwrap();
        assert!((31_000..33_000).contains(&schedule.len()), "{}", schedule.len());
        assert!(schedule.is_sorted());
        assert!(Load::Closed(Pattern::Hot).schedule(2, Duration::from_secs(2), 5).is_none());
    }
}
