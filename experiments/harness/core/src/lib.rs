//! What benchmarks share apart from measuring: they draw requests, report wrong results and suggest
//! names.
//!
//! A benchmark that needs no more than this builds without the command line and the figures of
//! `xtasking-harness`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`random`] | random number streams, derived from one seed |
//! | [`wrong`] | a wrong result |
//! | [`spelling`] | suggestions for mistyped words |

#![forbid(unsafe_code)]

pub mod random;
pub mod spelling;
pub mod wrong;
