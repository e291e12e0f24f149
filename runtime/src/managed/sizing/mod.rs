//! Advice on the number of workers.
//!
//! | file | contents |
//! |---|---|
//! | `advice` | the advice, computed from two readings of the statistics |
//! | `adviser` | repeated advice, which remembers what the last one led to |

mod advice;
mod adviser;

pub(in crate::managed) use advice::Sample;
pub use advice::{Advice, Reason};
pub(in crate::managed) use adviser::Adviser;
