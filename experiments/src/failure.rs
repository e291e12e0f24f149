//! How a run can end other than well, and the exit code that says so.

use crate::ycsb::plan::Wrong;
use std::fmt;
use std::process::ExitCode;

/// Why there is no result.
#[derive(Debug)]
pub enum Failure {
    /// A contender gave a wrong result.
    Wrong {
        /// Who it was, and where: contender, case, workers, repetition and seed.
        context: String,
        /// What it was.
        wrong: Wrong,
    },
    /// What was asked for cannot be done; the text says what to ask for instead.
    Usage(String),
    /// The result could not be written.
    Output(String),
}

impl Failure {
    /// 1 for a wrong result, 2 for what cannot be done (as the command-line parser does), 3 for what cannot be written.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Wrong { .. } => 1,
            Failure::Usage(_) => 2,
            Failure::Output(_) => 3,
        })
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
