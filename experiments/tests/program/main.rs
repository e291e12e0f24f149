//! The program as it is called.

mod cholesky;
mod fib;
mod granularity;
mod hierarchy;
mod machine;
mod managed;
mod outside;
mod pools;
mod scan;
mod soak;
mod tasks;
mod ycsb;

use std::process::{Command, Output};

/// Runs the program.
fn xtasking(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtasking")).args(arguments).output().expect("the program was built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What it printed; it has succeeded.
fn passes(output: &Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Checks that it ends before any work, with one line that names the reason.
fn refused(arguments: &[&str], reason: &str) {
    let output = xtasking(arguments);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{stdout}{stderr}");
    assert!(stderr.contains(reason), "'{reason}' is not in: {stderr}");
    assert_eq!((stderr.lines().count(), stdout.as_str()), (1, ""), "{stderr}");
}
