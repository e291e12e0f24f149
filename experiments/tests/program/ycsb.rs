//! The experiment `ycsb`.

use crate::{passes, refused, text, xtasking};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// Runs a small version of the experiment.
fn small(arguments: &[&str]) -> Output {
    let common = ["ycsb", "--records", "2k", "--operations", "3k", "--repetitions", "2"];
    xtasking(&[&common, arguments].concat())
}

#[test]
fn the_table_names_the_machine_the_cases_and_the_contenders() {
    let stdout = passes(&small(&["all", "--against", "btreemap", "--workers", "1,2"]));
    assert!(stdout.starts_with("machine "), "{stdout}");
    for word in
        ["memory", "rustc", "seed 42", "Mops/s", "insert", "btreemap", "1.00×", "every result was checked"]
    {
        assert!(stdout.contains(word), "'{word}' is not in: {stdout}");
    }
    for case in ["A", "B", "C", "D", "E", "F"] {
        assert!(stdout.lines().any(|line| line.starts_with(&format!("│ {case} "))), "{case}: {stdout}");
    }
}

#[test]
fn all_contenders_agree_on_a_quick_run() {
    passes(&small(&["insert", "a,c", "--quick", "--against", "scc,congee,crossbeam-skiplist,btreemap"]));
}

#[test]
fn the_json_report_has_the_documented_keys() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    let file = path.to_str().unwrap();
    passes(&small(&[
        "insert",
        "C",
        "--against",
        "btreemap",
        "--workers",
        "1",
        "--seed",
        "7",
        "--json",
        file,
    ]));
    let report: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(report["experiment"], "ycsb");
    assert!(report["machine"]["cpu"].is_string() && report["machine"]["cores"].is_u64());
    assert_eq!(report["parameters"]["records"], 2000);
    assert_eq!(report["parameters"]["seed"], 7);
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for result in results {
        let names: Vec<_> = result.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected =
            ["case", "implementation", "workers", "unit", "median", "min", "max", "repetitions", "checked"];
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert_eq!((&result["repetitions"], &result["checked"]), (&2.into(), &true.into()));
        let number = |name: &str| result[name].as_f64().unwrap();
        assert!(
            0.0 < number("min") && number("min") <= number("median") && number("median") <= number("max")
        );
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn the_figure_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plot.svg");
    passes(&small(&["A", "--workers", "1", "--plot", path.to_str().unwrap()]));
    let svg = fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn property_files_can_be_overridden() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.properties");
    fs::write(
        &path,
        "# mine\nrecordcount = 1000\noperationcount: 2000\nreadproportion=0.2\\\n5\nfieldcount=10\n",
    )
    .unwrap();
    let file = path.to_str().unwrap();
    let output = xtasking(&[
        "ycsb",
        "-P",
        file,
        "-p",
        "updateproportion=0.75",
        "--against",
        "btreemap",
        "--workers",
        "1",
    ]);
    let stdout = passes(&output);
    for words in ["1000 records · 2000 operations", "│ mine ", "ignored properties of YCSB: fieldcount"] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    refused(&["ycsb", "-P", file], "workload mine: the proportions add up to 0.3");
    fs::write(&path, "=1").unwrap();
    refused(&["ycsb", "-P", file], "line 1: there is no name");
    fs::write(&path, [0xff, 0xfe]).unwrap();
    refused(&["ycsb", "-P", file], "UTF-8");
    refused(&["ycsb", "-P", "no/such/file"], "cannot read workload file no/such/file");
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    for (arguments, reason) in [
        (&["G"][..], "unknown workload 'G'; choose A, B, C, D, E, F, insert or all"),
        (&["--against", "btremap"], "did you mean 'btreemap'?"),
        (&["--against", "xyz"], "known are "),
        (&["-p", "readproportoin=1"], "did you mean 'readproportion'?"),
        (&["-p", "readproportion"], "write -p name=value"),
        (&["A", "-p", "readproportion=1"], "workload A: the proportions add up to 1.5, not 1"),
        (&["-p", "requestdistribution=hotspot"], "choose one of uniform, zipfian, latest"),
        (&["--workers", "0"], "--workers: 0 workers are not possible; choose 1 to 256"),
        (&["--workers", "1,257"], "choose 1 to 256"),
        (&["--repetitions", "0"], "--repetitions is 0; choose 1 to 1000000"),
        (&["--repetitions", "100000000000"], "--repetitions is 100000000000; choose 1 to 1000000"),
        (
            &["--prefetch-distance", "100000000000"],
            "--prefetch-distance is 100000000000; choose 1 to 1048576, or off",
        ),
        (&["--operations", "100000000000"], "--operations: "),
        (&["--records", "0"], "choose 1 or more"),
        (&["--operations", "0"], "choose 1 or more"),
        (&["--records", "4G"], "lower --records"),
        (&["--operations", "99999G"], "lower --records"),
        (&["--node-size", "100"], "choose 512, 1024, 2048 or 4096"),
        (&["--limit-batch", "4,33"], "--limit-batch is [4, 33]; choose sizes from 1 to 32"),
        (&["--in-flight", "0"], "choose 1 to 1024"),
        (&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json"),
        (&["--plot", "/"], "cannot write /"),
    ] {
        refused(&[&["ycsb"], arguments].concat(), reason);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_output_error() {
    let output = small(&["C", "--workers", "1", "--json", "/dev/full"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr).contains("cannot write /dev/full: No space left"),
        "{}",
        text(&output.stderr)
    );
    assert!(text(&output.stdout).contains("Mops/s"), "the table is printed before the file is written");
    assert!(Path::new("/dev/full").exists());
}

#[test]
fn more_workers_than_cores_are_possible() {
    passes(&small(&["A", "--workers", "9", "--against", "btreemap"]));
}

#[test]
fn fewer_records_than_workers_are_possible() {
    let records = ["--records", "1", "--operations", "10", "--repetitions", "1"];
    let output =
        xtasking(&[&["ycsb", "all", "--workers", "5", "--against", "btreemap"], &records[..]].concat());
    passes(&output);
}
