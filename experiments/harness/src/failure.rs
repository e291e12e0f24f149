//! The ways in which a run can fail, and their exit codes.

use std::fmt;
use std::process::ExitCode;

/// A wrong result of a contender.
///
/// One pointer in size, so that a `Result` stays cheap in timed loops.
#[derive(Debug)]
pub struct Wrong(Box<WrongResult>);

#[derive(Debug)]
struct WrongResult {
    /// Worker and index of the operation, if the result belongs to one.
    message: String,
    operation: Option<(usize, usize)>,
}

impl Wrong {
    /// Creates an error from a description.
    #[cold]
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(WrongResult { message: message.into(), operation: None }))
    }

    /// Adds the worker and the index of the operation that gave the result.
    #[must_use]
    pub fn at(mut self, worker: usize, index: usize) -> Self {
        self.0.operation = Some((worker, index));
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((worker, index)) = self.0.operation {
            write!(f, "operation {index} of worker {worker}: ")?;
        }
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Wrong {}

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
