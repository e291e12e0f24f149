//! The experiment `wavefront`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn every_contender_is_measured_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let arguments = ["wavefront", "--quick", "--blocks", "12", "--side", "4,9", "--workers", "1,2"];
    let output = xtasking(&[&arguments[..], &["--json", json, "--plot", plot]].concat());
    let stdout = passes(&output);
    for words in [
        "wavefront: 12 × 12 blocks of 4, 9 × as many cells",
        "│ blocks of 9 × 9 ",
        "all last rows were checked",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    assert_eq!(["xtasking", "xtasking-columns", "xtasking-counters", "rayon"].map(of), [2 * 2; 4]);
    assert_eq!(["plain", "plain-blocks"].map(of), [2; 2]);
    for result in results {
        assert!(result["speed_up"].as_f64().unwrap() > 0.0, "{result}");
    }
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["wavefront"], arguments].concat(), reason);
    refused(&["--blocks", "0"], "--blocks is 0; choose 1 to 4096");
    refused(&["--side", "8,5000"], "--side is 5000; choose 1 to 4096");
    refused(&["--against", "rayn"], "unknown implementation 'rayn'; did you mean 'rayon'?");
}
