//! The table of cases, with the implementations that run each of them.

use super::contenders::Contender;
use super::own::objects::{
    self, CopyLatched, CopySequenced, ReaderWriter, Sequenced, Spin, VersionLatched, VersionSequenced,
};
use super::own::{lookups, several, spawning};
use super::peers::{self, atomics, rayon, tokio};
use super::stage::Stage;
use std::time::Duration;
use xtasking_harness::failure::Wrong;

/// The numbers of workers for which a case is meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerCount {
    /// One worker: the case does not depend on the number of workers.
    One,
    /// Two or more workers: the case measures their interaction.
    Several,
    /// Any number of workers.
    Any,
}

impl WorkerCount {
    /// Returns true if the case is meaningful for a number of workers.
    pub(super) fn allows(self, workers: usize) -> bool {
        match self {
            Self::One => workers == 1,
            Self::Several => workers > 1,
            Self::Any => true,
        }
    }
}

/// A case of the experiment.
pub(super) struct Case {
    /// The name in results.
    pub(super) name: &'static str,
    /// A one-line explanation for the help text.
    pub(super) about: &'static str,
    pub(super) workers: WorkerCount,
    /// The implementations that can run it, XTasking first.
    pub(super) runs: &'static [Run],
    /// Those that cannot, with the reason.
    pub(super) skipped: &'static [(Contender, &'static str)],
}

impl Case {
    /// Returns the run of an implementation, or `None` if it has none.
    pub(super) fn run_of(&self, contender: Contender) -> Option<&'static Run> {
        self.runs.iter().find(|run| run.contender == contender)
    }
}

/// A case on one implementation.
pub(super) struct Run {
    pub(super) contender: Contender,
    /// The number of tasks is divided by this, so that an expensive task does not prolong the run.
    divisor: u64,
    /// Runs a number of tasks and checks them; returns the time from the first spawn to the end of
    /// the last task.
    pub(super) body: fn(&Stage, u64) -> Result<Duration, Wrong>,
}

impl Run {
    /// Returns the number of tasks of this run if the cheapest case runs `cheapest`.
    pub(super) fn tasks(&self, cheapest: u64) -> u64 {
        (cheapest / self.divisor).max(10)
    }
}

type Body = fn(&Stage, u64) -> Result<Duration, Wrong>;

const fn own(divisor: u64, body: Body) -> Run {
    Run { contender: Contender::Xtasking, divisor, body }
}

const fn rayon(divisor: u64, body: Body) -> Run {
    Run { contender: Contender::Rayon, divisor, body }
}

const fn limit(divisor: u64, body: Body) -> Run {
    Run { contender: Contender::Limit, divisor, body }
}

const fn tokio(divisor: u64, body: Body) -> Run {
    Run { contender: Contender::Tokio, divisor, body }
}

/// The cases of one primitive and one access mode: one object, many objects, and one contended
/// object.
macro_rules! case {
    (one $name:literal, $body:expr) => {
        Case {
            name: concat!($name, ", one object"),
            about: "one worker, tasks on one object",
            workers: WorkerCount::One,
            runs: &[own(2, $body)],
            skipped: &[],
        }
    };
    (many $name:literal, $body:expr) => {
        Case {
            name: concat!($name, ", many objects"),
            about: "one worker, tasks on 32768 objects at random",
            workers: WorkerCount::One,
            runs: &[own(2, $body)],
            skipped: &[],
        }
    };
    (mixed $name:literal, $body:expr) => {
        Case {
            name: concat!($name, ", contended"),
            about: "all workers, tasks on one object, half of them reads",
            workers: WorkerCount::Several,
            runs: &[own(4, $body)],
            skipped: &[],
        }
    };
    (contended $name:literal, $body:expr) => {
        Case {
            name: concat!($name, ", contended"),
            about: "all workers, tasks on one object",
            workers: WorkerCount::Several,
            runs: &[own(4, $body)],
            skipped: &[],
        }
    };
}

