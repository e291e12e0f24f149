//! The experiment `join`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn all_contenders_find_the_same_matches() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let arguments = ["join", "--quick", "--build", "20k", "--probe", "50k", "--workers", "1,2"];
    let output = xtasking(&[&arguments[..], &["--json", json, "--plot", plot]].concat());
    let stdout = passes(&output);
    for words in [
        "join of 20000 rows with 50000 rows · seed 42",
        "│ hash join ",
        "the number of matches and the sum of their payloads were checked",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(
        (&report["experiment"], &report["parameters"]["build_rows"]),
        (&"join".into(), &20_000.into())
    );
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    let parallel = ["xtasking", "xtasking-walks", "rayon", "rayon-radix", "by-hand-ahead"];
    assert_eq!(parallel.map(of), [2; 5]);
    assert_eq!(["sequential", "sequential-radix"].map(of), [1; 2]);
    for result in results {
        assert_eq!((&result["checked"], &result["unit"]), (&true.into(), &"Mrows/s".into()), "{result}");
    }
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["join"], arguments].concat(), reason);
    refused(&["--build", "0"], "--build is 0; choose 1 to 10000000000 rows");
    refused(&["--probe", "0"], "--probe is 0; choose 1 to 10000000000 rows");
    refused(&["--build", "9G"], "--build and --probe take about ");
    refused(&["--against", "rayn"], "unknown implementation 'rayn'; did you mean 'rayon'?");
    refused(&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json");
}
