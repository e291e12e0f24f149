//! What is measured, by whom: a table.

use super::own::objects::{
    self, CopyLatched, CopySequenced, ReaderWriter, Sequenced, Spin, VersionLatched, VersionSequenced,
};
use super::own::{several, spawning};
use super::peers::{atomics, rayon, tokio};
use super::stage::Stage;
use crate::ycsb::plan::Wrong;
use std::time::Duration;

/// Who can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Xtasking,
    Atomics,
    Rayon,
    Tokio,
}

impl Who {
    /// All of them. The first always takes part, and ratios are those to it.
    pub(super) const ALL: [Self; 4] = [Self::Xtasking, Self::Atomics, Self::Rayon, Self::Tokio];

    /// The name for `--against` and in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Xtasking => "xtasking",
            Self::Atomics => "atomics",
            Self::Rayon => "rayon",
            Self::Tokio => "tokio",
        }
    }

    /// What it is, in one line.
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Xtasking => "this runtime",
            Self::Atomics => "two threads and two words: the floor of a round trip",
            Self::Rayon => "a pool that steals: scopes, spawns and install",
            Self::Tokio => "an executor of futures, on several threads",
        }
    }
}

/// With which numbers of workers a case makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// Nothing depends on the others.
    One,
    /// It is about more than one.
    Several,
    /// Any.
    Any,
}

impl Span {
    /// Whether it includes a number of workers.
    pub(super) fn allows(self, workers: usize) -> bool {
        match self {
            Self::One => workers == 1,
            Self::Several => workers > 1,
            Self::Any => true,
        }
    }
}

/// One thing to measure.
pub(super) struct Case {
    /// Its name in results.
    pub(super) name: &'static str,
    /// What happens, in one line.
    pub(super) about: &'static str,
    pub(super) span: Span,
    /// Who can do it; this runtime first.
    pub(super) runs: &'static [Run],
    /// Who cannot, and why.
    pub(super) skipped: &'static [(Who, &'static str)],
}

/// A case on one implementation.
pub(super) struct Run {
    pub(super) who: Who,
    /// It runs that part of the tasks, so that those that take longer a task take no longer in all.
    share: u64,
    /// Runs that many tasks, checks them, and gives the time from the first spawn to the last task.
    pub(super) body: fn(&Stage, u64) -> Result<Duration, Wrong>,
}

impl Run {
    /// How many tasks it runs, if the cheapest case runs so many.
    pub(super) fn tasks(&self, most: u64) -> u64 {
        (most / self.share).max(10)
    }
}

type Body = fn(&Stage, u64) -> Result<Duration, Wrong>;

const fn own(share: u64, body: Body) -> Run {
    Run { who: Who::Xtasking, share, body }
}

const fn rayon(share: u64, body: Body) -> Run {
    Run { who: Who::Rayon, share, body }
}

const fn tokio(share: u64, body: Body) -> Run {
    Run { who: Who::Tokio, share, body }
}

/// The cases of one primitive and one mode: alone on a worker, and met by all workers.
macro_rules! case {
    (one $name:literal, $body:expr) => {
        Case {
            name: concat!($name, ", one object"),
            about: "tasks on one object, one worker",
            span: Span::One,
            runs: &[own(2, $body)],
            skipped: &[],
        }
    };
    (many $name:literal, $body:expr) => {
        Case {
            name: concat!($name, ", many objects"),
            about: "tasks on any of 32768 objects, one worker",
            span: Span::One,
            runs: &[own(2, $body)],
            skipped: &[],
        }
    };
    (mixed $name:literal, $body:expr) => {
        Case {
            name: concat!($name, ", contended"),
            about: "tasks of all workers on one object, half of them reading",
            span: Span::Several,
            runs: &[own(4, $body)],
            skipped: &[],
        }
    };
    (contended $name:literal, $body:expr) => {
        Case {
            name: concat!($name, ", contended"),
            about: "tasks of all workers on one object",
            span: Span::Several,
            runs: &[own(4, $body)],
            skipped: &[],
        }
    };
}

