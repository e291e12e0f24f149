//! The soak test; for a few seconds here, for hours by hand.

use crate::{passes, refused, text, xtasking};

#[test]
fn some_seconds_of_abuse_do_no_harm() {
    for workers in ["1", "8"] {
        let output = xtasking(&["soak", "--seconds", "3", "--workers", workers, "--seed", "7", "--verbose"]);
        let (stdout, stderr) = (passes(&output), text(&output.stderr));
        assert!(stdout.ends_with("everything that was checked holds\n"), "{stdout}");
        assert!(stdout.contains(&format!("up to {workers} workers · seed 7")), "{stdout}");
        assert!(stderr.lines().any(|line| line.starts_with("round 0, ")), "{stderr}");
    }
}

#[test]
fn what_cannot_work_is_refused_in_one_line() {
    for (arguments, reason) in [
        (["--workers", "0"], "--workers is 0; choose 1 to 256"),
        (["--workers", "257"], "--workers is 257; choose 1 to 256"),
        (["--patience", "0"], "--patience: 0 would call everything a hang"),
    ] {
        refused(&[&["soak"], &arguments[..]].concat(), reason);
    }
}
