//! The experiment `pools`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

const POOLS: [&str; 7] = ["stealing", "xqueue", "xqueue-v2", "xqueue-vn", "xqueue-kautz", "shared", "local"];

#[test]
fn every_queue_policy_runs_all_cases() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let arguments = ["pools", "spawner", "fib", "cholesky", "watched", "virtual", "compared"];
    let sizes =
        ["--quick", "--tasks", "10k", "--number", "15", "--order", "64", "--tile", "8", "--workers", "1,2"];
    let virtual_sizes = ["--cores", "3,12", "--virtual-number", "12", "--virtual-rows", "6"];
    let files = ["--json", json.to_str().unwrap(), "--plot", plot.to_str().unwrap()];
    let output = xtasking(&[&arguments[..], &sizes, &virtual_sizes, &files].concat());
    let stdout = passes(&output);
    for words in [
        "10000 tasks of one spawner · fib of 15 · order 64 in tiles of 8",
        "on 3, 12 virtual cores: fib of 12 · 6 rows of tiles",
        "remote_push: 40",
        "virtual cholesky 12 xqueue-vn: ",
        "tokio spawned 1000 tasks and computed Fibonacci number 9",
        "all tasks were counted, all results checked",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    let of = |case: &str, unit: &str| {
        let found = results.iter().filter(|result| result["case"] == case && result["unit"] == unit);
        found.map(|result| result["implementation"].as_str().unwrap()).collect::<Vec<_>>()
    };
    let all = [&POOLS[..], &["rayon", "tokio"]].concat();
    for case in ["spawner", "fib", "cholesky"] {
        assert_eq!(of(case, "ns"), all.repeat(2), "{case}");
    }
    for case in ["watched fib", "watched cholesky"] {
        assert_eq!(of(case, "λ"), all.repeat(2), "{case}");
    }
    for case in ["virtual fib", "virtual cholesky"] {
        assert_eq!(of(case, "λ"), POOLS.repeat(2), "{case}");
    }
    for case in ["compared fib", "compared cholesky"] {
        assert_eq!(of(case, "÷"), POOLS.repeat(2), "{case}");
    }
    let load = |result: &Value| {
        let busy: Vec<_> = result["busy_ns"].as_array()?.iter().map(|busy| busy.as_f64().unwrap()).collect();
        assert_eq!(result["workers"], busy.len());
        Some(busy)
    };
    for result in results {
        assert_eq!(result["checked"], true, "{result}");
        let details = &result["details"];
        let busy = load(result);
        assert_eq!(busy.is_some(), result["unit"] == "λ", "{result}");
        if let Some(busy) = busy {
            let (max, sum) = (busy.iter().copied().fold(0.0, f64::max), busy.iter().sum::<f64>());
            let lambda = max * busy.len() as f64 / sum - 1.0;
            assert!((lambda - result["median"].as_f64().unwrap()).abs() < 1e-9, "{result}");
        }
        if result["unit"] == "÷" {
            assert!(result["median"].as_f64().unwrap() > 0.0, "{result}");
            continue;
        }
        let speed_up = result["speed_up"].as_f64().unwrap();
        assert!(speed_up > 0.0, "{result}");
        match result["case"].as_str().unwrap() {
            case if case.starts_with("virtual") => {
                let (cores, busy) =
                    (result["workers"].as_f64().unwrap(), details["busy_cores"].as_f64().unwrap());
                // Bodies take less than the cores are busy: the rest is overhead.
                assert!(speed_up < busy && busy <= cores, "{result}");
            }
            case if case.starts_with("watched") => assert!(details["milliseconds"].as_f64().unwrap() > 0.0),
            _ => assert!(details.is_null(), "{result}"),
        }
    }
    let plot = fs::read_to_string(plot).unwrap();
    assert!(plot.lines().any(|line| line == "virtual cholesky, 12 workers"), "{plot}");
}

/// With the policy `local`, one worker of eight runs all tasks: λ = 8 − 1.
#[test]
fn the_imbalance_without_load_balancing_is_known() {
    let output = xtasking(&["pools", "virtual fib", "--quick", "--cores", "8", "--against", "local"]);
    let stdout = passes(&output);
    let line = stdout.lines().find(|line| line.contains("┆ local ")).unwrap();
    assert!(line.contains(" 7.00 "), "{line}");
    // Of 5 + 10 ns a task, and 5 for its spawn, the body takes 10.
    assert!(line.contains("┆     0.50 "), "{line}");
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["pools"], arguments].concat(), reason);
    refused(&["chess"], "no case has 'chess' in its name; did you mean 'cholesky'?");
    refused(&["zzz"], "no case has 'zzz' in its name; --help lists all cases");
    refused(&["--tasks", "10"], "--tasks is 10; choose 1000 to 50000000");
    refused(&["--number", "50"], "--number is 50; choose 10 to 42");
    refused(&["--order", "0"], "--order is 0; choose 1 to 16384");
    refused(&["--tile", "48"], "--tile is 48; choose a divisor of 1024");
    refused(&["--cores", "0"], "--cores is 0; choose 1 to 1024");
    refused(&["--virtual-number", "40"], "--virtual-number is 40; choose 5 to 35");
    refused(&["--virtual-rows", "300"], "--virtual-rows is 300; choose 1 to 256");
    refused(&["--against", "rayn"], "unknown implementation 'rayn'; did you mean 'rayon'?");
    refused(&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json");
}
