//! Shared support for the tests of XTasking's crates.
//!
//! | module | contents |
//! |---|---|
//! | `setting` | the platforms and numbers of workers that tests run on |
//! | `threads` | concurrent plain threads |
//! | `watchdog` | turns a hang into a failure |
//! | `clock` | CPU time of the process and of a thread |
//! | `signals` | how tests and their tasks wait for each other |
//! | `control` | the controls of claims: all with the feature `baselines`, else the library's own |
//! | `divide` | work that divides itself |
//! | `forked` | checks that run in a forked process |
//! | `random` | random numbers from a seed |
//! | `history` | records operations that overlap, and looks for an order that explains them |
//! | `panics` | keeps provoked panics out of the output, and says where they were |
//! | `platforms` | test platforms that change a few methods of another platform |
//! | `refused` | checks programs that must not compile, and what the compiler says of them |
//! | `program` | runs a program as a process, and checks its exit and its output |

mod clock;
mod control;
mod divide;
mod forked;
pub mod history;
mod panics;
mod platforms;
pub mod program;
mod random;
pub mod refused;
mod setting;
mod signals;
mod threads;
mod watchdog;

pub use clock::{cpu_time, cpu_time_of_thread, voluntary_switches};
pub use control::Control;
#[cfg(feature = "baselines")]
pub use control::Granularity;
pub use divide::divide;
pub use forked::holds_in_child;
pub use panics::{line_of_panic, silence_tasks};
pub use random::Random;
pub use setting::{Blame, QUEUE_POLICIES, Setting, on_each, on_each_unwatched, part_of_policy};
pub use signals::{Dropped, Flag, Gate};
pub use threads::{let_others_in, lock, side_by_side};
pub use watchdog::{PATIENCE, Watchdog, eventually, watchdog, watchdog_called, watchdog_of};
