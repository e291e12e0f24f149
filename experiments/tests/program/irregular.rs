//! The experiment `irregular`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn every_workload_is_measured_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let arguments = ["irregular", "--quick", "--depth", "3", "--queens", "6", "--levels", "3"];
    let more = ["--items", "5k", "--workers", "1,2", "--json", json, "--plot", plot];
    let output = xtasking(&[&arguments[..], &more].concat());
    let stdout = passes(&output);
    for words in [
        "irregular: tree, queens, skynet, sort · seed",
        "tree of depth 3 · 6 queens · 3 levels of skynet · 5000 integers",
        "speed-up │",
        "all outcomes were checked",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    let everywhere = ["xtasking", "rayon", "chili"].map(of);
    assert_eq!((everywhere, of("plain"), of("rayon-sort")), ([2 * 4; 3], 4, 2));
    assert_eq!(["xtasking-scope", "rayon-scope"].map(of), [2 * 3; 2]);
    for result in results {
        assert!(result["speed_up"].as_f64().unwrap() > 0.0, "{result}");
    }
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["irregular"], arguments].concat(), reason);
    refused(&["quens"], "no case has 'quens' in its name; did you mean 'queens'?");
    refused(&["--depth", "14"], "--depth is 14; choose 1 to 13");
    refused(&["--queens", "0"], "--queens is 0; choose 1 to 15");
    refused(&["--levels", "9"], "--levels is 9; choose 1 to 8");
    refused(&["--items", "0"], "--items is 0; choose 1 to 1000000000");
    refused(&["--against", "rayn"], "unknown implementation 'rayn'; did you mean 'rayon'?");
}
