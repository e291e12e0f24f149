//! Runs the soak test: random load and misuse for any length of time, with every result checked.
//!
//! Each round has a runtime of its own with a random number of workers and a random queue policy.
//! Tasks of all kinds move numbers between objects of all classes and primitives. Meanwhile
//!
//! - objects are created and dropped, and a thread fills and empties a tree;
//! - bodies panic, also half-way through a write, and other tasks mend the objects;
//! - bodies block in place, and wait for tasks of their own worker;
//! - handles are cancelled, dropped, waited for with a limit, or cancel when they are dropped;
//! - tasks have deadlines, and bounds of the runtime and of objects;
//! - the runtime is resized.
//!
//! At a random moment the runtime is ended in one of six ways. Any mismatch is an error:
//!
//! | check | what it finds |
//! |---|---|
//! | the sums of money and changes over all objects | a lost or doubled update |
//! | the seal of an object | a torn read, an object that is used before it was mended |
//! | every task runs once or not at all, and is dropped once | a leak, a double free, a lost task |
//! | every object is dropped exactly once | a leak, a double free |
//! | every outcome fits the fate and the options of its task | a lost or wrong result |
//! | the hook hears once of each panic without a handle | a lost or doubled failure |
//! | each worker runs tasks pinned to it | a lost worker |
//! | the tree matches an ordered map; its nodes are freed | a wrong index, a leak of nodes |
//! | bytes, blocks and threads after each round | a leak |
//! | the bytes of descriptors in a round, and resident memory between rounds | a leak |
//! | progress | a hang |
//!
//! The load is derived from a seed, but thread interleavings are not: a failing seed may need
//! several attempts to fail again.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `books` | the counters of a round |
//! | `fates` | what happens to each task |
//! | `account` | the data of objects |
//! | `population` | objects of all classes and primitives |
//! | `jobs` | the tasks |
//! | `spawning` | the ways to spawn a task |
//! | `pending` | handles, and the check of their outcomes |
//! | `forest` | the tree |
//! | `round` | one runtime, from start to end |
//! | `ending` | the ways to end it |
//! | `heap`, `memory` | the memory of the process |
//! | `watchdog` | ends the process when there is no progress |

#![deny(unsafe_code)]

mod account;
mod books;
mod ending;
mod fates;
mod forest;
mod heap;
mod jobs;
mod memory;
mod options;
mod pending;
mod population;
mod round;
mod spawning;
mod watchdog;

use heap::Leaks;
use memory::Growth;
use options::Options;
use round::{Outcome, Round};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use watchdog::Watchdog;
use xtasking_harness::failure::{Failure, print};
use xtasking_harness::machine::{self, Machine};
use xtasking_harness::progress::Progress;

fn main() -> ExitCode {
    Failure::main(|options| run(&options))
}

/// Runs rounds until the time is over. Prints the machine and a summary, or fails with the first
/// error.
fn run(options: &Options) -> Result<(), Failure> {
    options.check()?;
    print(&format_args!("{}\n{}\n\n", Machine::detect().describe(), options.describe()))?;
    machine::check_threads(options.workers)?;
    round::silence_injected_panics();
    let time = Duration::from_secs(options.seconds);
    let (began, mut growth, mut sum) = (Instant::now(), Growth::default(), Outcome::default());
    let progress = Progress::new(options.seconds, options.verbose);
    let watchdog = Watchdog::begin(options.hang());
    let mut leaks = Leaks::begin();
    let mut number = 0;
    while number == 0 || began.elapsed() < time {
        let seed = options.seed.wrapping_add(number);
        let repeat = options.repeat(seed);
        progress.begin(format!("round {number}"));
        watchdog.expect(&repeat);
        let wrong = |wrong| Failure::Wrong { context: format!("soak (repeat with: {repeat})"), wrong };
        let outcome = Round::new(seed, options.workers, &watchdog).and_then(Round::run).map_err(wrong)?;
        round::settles(&watchdog, || leaks.are_settled());
        leaks.check(outcome.is_sequenced).map_err(wrong)?;
        growth.check().map_err(wrong)?;
        progress.show(|| format!("round {number}, {}: {outcome}", outcome.ending));
        progress.advance_to(began.elapsed().as_secs());
        sum += outcome;
        number += 1;
    }
    drop((progress, watchdog));
    let time = began.elapsed();
    print(&format_args!("{number} rounds in {time:.0?}: {sum}\n{leaks}\n{growth}\nall checks passed\n"))
}
