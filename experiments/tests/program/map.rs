//! The experiment `map`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn all_contenders_find_what_was_inserted() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let arguments = ["map", "--quick", "--records", "5k", "--lookups", "10k", "--workers", "1,2"];
    let output = xtasking(&[&arguments[..], &["--json", json, "--plot", plot]].concat());
    let stdout = passes(&output);
    for words in [
        "map: 5000 records · 10000 lookups a turn · 16 keys prefetched by hand · seed 42",
        "│ insert ",
        "│ look up, 10% misses ",
        "every result was checked",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!((&report["experiment"], &report["parameters"]["records"]), (&"map".into(), &5000.into()));
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    // Three cases with two numbers of workers.
    let own = ["xtasking", "xtasking-growing", "xtasking-batches", "xtasking-walks", "xtasking-visits"];
    let others = ["sharded", "dashmap", "papaya", "by-hand", "by-hand-ahead"];
    assert_eq!((own.map(of), others.map(of), results.len()), ([6; 5], [6; 5], 60));
    for result in results {
        assert_eq!((&result["checked"], &result["unit"]), (&true.into(), &"M/s".into()), "{result}");
    }
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn a_share_of_misses_of_zero_is_no_case_of_its_own() {
    let output = xtasking(&[
        "map",
        "--quick",
        "--records",
        "1k",
        "--lookups",
        "1k",
        "--misses",
        "0",
        "--against",
        "by-hand",
    ]);
    let stdout = passes(&output);
    assert!(stdout.contains("look up, all hits") && !stdout.contains("misses"), "{stdout}");
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["map"], arguments].concat(), reason);
    refused(&["--records", "0"], "--records is 0; choose 1 to 10000000000");
    refused(&["--records", "9G"], "--records and --lookups take about ");
    refused(&["--lookups", "0"], "--lookups is 0; choose 1 to 10000000000");
    refused(&["--misses", "101"], "--misses is 101; choose 0 to 100 percent");
    refused(&["--ahead", "0"], "--ahead is 0; choose 1 to 256");
    refused(&["--against", "dashmp"], "unknown implementation 'dashmp'; did you mean 'dashmap'?");
    refused(&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json");
}
