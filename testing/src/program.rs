//! Checks of a program that a test runs as a process.

use std::process::{Command, Output};

/// Runs the program at `path` to its end.
///
/// # Panics
///
/// If it cannot be started.
pub fn run(path: &str, arguments: &[&str]) -> Output {
    Command::new(path).args(arguments).output().expect("the program was built")
}

/// Returns what a program printed as text.
///
/// # Panics
///
/// If it is not UTF-8.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Checks that the program succeeded, and returns its output.
///
/// # Panics
///
/// If it failed.
#[track_caller]
pub fn passes(output: &Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Checks that the program exited with 2 before any work: it printed one line that contains
/// `reason` as its error, and nothing else.
///
/// # Panics
///
/// If it did anything else.
#[track_caller]
pub fn refuses(output: &Output, reason: &str) {
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{stdout}{stderr}");
    assert!(stderr.contains(reason), "'{reason}' is not in: {stderr}");
    assert_eq!((stderr.lines().count(), stdout.as_str()), (1, ""), "{stderr}");
}
