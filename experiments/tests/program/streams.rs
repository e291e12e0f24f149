//! Streams that cannot be written, and threads that cannot be started: one line, or none.

use std::fs::OpenOptions;
use std::process::Command;
use xtasking_testing::program::text;

const BENCH: &str = env!("CARGO_BIN_EXE_xtasking-bench");

/// Subcommands, and what only prints.
const RUNS: [&[&str]; 5] = [
    &["fib", "--quick", "--workers", "1", "--against", "plain"],
    &["graph", "--quick", "--workers", "1", "-v"],
    &["stmbench7", "--quick", "--workers", "1"],
    &["--help"],
    &["ycsb", "--help"],
];

#[test]
fn a_full_disk_is_one_line_of_error() {
    for arguments in RUNS {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(BENCH).args(arguments).stdout(full).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with("error: cannot write to the standard output: "), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    for arguments in RUNS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(BENCH).args(arguments).stdout(writer).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(141), "{arguments:?}: {stderr}");
        assert_eq!(stderr, "", "{arguments:?}");
    }
}

#[test]
fn an_error_stream_that_is_full_does_no_harm() {
    for arguments in [&["fib", "--workers", "0"][..], &["fib", "--quick", "--workers", "1", "-v"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(BENCH).args(arguments).stderr(full).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 2)), "{arguments:?}: {}", output.status);
    }
}

/// Stacks of 1 GiB in an address space of 3.5 GiB: some threads start, and then one cannot,
/// whatever user runs this. The stacks are large so that what is left for the threads that did
/// start is ample; the standard library aborts if one of them finds no room for its signal stack.
#[test]
fn threads_that_cannot_be_started_are_one_line_of_error() {
    let script = "ulimit -v 3670016; exec \"$0\" fib --quick --workers 200";
    let stacks = ("RUST_MIN_STACK", "1073741824");
    let output = Command::new("sh").args(["-c", script, BENCH]).envs([stacks]).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("of 204 threads can be started"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}
