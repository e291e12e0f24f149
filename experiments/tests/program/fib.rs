//! The experiment `fib`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn all_contenders_compute_the_same_number() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let output =
        xtasking(&["fib", "--quick", "--number", "22", "--workers", "1,2", "--json", json, "--plot", plot]);
    let stdout = passes(&output);
    for words in
        ["machine ", "fib of 22 · 28656 joins", "│ fork and join ", "threads computed Fibonacci number 2"]
    {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!((&report["experiment"], &report["parameters"]["number"]), (&"fib".into(), &22.into()));
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    assert_eq!(["xtasking", "chili", "rayon", "rayon-scope", "tokio"].map(of), [2; 5]);
    assert_eq!(["plain", "threads"].map(of), [1; 2]);
    for result in results {
        assert_eq!((&result["checked"], &result["unit"]), (&true.into(), &"ns".into()), "{result}");
    }
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["fib"], arguments].concat(), reason);
    refused(&["--against", "rayn"], "--against: unknown implementation 'rayn'; did you mean 'rayon'?");
    refused(&["--number", "5"], "--number is 5; choose 22 to 45");
    refused(&["--workers", "0"], "choose 1 to 256");
    refused(&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json");
}
