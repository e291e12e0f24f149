//! Random programs on virtual cores: a seed determines the program, the number of cores and their
//! interleaving.
//!
//! If the order of tasks is guaranteed, an oracle that runs them one after another knows the result
//! (`ordered`). Otherwise invariants do (`world`): no task runs twice, each runs unless it was
//! cancelled or its object poisoned, every handle says which, no write is lost, and tasks of one
//! spawner on a sequenced object keep their order.
//!
//! ```text
//! cargo test -p xtasking --test seeds                             several thousand programs
//! XTASKING_SEEDS=100000 cargo test -p xtasking --test seeds       the first 100,000 of each kind
//! XTASKING_SEED=1234 cargo test -p xtasking --test seeds NAME     the program of a failure
//! ```

#[path = "../common/mod.rs"]
mod common;

mod check;
mod ordered;
mod plan;
mod world;

use common::{PATIENCE, Setting, part_of_policy, watchdog_called};
use std::env;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// A program takes milliseconds; after this time it counts as a hang.
const HANGS: Duration = Duration::from_secs(30);

/// Runs a body with each seed below `count`, or with those that the environment requests. A failure
/// prints the command that replays it.
fn each_seed(count: u64, body: impl Fn(u64)) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let number = |name| env::var(name).ok().map(|text| text.parse().expect("the variable is a number"));
    let seeds = match number("XTASKING_SEED") {
        Some(seed) => seed..seed + 1,
        None => number("XTASKING_SEEDS").map_or_else(|| usual(count), |count| 0..count),
    };
    for seed in seeds {
        let again = format!("XTASKING_SEED={seed} cargo test -p xtasking --test seeds {test}");
        let _watched = watchdog_called(again.clone(), HANGS);
        if let Err(failure) = catch_unwind(AssertUnwindSafe(|| body(seed))) {
            eprintln!("to see it again: {again}");
            resume_unwind(failure);
        }
    }
}

/// Returns the seeds that are tried if the environment requests none. With a queue policy of its
/// own, a run tries a third of them. A sanitizer makes each take longer.
fn usual(count: u64) -> Range<u64> {
    const PARTS: u64 = 3;
    let count = count / u64::from(PATIENCE);
    match part_of_policy(PARTS as usize) {
        Some(part) => count * part as u64 / PARTS..count * (part as u64 + 1) / PARTS,
        None => 0..count,
    }
}

/// Virtual cores for a program: 1 to 16.
fn cores(seed: u64) -> Setting {
    Setting::Simulation { cores: 1 + (seed % 16) as usize, seed: seed / 16 }
}

/// Runs a few of the programs on threads, scheduled by the operating system.
fn each_seed_on_threads(count: u64, body: impl Fn(u64, Setting)) {
    for workers in [1, 2, 4] {
        each_seed(count, |seed| body(seed, Setting::Threads { workers }));
    }
}
