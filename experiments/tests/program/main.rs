//! Tests of the program from its command line to its output.

mod cholesky;
mod divide;
mod fib;
mod files;
mod granularity;
mod graph;
mod hierarchy;
mod irregular;
mod join;
mod managed;
mod map;
mod outside;
mod page;
mod pools;
mod scan;
#[cfg(feature = "service")]
mod service;
#[cfg(feature = "store")]
mod store;
#[cfg(target_os = "linux")]
mod streams;
mod tasks;
mod wavefront;
mod ycsb;

use std::process::Output;
use xtasking_testing::program::{passes, refuses, run, text};

/// Runs the program.
fn xtasking(arguments: &[&str]) -> Output {
    run(env!("CARGO_BIN_EXE_xtasking-bench"), arguments)
}

/// Checks that the program refuses its options before any work, in one line that contains `reason`.
fn refused(arguments: &[&str], reason: &str) {
    refuses(&xtasking(arguments), reason);
}
