//! The experiments `files` and `grow`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn all_contenders_keep_the_file_system_whole() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let arguments = ["files", "--quick", "--operations", "600", "--workers", "1,2", "--mix", "small writes"];
    let more = ["--body", "0,1.5", "--moves", "30", "--json", json, "--plot", plot];
    let stdout = passes(&xtasking(&[&arguments[..], &more].concat()));
    for words in [
        "files: 11111 nodes · 600 operations a turn · seed 42",
        "│ small writes by path, after 30 moves ",
        "│ small writes by handle, 1.5 µs, after 30 moves ",
        "all answers were checked",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!((&report["experiment"], &report["parameters"]["nodes"]), (&"files".into(), &11_111.into()));
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    // Two bodies with two numbers of workers; by path and by handle, or by path alone. Each turn
    // has a wall-clock time and, on Linux, a CPU time.
    let figures = if cfg!(target_os = "linux") { 2 } else { 1 };
    let with_handles = ["rwlock", "coupling", "stm", "xtasking", "xtasking-ordered", "xtasking-trees"];
    assert_eq!(with_handles.map(of), [8 * figures; 6]);
    assert_eq!(["path-locks", "dashmap", "actors"].map(of), [4 * figures; 3]);
    for result in results {
        assert_eq!(result["checked"], true, "{result}");
        let missed = result["details"]["missed_percent"].as_f64().unwrap();
        assert!((0.0..50.0).contains(&missed), "{result}");
    }
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn in_virtual_time_a_run_can_be_repeated() {
    let arguments = ["files", "--virtual", "--operations", "300", "--workers", "4", "--body", "20"];
    let more = ["--mix", "large writes", "--repetitions", "1"];
    let [first, second] = [(); 2].map(|()| passes(&xtasking(&[&arguments[..], &more].concat())));
    assert!(first.contains("in virtual time: 20 ns for a node") && !first.contains(", dashmap"), "{first}");
    let table = |text: &str| text[text.find("│ case").unwrap()..].to_string();
    assert_eq!(table(&first), table(&second));
}

#[test]
fn a_tree_grows_and_pairs_of_its_subtrees_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let json = json.to_str().unwrap();
    let arguments = ["grow", "--quick", "--nodes", "2k", "--pairs", "20", "--workers", "1,2"];
    let stdout = passes(&xtasking(&[&arguments[..], &["--json", json]].concat()));
    for words in [
        "grow: from 1 node to 2000 · 20 pairs · seed 42",
        "xtasking with 2 workers: ",
        "% of the pairs exclude each other, although neither is above the other",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    for result in results {
        let has_pairs = result["implementation"] != "rwlock" && result["workers"] == 2;
        assert_eq!(result["details"]["exclusive_pairs_percent"].is_number(), has_pairs, "{result}");
    }
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused_by = |name, arguments: &[&str], reason| refused(&[&[name], arguments].concat(), reason);
    refused_by("files", &["--operations", "0"], "--operations is 0; choose 1 to 1000000000");
    refused_by("files", &["--mix", "smll"], "no case has 'smll' in its name");
    refused_by("files", &["--body", "2e6"], "--body is 2000000; choose 0 to 1000000 µs");
    refused_by("files", &["--moves", "1G"], "--moves is 1000000000; choose 0 to 100000000");
    refused_by("files", &["--against", "rwlok"], "unknown implementation 'rwlok'; did you mean 'rwlock'?");
    refused_by("grow", &["--nodes", "0"], "--nodes is 0; choose 1 to 100000000");
    refused_by("grow", &["--pairs", "1G"], "--pairs is 1000000000; choose 0 to 100000000");
}
