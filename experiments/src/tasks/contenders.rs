//! The contenders by name.

use super::stage::{Setting, Stage};
use xtasking_harness::lineup;

/// A contender, as cases name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contender {
    Xtasking,
    Atomics,
    Limit,
    Rayon,
    Tokio,
}

impl Contender {
    /// Returns the name for `--against` and in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Xtasking => "xtasking",
            Self::Atomics => "atomics",
            Self::Limit => "limit",
            Self::Rayon => "rayon",
            Self::Tokio => "tokio",
        }
    }
}

pub(super) type Entry = lineup::Entry<Stage, Contender, Setting>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    Entry {
        name: "xtasking",
        about: "the runtime of XTasking",
        is_parallel: true,
        start: Stage::new,
        more: Contender::Xtasking,
    },
    Entry {
        name: "atomics",
        about: "two threads that spin on two atomic words: the lower bound of a round trip",
        is_parallel: true,
        start: Stage::new,
        more: Contender::Atomics,
    },
    Entry {
        name: "limit",
        about: "the same tree by hand, without runtime or checks: the lower bound of a lookup",
        is_parallel: true,
        start: Stage::new,
        more: Contender::Limit,
    },
    Entry {
        name: "rayon",
        about: "rayon, a work-stealing pool: scope, spawn and install",
        is_parallel: true,
        start: Stage::with_rayon,
        more: Contender::Rayon,
    },
    Entry {
        name: "tokio",
        about: "tokio, the multi-threaded executor of futures",
        is_parallel: true,
        start: Stage::with_tokio,
        more: Contender::Tokio,
    },
];

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn entries_and_contenders_have_the_same_names() {
        for entry in ALL {
            assert_eq!(entry.name, entry.more.name());
        }
    }
}
