//! What the tests of XTasking's crates share, as far as it needs no operating system.
//!
//! Most of it has its sources in `testing/`. The rest stands in for what is different here: the
//! host ends what hangs, and without the feature `unwind` a panic ends the machine.

#![forbid(unsafe_code)]

#[path = "../../../../testing/src/control.rs"]
mod control;
#[path = "../../../../testing/src/divide.rs"]
mod divide;
#[path = "../../../../testing/src/history/mod.rs"]
pub mod history;
#[cfg(feature = "unwind")]
#[path = "../../../../testing/src/panics.rs"]
mod panics;
#[path = "../../../../testing/src/platforms.rs"]
mod platforms;
#[path = "../../../../testing/src/random.rs"]
mod random;
#[path = "../../../../testing/src/setting.rs"]
mod setting;
#[path = "../../../../testing/src/signals.rs"]
mod signals;
#[path = "../../../../testing/src/threads.rs"]
mod threads;

pub use control::Control;
pub use divide::divide;
pub use panics::{line_of_panic, silence_tasks};
pub use random::Random;
pub use setting::{Blame, QUEUE_POLICIES, Setting, on_each, on_each_unwatched, part_of_policy};
pub use signals::{Dropped, Flag, Gate};
pub use threads::{let_others_in, lock, side_by_side};

use std::time::Duration;

/// Factor by which bounds grow under a sanitizer: there is none here.
pub const PATIENCE: u32 = 1;

/// What watches a test elsewhere.
#[must_use]
pub struct Watchdog;

/// Does nothing: the host watches.
pub fn watchdog() -> Watchdog {
    Watchdog
}

/// Does nothing: the host watches.
pub fn watchdog_of(_: Duration) -> Watchdog {
    Watchdog
}

/// Does nothing: the host watches.
pub fn watchdog_called(_: String, _: Duration) -> Watchdog {
    Watchdog
}

/// Waits until a condition holds; the host watches.
pub fn eventually(_: &str, mut is_true: impl FnMut() -> bool) {
    while !is_true() {
        std::thread::yield_now();
    }
}

#[cfg(not(feature = "unwind"))]
mod panics {
    /// Does nothing: a panic ends the machine, and says why.
    pub fn silence_tasks() {}

    /// Calls a function that panics, which ends the machine.
    pub fn line_of_panic(panics: impl FnOnce()) -> Option<u32> {
        panics();
        None
    }
}
