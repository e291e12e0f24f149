//! The soak test: load and abuse for as long as one likes, every result checked.
//!
//! It goes in rounds, each on a runtime of its own with a random number of workers. Tasks of all kinds move numbers
//! between objects of all classes and primitives, while objects come and go, bodies panic, handles are cancelled or
//! dropped, and a thread beside them fills and empties a tree. At a random moment the runtime is ended, in one of the
//! ways there are. Whatever then does not add up is an error:
//!
//! | check | what it finds |
//! |---|---|
//! | the sums over all objects, and how often they were changed | a lost or doubled update |
//! | words of an object that belong together | a torn read |
//! | every body is dropped once, run or not; so is every object | a leak, a double free |
//! | every handle has a result, and one that may be | an answer that never comes, a wrong one |
//! | each worker runs what is pinned to it | a lost worker |
//! | the tree against an ordered map; its nodes are freed | a wrong index, a leak of nodes |
//! | the bytes of descriptors in a round, and resident memory between rounds | memory that only grows |
//! | something goes on | a hang |
//!
//! What is done comes from a seed. Which thread is faster does not, so that a failing seed need not fail again at once.
//!
//! | module | what it holds |
//! |---|---|
//! | `options` | the command line |
//! | `books` | what must add up in a round |
//! | `account` | the data of objects |
//! | `population` | objects of all classes and primitives, which come and go |
//! | `jobs` | the tasks |
//! | `forest` | the tree beside them |
//! | `round` | one runtime, from start to end |
//! | `memory` | how much memory the process has |
//! | `vigil` | who notices that nothing goes on |

mod account;
mod books;
mod forest;
mod jobs;
mod memory;
mod options;
mod population;
mod round;
mod vigil;

pub use options::Options;

use crate::failure::Failure;
use crate::machine::Machine;
use crate::progress::Progress;
use memory::Growth;
use round::{Outcome, Round};
use std::time::{Duration, Instant};
use vigil::Vigil;

/// Runs rounds until the time is over: prints the machine and what was done, or fails with the first that is wrong.
pub fn run(options: &Options) -> Result<(), Failure> {
    options.check()?;
    println!("{}\n{}\n", Machine::detect().describe(), options.describe());
    round::silence_provoked_panics();
    let time = Duration::from_secs(options.seconds);
    let (began, mut growth, mut sum) = (Instant::now(), Growth::default(), Outcome::default());
    let progress = Progress::new(options.seconds, options.verbose);
    let vigil = Vigil::begin(options.hang());
    let mut number = 0;
    while number == 0 || began.elapsed() < time {
        let seed = options.seed.wrapping_add(number);
        let repeat = options.repeat(seed);
        progress.begin(format!("round {number}"));
        vigil.expect(&repeat);
        let wrong = |wrong| Failure::Wrong { context: format!("soak (again with: {repeat})"), wrong };
        let outcome = Round::new(seed, options.workers, &vigil).and_then(Round::run).map_err(wrong)?;
        growth.check().map_err(wrong)?;
        progress.tell(|| format!("round {number}, {}: {outcome}", outcome.ending));
        progress.advance_to(began.elapsed().as_secs());
        sum += outcome;
        number += 1;
    }
    drop((progress, vigil));
    println!("{number} rounds in {:.0?}: {sum}", began.elapsed());
    println!("{growth}");
    println!("everything that was checked holds");
    Ok(())
}
