//! Panics that unwind, in an image with the feature `unwind`.
//!
//! On stable Rust the standard library alone unwinds, and there is one for targets with an
//! operating system only. It is linked for its panics; here is all that its objects name of that
//! system.
//!
//! | file | what is in it |
//! |---|---|
//! | `absent` | functions that nothing calls in this kernel: a report |
//! | `blocks` | blocks of memory by the functions of C |
//! | `memory` | copies and comparisons of bytes |
//! | `panics` | what a panic says, and what becomes of one that nothing catches |
//! | `system` | functions that do their work |
//! | `thread_locals` | the thread-local values of each core |

mod absent;
mod blocks;
mod memory;
mod panics;
mod system;
mod thread_locals;

pub(crate) use panics::begin;
pub(crate) use thread_locals::begin as begin_core;
