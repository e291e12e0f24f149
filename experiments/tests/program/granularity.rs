//! The experiment `granularity`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn all_contenders_find_the_minimum() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let arguments = ["granularity", "--quick", "--size", "2", "--grains", "100,1k,100k", "--workers", "1,2"];
    let output = xtasking(&[&arguments[..], &["--json", json, "--plot", plot]].concat());
    let stdout = passes(&output);
    for words in [
        "granularity: 131072 records in 2 MiB · 100, 1000, 100000 a task · seed 42",
        "│ 1000 a task ",
        "xtasking-remote with 2 workers: throughput at 1000 to 1000000 records a task is ",
        "every result was compared with that of a sequential loop",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(
        (&report["experiment"], &report["parameters"]["records"]),
        (&"granularity".into(), &131_072.into())
    );
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    let parallel = ["xtasking", "xtasking-remote", "xtasking-joins", "rayon", "rayon-spawn", "tokio"];
    assert_eq!(parallel.map(of), [6; 6]);
    assert_eq!(["plain", "plain-pieces"].map(of), [3; 2]);
    for result in results {
        assert_eq!((&result["checked"], &result["unit"]), (&true.into(), &"Mrecords/s".into()), "{result}");
    }
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["granularity"], arguments].concat(), reason);
    refused(&["--size", "0"], "--size is 0; choose 1 to 1048576 MiB");
    refused(&["--size", "1000000"], "--size is 1000000 MiB, but only ");
    refused(&["--size", "1", "--grains", "10,0"], "--grains: 0 is not possible; choose 1 to 65536");
    refused(&["--size", "1", "--grains", "65537"], "--grains: 65537 is not possible");
    refused(&["--against", "rayn"], "unknown implementation 'rayn'; did you mean 'rayon'?");
    refused(&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json");
}
