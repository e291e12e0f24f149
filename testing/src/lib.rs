//! What the tests of XTasking's crates share.
//!
//! | module | what is in it |
//! |---|---|
//! | `setting` | the platforms and numbers of workers that tests run on |
//! | `threads` | plain threads that do something at the same time |
//! | `watchdog` | turns a hang into a failure |
//! | `signals` | how tests and their tasks wait for each other |
//! | `random` | numbers that follow from a seed |
//! | `history` | records operations that overlap, and looks for an order that explains them |
//! | `panics` | keeps provoked panics out of the output |

pub mod history;
mod panics;
mod random;
mod setting;
mod signals;
mod threads;
mod watchdog;

pub use panics::silence_tasks;
pub use random::Random;
pub use setting::{Blame, Setting, on_each, on_each_unwatched};
pub use signals::{Dropped, Flag, Gate};
pub use threads::{let_others_in, lock, side_by_side};
pub use watchdog::{PATIENCE, Watchdog, eventually, watchdog, watchdog_called, watchdog_of};
