//! The experiment `divide`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn pieces_in_every_shape_are_measured_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let arguments = ["divide", "--quick", "--total", "2", "--pieces", "8,50", "--workers", "1,2"];
    let output = xtasking(&[&arguments[..], &["--json", json, "--plot", plot]].concat());
    let stdout = passes(&output);
    for words in [
        "divide 2 ms of work into 8, 50 pieces",
        "│ 8 pieces, scope ",
        "│ 50 pieces, right-leaning joins ",
        "all sums were checked",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    assert_eq!((["xtasking", "rayon"].map(of), of("plain")), ([2 * 8; 2], 8));
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["divide"], arguments].concat(), reason);
    refused(&["--total", "0"], "--total is 0; choose 1 to 10000");
    refused(&["--pieces", "8,0"], "--pieces is 0; choose 1 to 100000");
    refused(&["--against", "rayn"], "unknown implementation 'rayn'; did you mean 'rayon'?");
}
