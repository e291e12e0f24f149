//! The experiment `scan`.

use crate::{passes, refused, text, xtasking};
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn every_answer_is_compared() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let sizes = ["--rows", "5k", "--batch", "1,64", "--batches", "2", "--workers", "1,2"];
    let more = ["--mix", "mixed,points,ranges", "--json", json.to_str().unwrap()];
    let stdout = passes(&xtasking(&[&["scan", "--quick"], &sizes[..], &more].concat()));
    for words in [
        "scan of 5000 rows of 14 columns",
        "chunks of ",
        "│ mixed, 64 with 8 ",
        "│ points, 1 ",
        "indexes",
        "milliseconds of a batch",
        "loading: xtasking 1: ",
        "ranges: indexes is ",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    assert!(stdout.ends_with("was compared with those of the oracle\n"), "{stdout}");
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    // Three mixes in two sizes, on the column store with one and two workers, and on one sequential
    // peer.
    assert_eq!(results.len(), 3 * 2 * 3);
    for result in results {
        assert_eq!(result["checked"], true);
        assert!(result["details"]["batch_p99_ms"].as_f64() >= result["details"]["batch_p50_ms"].as_f64());
        assert!(result["details"]["load_seconds"].as_f64().unwrap() > 0.0);
    }
}

/// Runs only if there are CPUs for two workers.
#[cfg(target_os = "linux")]
#[test]
fn competitors_are_there_only_while_they_are_measured() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let size = ["--rows", "20k", "--batch", "256", "--batches", "8", "--workers", "2"];
    let against = ["--against", "exclude,weighted,adaptive"];
    let stdout =
        passes(&xtasking(&[&["scan", "--quick", "--competitors", "2"], &size[..], &against].concat()));
    for words in [
        "scan of 20000 rows beside 2 competitors · 8 batches of 256 requests, mixed, of which 32 are changes",
        "│ alone ",
        "│ 2 competitors ",
        "exclude on 2 competitors with 2 workers: ",
        "throughput lost relative to naive alone: naive ",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    assert!(stdout.ends_with("and the table after each turn\n"), "{stdout}");
}

#[test]
fn single_queries_are_answered_or_refused() {
    let size = ["--rows", "20k", "--workers", "1", "--load", "50", "--deadline", "5000"];
    let stdout = passes(&xtasking(&[&["scan", "--quick"], &size[..]].concat()));
    for words in ["│ mixed, all at once ", "│ mixed, 50% of capacity ", " answered: ", " refused\n"] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    assert!(stdout.ends_with("was compared with the oracle's\n"), "{stdout}");
    refused(&["scan", "--quick", "--load", "0"], "--load is 0");
    refused(&["scan", "--quick", "--load", "80", "--deadline", "0"], "--deadline");
    refused(&["scan", "--quick", "--load", "80", "--against", "indexes"], "--load measures");
}

/// Needs `/proc/self/numa_maps`; elsewhere the option must be refused.
#[test]
fn pages_are_counted_by_node() {
    if !Path::new("/proc/self/numa_maps").exists() {
        return refused(
            &["scan", "--quick", "--pages"],
            "--pages: `/proc/self/numa_maps`, Linux's table of memory by node",
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let rows = ["--rows", "50k", "--workers", "2", "--json", json.to_str().unwrap()];
    let stdout = passes(&xtasking(&[&["scan", "--quick", "--pages"], &rows[..]].concat()));
    for words in [
        "scan of 50000 rows: on which nodes the memory of 2 partitions is",
        "chunks of ",
        "│ moved back ",
        "loaded, partition 0: worker 0 on CPU",
        "moved, partition 1: worker 1 on CPU",
        " pages (",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let (least, most) =
            (result["median"].as_f64().unwrap(), result["details"]["at_most_percent"].as_f64());
        assert!((0.0..=100.0).contains(&least) && most >= Some(least), "{result}");
        assert!(result["details"]["bytes"].as_f64() >= Some(50_000.0 * 14.0 * 8.0));
        // On a machine with one node, all pages are on it.
        assert!(report["parameters"]["nodes"] != 1 || least == 100.0, "{result}");
    }
    let stdout = passes(&xtasking(&["scan", "--quick", "--pages", "--workers", "1"]));
    assert!(stdout.contains("│ loaded ") && !stdout.contains("│ moved "), "{stdout}");
    refused(&["scan", "--pages", "--against", "indexes"], "--pages: it examines the column store alone");
}

#[test]
fn a_competitor_ends_with_its_parent() {
    // Its input is closed, as if its parent had ended.
    let output = xtasking(&["burn", "--cpu", "0"]);
    match output.status.success() {
        true => assert_eq!(text(&output.stdout), "burning\n"),
        false => assert!(text(&output.stderr).contains("may not run on CPU 0")),
    }
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["scan"], arguments].concat(), reason);
    refused(&["--rows", "10"], "--rows is 10; choose 1000 to 100000000");
    refused(&["--batch", "0"], "--batch is 0; choose 1 to 65536");
    refused(&["--batches", "0"], "--batches is 0; choose 1 to 100000");
    refused(&["--batches", "100000000000"], "--batches is 100000000000; choose 1 to 100000");
    refused(&["--competitors", "0"], "--competitors is 0; choose 1 to 64");
    refused(&["--competitors", "1", "--workers", "1"], "one worker has nothing to divide");
    refused(&["--against", "duckdbs"], "unknown implementation 'duckdbs'; did you mean 'duckdb'?");
}
