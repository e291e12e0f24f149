//! The benchmark harness of XTasking's experiments.
//!
//! An *experiment* measures *contenders*: implementations of the same work, on this runtime or on
//! a *peer*, which is another library or program. A *case* is one workload, and a *turn* is one
//! measurement of one contender in one case with one number of workers. Every result is checked.
//!
//! | module | what it holds |
//! |---|---|
//! | [`common`] | options that all experiments share |
//! | [`experiment`] | the steps of every experiment, from its description to its report |
//! | [`lineup`] | contenders by name, their turns, and how runtimes are started |
//! | [`outside`] | peers that are programs of their own |
//! | [`controls`] | contenders of the experiments on hierarchies |
//! | [`report`] | results as a table, as JSON and as a figure |
//! | [`progress`] | the progress bar, and the output of `--verbose` |
//! | [`machine`] | a description of the machine, and thread pinning |
//! | [`failure`] | wrong results, usage errors, and exit codes |
//! | [`random`] | random number streams, derived from one seed |
//! | [`suggestion`] | selection by name, with suggestions for mistyped names |
//! | [`plural`] | counts with their nouns |

#![forbid(unsafe_code)]

pub mod common;
pub mod controls;
pub mod experiment;
pub mod failure;
pub mod lineup;
pub mod machine;
pub mod outside;
pub mod page;
pub mod plural;
pub mod progress;
pub mod report;
pub mod suggestion;

pub use xtasking_harness_core::random;
