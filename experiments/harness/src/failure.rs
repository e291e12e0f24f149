//! The ways in which a run can fail, and their exit codes.

pub use xtasking_harness_core::wrong::Wrong;

use std::fmt;
use std::process::ExitCode;

/// The reason for which an experiment gives no result.
#[derive(Debug)]
pub enum Failure {
    /// A contender gave a wrong result.
    Wrong {
        /// The contender and the measurement: case, workers and seed.
        context: String,
        /// The wrong result.
        wrong: Wrong,
    },
    /// An option cannot be satisfied; the text says what to choose instead.
    Usage(String),
    /// An output file could not be written.
    Output(String),
}

impl Failure {
    /// Returns 1 for a wrong result, 2 for a usage error (as the command-line parser does), and 3
    /// for an output error.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Wrong { .. } => 1,
            Failure::Usage(_) => 2,
            Failure::Output(_) => 3,
        })
    }

    /// Returns the exit code of a program that ends with `result`, after printing its failure.
    pub fn report(result: Result<(), Self>) -> ExitCode {
        match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("error: {failure}");
                failure.exit_code()
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong { context, wrong } => write!(f, "wrong result of {context}: {wrong}"),
            Failure::Usage(text) | Failure::Output(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}
