//! A runtime as a managed pool of workers.
//!
//! | file | contents |
//! |---|---|
//! | `sets/` | sets of plain functions, each with an id to wait for |
//! | `sizing/` | advice on the number of workers |
//! | `autosize` | a runtime that follows the advice by itself |

mod autosize;
mod sets;
mod sizing;

pub(crate) use autosize::{AutosizeOptions, Autosizer};
pub use sets::{Managed, SetError, SetId};
pub use sizing::{Advice, Reason};
