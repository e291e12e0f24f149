//! The soak test as it is called; for a few seconds here, for hours by hand.

use std::process::{Command, Output};

fn soak(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtasking"));
    command.arg("soak").args(arguments).output().expect("the program was built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn some_seconds_of_abuse_do_no_harm() {
    for workers in ["1", "8"] {
        let output = soak(&["--seconds", "3", "--workers", workers, "--seed", "7", "--verbose"]);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stdout}{stderr}");
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
        let output = soak(&arguments);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{stdout}{stderr}");
        assert!(stderr.contains(reason), "'{reason}' is not in: {stderr}");
        assert_eq!((stderr.lines().count(), stdout.as_str()), (1, ""), "{stderr}");
    }
}
