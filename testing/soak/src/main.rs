//! Runs the soak test: random load and misuse for any length of time, with every result checked.
//!
//! Each round has a runtime of its own with a random number of workers. Tasks of all kinds move
//! numbers between objects of all classes and primitives, while objects are created and dropped,
//! bodies panic, handles are cancelled or dropped, and a thread fills and empties a tree. At a
//! random moment the runtime is ended in one of four ways. Any mismatch is an error:
//!
//! | check | what it finds |
//! |---|---|
//! | the sums of money and changes over all objects | a lost or doubled update |
//! | the seal of an object | a torn read |
//! | every body and object is dropped exactly once | a leak, a double free |
//! | every handle has a possible result | a lost or wrong result |
//! | each worker runs tasks pinned to it | a lost worker |
//! | the tree matches an ordered map; its nodes are freed | a wrong index, a leak of nodes |
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
//! | `account` | the data of objects |
//! | `population` | objects of all classes and primitives |
//! | `jobs` | the tasks |
//! | `forest` | the tree |
//! | `round` | one runtime, from start to end |
//! | `memory` | the memory of the process |
//! | `watchdog` | ends the process when there is no progress |

#![deny(unsafe_code)]

mod account;
mod books;
mod forest;
mod jobs;
mod memory;
mod options;
mod population;
mod round;
mod watchdog;

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
    let mut number = 0;
    while number == 0 || began.elapsed() < time {
        let seed = options.seed.wrapping_add(number);
        let repeat = options.repeat(seed);
        progress.begin(format!("round {number}"));
        watchdog.expect(&repeat);
        let wrong = |wrong| Failure::Wrong { context: format!("soak (repeat with: {repeat})"), wrong };
        let outcome = Round::new(seed, options.workers, &watchdog).and_then(Round::run).map_err(wrong)?;
        growth.check().map_err(wrong)?;
        progress.show(|| format!("round {number}, {}: {outcome}", outcome.ending));
        progress.advance_to(began.elapsed().as_secs());
        sum += outcome;
        number += 1;
    }
    drop((progress, watchdog));
    let time = began.elapsed();
    print(&format_args!("{number} rounds in {time:.0?}: {sum}\n{growth}\nall checks passed\n"))
}