/// All cases, in the order in which they run.
pub(super) static ALL: &[Case] = &[
    Case {
        name: "spawn-run local",
        about: "one worker spawns and runs empty tasks, 128 at a time",
        workers: WorkerCount::One,
        runs: &[own(1, spawning::local), rayon(4, rayon::local), tokio(8, tokio::local)],
        skipped: &[],
    },
    Case {
        name: "spawn-run local deep",
        about: "as local, but all tasks are spawned before the first one runs",
        workers: WorkerCount::One,
        runs: &[own(2, spawning::deep), rayon(2, rayon::deep), tokio(4, tokio::deep)],
        skipped: &[],
    },
    Case {
        name: "spawn-run local annotated",
        about: "as local, with tasks annotated with their own worker",
        workers: WorkerCount::One,
        runs: &[own(1, spawning::annotated)],
        skipped: &[],
    },
    Case {
        name: "spawn-run local 128 bytes",
        about: "as local, with 64 bytes of captured data, which need a larger descriptor",
        workers: WorkerCount::One,
        runs: &[own(1, spawning::large)],
        skipped: &[],
    },
    Case {
        name: "spawn chain",
        about: "each task spawns the next",
        workers: WorkerCount::Any,
        runs: &[own(2, spawning::chain), rayon(8, rayon::chain), tokio(16, tokio::chain)],
        skipped: &[],
    },
    Case {
        name: "one spawner, kept",
        about: "one worker spawns empty tasks for itself, the others are idle",
        workers: WorkerCount::Several,
        runs: &[own(2, spawning::local)],
        skipped: &[
            (Contender::Rayon, "it cannot keep tasks on a worker"),
            (Contender::Tokio, "it cannot keep tasks on a worker"),
        ],
    },
    Case {
        name: "one spawner, spread",
        about: "one worker spawns tasks for all in turn, by annotation; in peers, workers steal them",
        workers: WorkerCount::Several,
        runs: &[own(2, spawning::spread), rayon(8, rayon::deep), tokio(16, tokio::deep)],
        skipped: &[],
    },
    Case {
        name: "round trip",
        about: "a task to the other worker and one back, by annotation; in rayon by stealing",
        workers: WorkerCount::Several,
        runs: &[
            own(16, spawning::round_trip),
            Run { contender: Contender::Atomics, divisor: 16, body: atomics::round_trip },
            rayon(32, rayon::round_trip),
        ],
        skipped: &[(Contender::Tokio, "it cannot send a task to another worker")],
    },
    Case {
        name: "external",
        about: "empty tasks, spawned by a thread outside the runtime",
        workers: WorkerCount::Any,
        runs: &[own(8, spawning::external), rayon(16, rayon::external), tokio(16, tokio::external)],
        skipped: &[],
    },
    Case {
        name: "submit-join",
        about: "a thread outside the runtime submits a task and waits for its result",
        workers: WorkerCount::Any,
        runs: &[own(256, spawning::submit_join), rayon(256, rayon::install), tokio(256, tokio::spawn_await)],
        skipped: &[],
    },
    Case {
        name: "single get, in turn",
        about: "a thread looks up keys of a tree without a task, each after the result before it; median",
        workers: WorkerCount::One,
        runs: &[own(1, lookups::get::<true>), limit(1, peers::lookups::get::<true>)],
        skipped: &[],
    },
    Case {
        name: "single get, independent",
        about: "as in turn, but the processor may overlap the lookups",
        workers: WorkerCount::One,
        runs: &[own(1, lookups::get::<false>), limit(1, peers::lookups::get::<false>)],
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
        about: "all workers, tasks that write two sequenced objects of worker 0",
        workers: WorkerCount::Any,
        runs: &[own(16, several::one_home)],
        skipped: &[],
    },
    Case {
        name: "two objects, two homes",
        about: "as one home, with objects of workers 0 and 1",
        workers: WorkerCount::Several,
        runs: &[own(16, several::two_homes)],
        skipped: &[],
    },
    Case {
        name: "two objects, latched",
        about: "all workers, tasks that write two objects under spin latches",
        workers: WorkerCount::Any,
        runs: &[own(16, several::latched)],
        skipped: &[],
    },
];
