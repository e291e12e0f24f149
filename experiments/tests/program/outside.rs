//! Peers that are separate programs, replaced by small scripts.

use crate::{passes, text};
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program with the peers of a folder.
fn xtasking(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtasking-bench"));
    command.args(arguments).env("XTASKING_PEERS", folder).output().expect("the program was built")
}

#[test]
fn a_missing_peer_is_skipped_with_a_line_that_says_how_to_build_it() {
    let folder = tempfile::tempdir().unwrap();
    let fib = ["fib", "--number", "22"];
    let cholesky = ["cholesky", "--order", "64", "--tiles", "16"];
    for experiment in [&fib[..], &cholesky] {
        let against = ["--quick", "--workers", "1", "--against", "plain,openmp,tbb"];
        let stdout = passes(&xtasking(folder.path(), &[experiment, &against].concat()));
        for name in ["tbb", "openmp"] {
            let path = folder.path().join(name);
            let line = format!(
                "skipped {name}: there is no {}; 'bash peers/build {name}' builds it",
                path.display()
            );
            assert!(stdout.lines().any(|found| found.starts_with(&line)), "'{line}' is not in: {stdout}");
            assert!(!stdout.contains(&format!("┆ {name} ")), "{stdout}");
        }
        assert!(stdout.contains("┆ plain "), "{stdout}");
    }
}

#[test]
fn all_databases_are_in_one_program() {
    let folder = tempfile::tempdir().unwrap();
    let against = ["--against", "duckdb,sqlite,datafusion"];
    let arguments = ["scan", "--quick", "--rows", "1k", "--batch", "16", "--workers", "1"];
    let stdout = passes(&xtasking(folder.path(), &[&arguments, &against[..]].concat()));
    let path = folder.path().join("databases");
    for name in ["datafusion", "duckdb", "sqlite"] {
        let missing = format!("skipped {name}: there is no {}; 'bash peers/build databases'", path.display());
        assert!(stdout.lines().any(|line| line.starts_with(&missing)), "'{missing}' is not in: {stdout}");
    }
}

#[cfg(unix)]
mod scripts {
    use super::*;
    use std::io::Write;
    use std::process::Stdio;

    /// Creates a folder with a peer `openmp`, which is a script.
    fn peer(script: &str) -> tempfile::TempDir {
        program("openmp", script)
    }

    /// Creates a folder with a program, which is a script.
    ///
    /// Another process writes it. A file that this process has open for writing is also open in a
    /// child that another test starts meanwhile, and does not run until that child is the program
    /// that it is to be (`ETXTBSY`).
    fn program(name: &str, script: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(&path).stdin(Stdio::piped());
        let mut writer = shell.spawn().unwrap();
        // The pipe is closed at the end of this line.
        writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        folder
    }

    /// Returns a shell command that prints the reply of a peer.
    fn prints(case: &str, threads: &str, result: &str) -> String {
        let begin = format!(r#"{{"case": "{case}", "implementation": "openmp", "threads": "#);
        let end = format!(r#", "nanoseconds": 9860000, "result": {result}}}"#);
        format!("echo '{begin}'{threads}'{end}'")
    }

    fn fib(folder: &Path) -> Output {
        xtasking(folder, &["fib", "--quick", "--number", "22", "--workers", "1,2", "--against", "openmp"])
    }

    fn cholesky(folder: &Path) -> Output {
        let size = ["--order", "64", "--tiles", "16", "--workers", "2", "--seed", "7"];
        xtasking(folder, &[&["cholesky", "--quick", "--against", "openmp"], &size[..]].concat())
    }

    /// Returns tables without spaces: the widths of columns depend on how fast the others were.
    fn cells(stdout: &str) -> String {
        stdout.replace(' ', "")
    }

    /// Checks that a wrong result was found and explained.
    fn wrong(output: &Output, reason: &str) {
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}{stderr}", text(&output.stdout));
        assert!(stderr.starts_with("error: wrong result of openmp on "), "{stderr}");
        assert!(stderr.contains(reason), "'{reason}' is not in: {stderr}");
    }

    #[test]
    fn a_peer_measures_itself() {
        // OpenMP computes a smaller number: Fibonacci number 16 has 1596 joins.
        let folder = peer(&format!("[ \"$1 $2\" = 'fib 16' ] && {}", prints("fib", "$3", "987")));
        let stdout = passes(&fib(folder.path()));
        assert_eq!(cells(&stdout).matches("┆openmp┆6178┆").count(), 2, "{stdout}");
        let told = "[ \"$*\" = 'cholesky 64 16 7 2' ]";
        let folder = peer(&format!("{told} && {}", prints("cholesky", "$5", "1e-13")));
        let stdout = passes(&cholesky(folder.path()));
        assert!(cells(&stdout).contains("┆openmp┆9.86┆"), "{stdout}");
    }

    #[test]
    fn wrong_results_of_peers_are_found() {
        let folder = peer(&prints("fib", "$3", "988"));
        wrong(&fib(folder.path()), "Fibonacci number 16: 988 instead of 987");
        let folder = peer(&prints("cholesky", "$5", "1e-3"));
        wrong(&cholesky(folder.path()), "the product differs by 0.001; rounding explains");
        let folder = peer(&prints("fib", "5", "987"));
        wrong(&fib(folder.path()), "ran another case or number of threads");
        let folder = peer("echo nothing; echo it is broken >&2");
        wrong(&fib(folder.path()), "printed 'nothing'");
        let folder = peer("echo it is broken >&2; exit 3");
        wrong(&fib(folder.path()), "ended with exit status: 3: it is broken");
    }

    #[test]
    fn a_database_with_wrong_answers_or_that_ended_is_found() {
        let scan = |script: &str, reason: &str| {
            let folder = program("databases", script);
            let size = ["--rows", "1k", "--batch", "16", "--batches", "1", "--workers", "1"];
            let output =
                xtasking(folder.path(), &[&["scan", "--quick", "--against", "sqlite"], &size[..]].concat());
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{}{stderr}", text(&output.stdout));
            let begins =
                stderr.lines().any(|line| line.starts_with("error: wrong result of sqlite on mixed, 16 "));
            assert!(begins && stderr.contains(reason), "'{reason}' is not in: {stderr}");
        };
        let loads =
            r#"[ "$*" = 'sqlite 1' ] && read -r load && [ "$load" = '{"load":{"rows":1000,"seed":42}}' ]"#;
        let loaded = format!(r#"{loads} && echo '{{"nanoseconds": 1, "bytes": null}}' && read -r turn"#);
        scan("echo it is broken >&2; exit 3", "ended with exit status: 3");
        scan("read -r load; echo nothing", "printed 'nothing'");
        let answers = |answers: &str| format!("{loaded} && echo '{answers}'; read -r end");
        let none = r#"{"nanoseconds": [1], "digests": [], "sums": []}"#;
        scan(&answers(none), "not every query of every batch was answered");
        let some =
            r#"{"nanoseconds": [1], "digests": [[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]], "sums": []}"#;
        scan(&answers(some), "returns wrong rows");
    }

    #[test]
    fn a_peer_that_is_not_named_does_not_run() {
        let folder = peer("exit 3");
        let stdout =
            passes(&xtasking(folder.path(), &["fib", "--quick", "--number", "22", "--workers", "1"]));
        assert!(!stdout.contains("openmp"), "{stdout}");
    }
}
