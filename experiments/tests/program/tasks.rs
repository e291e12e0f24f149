//! The experiment `tasks`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;
use std::process::Output;

fn tasks(arguments: &[&str]) -> Output {
    xtasking(&[&["tasks"], arguments].concat())
}

#[test]
fn every_case_runs_and_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    // One and two workers, whatever the machine has, so that all cases run.
    let output = tasks(&[
        "--quick",
        "--repetitions",
        "1",
        "--tasks",
        "20k",
        "--workers",
        "1,2",
        "--json",
        json.to_str().unwrap(),
        "--plot",
        plot.to_str().unwrap(),
    ]);
    let stdout = passes(&output);
    for words in
        ["machine ", "│ round trip ", "skipped: tokio on round trip", "descriptors of spawn-run local"]
    {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report["experiment"], "tasks");
    let results = report["results"].as_array().unwrap();
    for result in results {
        assert_eq!((&result["checked"], &result["unit"]), (&true.into(), &"ns".into()), "{result}");
        assert!(result["min"].as_f64().unwrap() > 0.0, "{result}");
    }
    // Every announced case was measured.
    for case in report["parameters"]["cases"].as_array().unwrap() {
        let own = |result: &&Value| result["case"] == *case && result["implementation"] == "xtasking";
        assert!(results.iter().any(|result| own(&result)), "{case} was not measured");
    }
    for implementation in ["atomics", "limit", "rayon", "tokio"] {
        assert!(results.iter().any(|result| result["implementation"] == implementation), "{implementation}");
    }
    assert!(fs::read_to_string(&plot).unwrap().starts_with("<svg"));
}

#[test]
fn cases_and_peers_can_be_chosen() {
    let output =
        tasks(&["round", "chain", "--quick", "--tasks", "10k", "--workers", "2", "--against", "rayon"]);
    let stdout = passes(&output);
    assert!(stdout.contains("│ spawn chain ") && stdout.contains("│ round trip "), "{stdout}");
    assert!(!stdout.contains("│ external ") && !stdout.contains("tokio"), "{stdout}");
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["tasks"], arguments].concat(), reason);
    refused(&["--against", "rayn"], "--against: unknown implementation 'rayn'; did you mean 'rayon'?");
    refused(&["--against", "xyz"], "known are xtasking, atomics, limit, rayon, tokio");
    refused(&["rond trip"], "did you mean 'round trip'?");
    refused(&["round trip", "--workers", "1"], "--workers: no selected case can run");
    refused(&["--workers", "0"], "choose 1 to 256");
    refused(&["--repetitions", "0"], "choose 1 to 1000000");
    refused(&["--tasks", "10"], "--tasks is 10; choose 1000 to 50000000");
    refused(&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json");
}
