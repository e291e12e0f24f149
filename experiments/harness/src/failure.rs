//! The ways in which a run can fail, and their exit codes.

pub use xtasking_harness_core::wrong::Wrong;

use clap::Parser;
use std::fmt::{self, Display};
use std::io::{self, Write};
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
    /// An output file, or the standard output, could not be written.
    Output(String),
    /// The program that reads the standard output has closed it: no more output is wanted.
    Closed,
}

/// The exit code of a program that SIGPIPE ends, as a shell shows it.
const ENDED_BY_CLOSED_PIPE: u8 = 128 + 13;

impl Failure {
    /// Returns 1 for a wrong result, 2 for a usage error (as the command-line parser does), 3 for
    /// an output error, and 141 for a closed pipe (as programs have that SIGPIPE ends).
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Wrong { .. } => 1,
            Failure::Usage(_) => 2,
            Failure::Output(_) => 3,
            Failure::Closed => ENDED_BY_CLOSED_PIPE,
        })
    }

    /// Runs a program: parses its command line, calls `run`, and prints its failure. Returns the
    /// exit code.
    pub fn main<T: Parser>(run: impl FnOnce(T) -> Result<(), Self>) -> ExitCode {
        match T::try_parse() {
            Ok(options) => Self::report(run(options)),
            // Help and the version, which the parser prints without a look at the result.
            Err(text) if !text.use_stderr() => Self::report(print(&text)),
            Err(error) => error.exit(),
        }
    }

    /// Returns the exit code of a program that ends with `result`, after printing its failure. A
    /// closed pipe is none for people, so nothing is printed.
    pub fn report(result: Result<(), Self>) -> ExitCode {
        match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                if !matches!(failure, Failure::Closed) {
                    report_line(&format_args!("error: {failure}"));
                }
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
            Failure::Closed => f.write_str("the standard output is closed"),
        }
    }
}

impl std::error::Error for Failure {}

/// Prints to the standard output, at once. All output of the programs passes here: `println!` would
/// panic.
///
/// # Errors
///
/// [`Failure::Closed`] if no program reads it any more, and [`Failure::Output`] if it cannot be
/// written, for example because a disk is full.
pub fn print(text: &impl Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Output(format!("cannot write to the standard output: {error}")),
    })
}

/// Prints a line to the error stream, if that can be written: there is nowhere else to say so.
pub fn report_line(text: &impl Display) {
    _ = writeln!(io::stderr(), "{text}");
}
