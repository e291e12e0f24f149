//! The program `xtasking-bench`; the library beside it holds the experiments.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use xtasking_experiments::cli::Cli;
use xtasking_harness::failure::Failure;

fn main() -> ExitCode {
    Failure::main(Cli::run)
}