/// All cases, in the order in which they run.
pub(super) static ALL: &[Case] = &[
    Case {
        name: "spawn-run local",
        about: "empty tasks of one worker, 128 waiting at a time",
        span: Span::One,
        runs: &[own(1, spawning::local), rayon(4, rayon::local), tokio(8, tokio::local)],
        skipped: &[],
    },
    Case {
        name: "spawn-run local deep",
        about: "the same, all waiting before the first one runs",
        span: Span::One,
        runs: &[own(2, spawning::deep), rayon(2, rayon::deep), tokio(4, tokio::deep)],
        skipped: &[],
    },
    Case {
        name: "spawn-run local annotated",
        about: "the same as local, annotated with the worker that they are on",
        span: Span::One,
        runs: &[own(1, spawning::annotated)],
        skipped: &[],
    },
    Case {
        name: "spawn-run local 128 bytes",
        about: "the same as local, with a load of 64 bytes: the next size of descriptors",
        span: Span::One,
        runs: &[own(1, spawning::large)],
        skipped: &[],
    },
    Case {
        name: "spawn chain",
        about: "one task after another",
        span: Span::Any,
        runs: &[own(2, spawning::chain), rayon(8, rayon::chain), tokio(16, tokio::chain)],
        skipped: &[],
    },
    Case {
        name: "one spawner, kept",
        about: "one worker spawns empty tasks for itself, the others have nothing to do",
        span: Span::Several,
        runs: &[own(2, spawning::local)],
        skipped: &[(Who::Rayon, "it cannot keep tasks"), (Who::Tokio, "it cannot keep tasks")],
    },
    Case {
        name: "one spawner, spread",
        about: "one worker spawns for all in turn, by annotation; peers steal",
        span: Span::Several,
        runs: &[own(2, spawning::spread), rayon(8, rayon::deep), tokio(16, tokio::deep)],
        skipped: &[],
    },
    Case {
        name: "round trip",
        about: "to the other worker and back, by annotation; rayon by theft",
        span: Span::Several,
        runs: &[
            own(16, spawning::round_trip),
            Run { who: Who::Atomics, share: 16, body: atomics::round_trip },
            rayon(32, rayon::round_trip),
        ],
        skipped: &[(Who::Tokio, "nothing makes a task of it leave its worker")],
    },
    Case {
        name: "external",
        about: "empty tasks spawned by a thread that is no worker",
        span: Span::Any,
        runs: &[own(8, spawning::external), rayon(16, rayon::external), tokio(16, tokio::external)],
        skipped: &[],
    },
    Case {
        name: "submit-join",
        about: "a thread that is no worker waits for each task",
        span: Span::Any,
        runs: &[own(256, spawning::submit_join), rayon(256, rayon::install), tokio(256, tokio::spawn_await)],
        skipped: &[],
    },
    case!(one "sequencing, write", objects::write_one::<Sequenced>),
    case!(many "sequencing, write", objects::write_many::<Sequenced>),
    case!(contended "sequencing, write", objects::write_one::<Sequenced>),
    case!(one "spin latch, write", objects::write_one::<Spin>),
    case!(many "spin latch, write", objects::write_many::<Spin>),
    case!(contended "spin latch, write", objects::write_one::<Spin>),
    case!(one "reader/writer latch, write", objects::write_one::<ReaderWriter>),
    case!(many "reader/writer latch, write", objects::write_many::<ReaderWriter>),
    case!(contended "reader/writer latch, write", objects::write_one::<ReaderWriter>),
    case!(one "reader/writer latch, read", objects::read_one::<ReaderWriter>),
    case!(many "reader/writer latch, read", objects::read_many::<ReaderWriter>),
    case!(contended "reader/writer latch, read", objects::read_one::<ReaderWriter>),
    case!(mixed "reader/writer latch, read and write", objects::mix_one::<ReaderWriter>),
    case!(one "version, sequenced, write", objects::write_one::<VersionSequenced>),
    case!(many "version, sequenced, write", objects::write_many::<VersionSequenced>),
    case!(contended "version, sequenced, write", objects::write_one::<VersionSequenced>),
    case!(one "version, sequenced, read", objects::read_one::<VersionSequenced>),
    case!(many "version, sequenced, read", objects::read_many::<VersionSequenced>),
    case!(contended "version, sequenced, read", objects::read_one::<VersionSequenced>),
    case!(mixed "version, sequenced, read and write", objects::mix_one::<VersionSequenced>),
    case!(one "version, latched, write", objects::write_one::<VersionLatched>),
    case!(many "version, latched, write", objects::write_many::<VersionLatched>),
    case!(contended "version, latched, write", objects::write_one::<VersionLatched>),
    case!(one "version, latched, read", objects::read_one::<VersionLatched>),
    case!(many "version, latched, read", objects::read_many::<VersionLatched>),
    case!(contended "version, latched, read", objects::read_one::<VersionLatched>),
    case!(mixed "version, latched, read and write", objects::mix_one::<VersionLatched>),
    case!(one "copies, sequenced, write", objects::write_one::<CopySequenced>),
    case!(many "copies, sequenced, write", objects::write_many::<CopySequenced>),
    case!(contended "copies, sequenced, write", objects::write_one::<CopySequenced>),
    case!(one "copies, sequenced, read", objects::read_one::<CopySequenced>),
    case!(many "copies, sequenced, read", objects::read_many::<CopySequenced>),
    case!(contended "copies, sequenced, read", objects::read_one::<CopySequenced>),
    case!(mixed "copies, sequenced, read and write", objects::mix_one::<CopySequenced>),
    case!(one "copies, latched, write", objects::write_one::<CopyLatched>),
    case!(many "copies, latched, write", objects::write_many::<CopyLatched>),
    case!(contended "copies, latched, write", objects::write_one::<CopyLatched>),
    case!(one "copies, latched, read", objects::read_one::<CopyLatched>),
    case!(many "copies, latched, read", objects::read_many::<CopyLatched>),
    case!(contended "copies, latched, read", objects::read_one::<CopyLatched>),
    case!(mixed "copies, latched, read and write", objects::mix_one::<CopyLatched>),
    Case {
        name: "two objects, one home",
        about: "tasks of all workers that write two sequenced objects of worker 0",
        span: Span::Any,
        runs: &[own(16, several::one_home)],
        skipped: &[],
    },
    Case {
        name: "two objects, two homes",
        about: "the same with objects of workers 0 and 1",
        span: Span::Several,
        runs: &[own(16, several::two_homes)],
        skipped: &[],
    },
    Case {
        name: "two objects, latched",
        about: "tasks of all workers that write two objects under spin latches",
        span: Span::Any,
        runs: &[own(16, several::latched)],
        skipped: &[],
    },
];
