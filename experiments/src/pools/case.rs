//! The cases, and how each is measured.

use xtasking_harness::failure::Failure;
use xtasking_harness::suggestion::matching_cases;

/// A case of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Spawner,
    Fib,
    Cholesky,
    WatchedFib,
    WatchedCholesky,
    VirtualFib,
    VirtualCholesky,
    ComparedFib,
    ComparedCholesky,
}

/// How a case is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Mode threads, by the wall clock.
    Timed,
    /// Mode threads, by the time that each worker is busy.
    Watched,
    /// Mode virtual cores, by the time that each core is busy.
    Virtual,
    /// On threads and as many virtual cores, by the time until the last task has ended.
    Compared,
}

impl Case {
    pub(super) const ALL: [Self; 9] = [
        Self::Spawner,
        Self::Fib,
        Self::Cholesky,
        Self::WatchedFib,
        Self::WatchedCholesky,
        Self::VirtualFib,
        Self::VirtualCholesky,
        Self::ComparedFib,
        Self::ComparedCholesky,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Spawner => "spawner",
            Self::Fib => "fib",
            Self::Cholesky => "cholesky",
            Self::WatchedFib => "watched fib",
            Self::WatchedCholesky => "watched cholesky",
            Self::VirtualFib => "virtual fib",
            Self::VirtualCholesky => "virtual cholesky",
            Self::ComparedFib => "compared fib",
            Self::ComparedCholesky => "compared cholesky",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Spawner => "one task spawns empty tasks: ns per task",
            Self::Fib => "recursive Fibonacci, a task for each call: ns per task",
            Self::Cholesky => "Cholesky factorisation, a task for each step of each tile: ns per task",
            Self::WatchedFib => "fib: imbalance λ of the workers' busy times on threads",
            Self::WatchedCholesky => "cholesky: imbalance λ on threads",
            Self::VirtualFib => "fib: imbalance λ on virtual cores",
            Self::VirtualCholesky => "cholesky: imbalance λ on virtual cores, with modelled kernel times",
            Self::ComparedFib => "virtual fib: time on threads, whose tasks spin, ÷ time on virtual cores",
            Self::ComparedCholesky => "virtual cholesky: time on threads ÷ time on virtual cores",
        }
    }

    /// Returns how the case is measured.
    pub(super) fn mode(self) -> Mode {
        match self {
            Self::Spawner | Self::Fib | Self::Cholesky => Mode::Timed,
            Self::WatchedFib | Self::WatchedCholesky => Mode::Watched,
            Self::VirtualFib | Self::VirtualCholesky => Mode::Virtual,
            Self::ComparedFib | Self::ComparedCholesky => Mode::Compared,
        }
    }
}

/// Selects the cases whose names contain one of the words; without words, those of the modes
/// [`Timed`](Mode::Timed) and [`Virtual`](Mode::Virtual).
pub(super) fn select_cases(words: &[String]) -> Result<Vec<Case>, Failure> {
    let is_default = |case: &Case| matches!(case.mode(), Mode::Timed | Mode::Virtual);
    if words.is_empty() {
        return Ok(Case::ALL.into_iter().filter(is_default).collect());
    }
    let selected = matching_cases(words, &Case::ALL.map(Case::name)).map_err(Failure::Usage)?;
    Ok(selected.into_iter().map(|index| Case::ALL[index]).collect())
}
