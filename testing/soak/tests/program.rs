//! Runs the soak test for a few seconds; by hand it can run for hours.

use std::process::Output;
use xtasking_testing::program::{passes, refuses, run, text};

/// Runs the program.
fn soak(arguments: &[&str]) -> Output {
    run(env!("CARGO_BIN_EXE_xtasking-soak"), arguments)
}

/// Checks that the program exits before any work, with one line that names the reason.
fn refused(arguments: &[&str], reason: &str) {
    refuses(&soak(arguments), reason);
}

#[test]
fn a_few_seconds_of_load_pass_all_checks() {
    for workers in ["1", "8"] {
        let output = soak(&["--seconds", "3", "--workers", workers, "--seed", "7", "--verbose"]);
        let (stdout, stderr) = (passes(&output), text(&output.stderr));
        assert!(stdout.ends_with("all checks passed\n"), "{stdout}");
        assert!(stdout.contains(&format!("up to {workers} workers · seed 7")), "{stdout}");
        assert!(stderr.lines().any(|line| line.starts_with("round 0, ")), "{stderr}");
    }
}

#[test]
fn wrong_options_are_refused_in_one_line() {
    for (arguments, reason) in [
        (["--workers", "0"], "--workers is 0; choose 1 to 256"),
        (["--workers", "257"], "--workers is 257; choose 1 to 256"),
        (["--patience", "0"], "--patience is 0; choose 1 to 31536000 seconds"),
        (["--patience", "100000000000"], "--patience is 100000000000; choose 1 to 31536000 seconds"),
    ] {
        refused(&arguments, reason);
    }
}
