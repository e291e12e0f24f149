//! The experiment `graph`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn all_contenders_find_the_same_distances() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let arguments = ["graph", "--quick", "--vertices", "5k", "--workers", "1,2"];
    let output = xtasking(&[&arguments[..], &["--json", json, "--plot", plot]].concat());
    let stdout = passes(&output);
    for words in [
        "graph of 5000 vertices and 50000 edges · seed 42",
        "│ breadth-first search ",
        " of 5000 vertices, at distances up to ",
        "all distances were compared with those of a sequential search",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!((&report["experiment"], &report["parameters"]["edges"]), (&"graph".into(), &50_000.into()));
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    assert_eq!((["xtasking", "rayon"].map(of), of("sequential")), ([2; 2], 1));
    for result in results {
        assert_eq!((&result["checked"], &result["unit"]), (&true.into(), &"Medges/s".into()), "{result}");
    }
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["graph"], arguments].concat(), reason);
    refused(&["--vertices", "0"], "--vertices is 0; choose 1 to 4000000000");
    refused(&["--edges", "5G"], "--edges is 5000000000; choose 0 to 4000000000");
    refused(&["--vertices", "4G", "--edges", "1"], "--vertices and --edges take about ");
    refused(&["--against", "rayn"], "unknown implementation 'rayn'; did you mean 'rayon'?");
    refused(&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json");
}
