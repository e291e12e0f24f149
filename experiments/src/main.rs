//! The program `xtasking`: see the library beside it.

#![forbid(unsafe_code)]

use clap::Parser;
use std::process::ExitCode;
use xtasking_experiments::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}
