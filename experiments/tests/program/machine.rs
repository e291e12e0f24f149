//! The inquiry `machine`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What is printed for programs.
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&passes(&xtasking(arguments))).unwrap()
}

/// A machine of which nothing is known but its CPUs.
fn four_cpus(root: &Path) -> &str {
    let cpus = root.join("sys/devices/system/cpu");
    fs::create_dir_all(&cpus).unwrap();
    fs::write(cpus.join("online"), "0-3\n").unwrap();
    root.to_str().unwrap()
}

#[test]
fn this_machine_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["facts.json", "machine.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let stdout = passes(&xtasking(&["machine", "--span", "20", "--json", json, "--plot", plot]));
    for words in [" · 1 package", "└─ ", "load over ", "a runtime that is told nothing has workers on CPU"]
    {
        assert!(words == " · 1 package" || stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let facts: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let cpus = facts["cpus"].as_array().unwrap().len();
    assert!(cpus >= 1 && stdout.contains(&format!("{cpus} CPU")), "{stdout}");
    assert!(facts["load"]["cpus"].is_array());
    let svg = fs::read_to_string(plot).unwrap();
    assert!(svg.starts_with("<svg") && svg.matches("<title>CPU ").count() == cpus);
}

#[test]
fn another_machine_is_shown_by_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let root = four_cpus(directory.path());
    let stdout = passes(&xtasking(&["machine", "--root", root]));
    assert!(stdout.contains("4 CPUs") && stdout.contains("not known, or contradictory"), "{stdout}");
    assert!(!stdout.contains("load over") && !stdout.contains("told nothing"), "{stdout}");
    let facts = json(&["machine", "--root", root, "--json", "-"]);
    assert_eq!((facts["cpus"].as_array().unwrap().len(), &facts["load"]), (4, &Value::Null));
    // Nothing there tells of a load.
    let watched = json(&["machine", "--root", root, "--json", "-", "--span", "1"]);
    let gaps = watched["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|gap| gap["about"] == "load"), "{gaps:?}");
}

#[test]
fn questions_are_answered() {
    let directory = tempfile::tempdir().unwrap();
    let root = four_cpus(directory.path());
    let ask = |arguments: &[&str]| passes(&xtasking(&[&["machine", "--root", root], arguments].concat()));
    let text = ask(&["partitions", "--size", "8MiB", "--bound", "compute"]);
    for words in ["4 partitions of 8 MiB", "  CPUs 0-3, node 0: 2 MiB each\n", "\nwhy\n  "] {
        assert!(text.contains(words), "'{words}' is not in: {text}");
    }
    let text =
        ask(&["allocation", "--size", "8MiB", "--most", "2", "--keep", "0", "--even", "--no-siblings"]);
    assert!(text.contains("2 partitions of 8 MiB") && !text.contains("CPUs 0"), "{text}");
    let answer = json(&["machine", "--root", root, "--json", "-", "partitions", "--size", "4096"]);
    let partitions = answer["plan"]["partitions"].as_array().unwrap();
    let sizes = partitions.iter().map(|part| part["high"].as_u64().unwrap() - part["low"].as_u64().unwrap());
    assert_eq!(sizes.sum::<u64>(), 4096);
    assert!(answer["why"].as_array().is_some_and(|why| !why.is_empty()));
}

#[test]
fn caches_are_told_where_they_are_known() {
    let directory = tempfile::tempdir().unwrap();
    let root = four_cpus(directory.path());
    for cpu in 0..4 {
        let cache = directory.path().join(format!("sys/devices/system/cpu/cpu{cpu}/cache/index0"));
        fs::create_dir_all(&cache).unwrap();
        let shared = if cpu < 2 { "0-1" } else { "2-3" };
        for (name, text) in [("level", "1"), ("type", "Data"), ("size", "32K"), ("shared_cpu_list", shared)] {
            fs::write(cache.join(name), text).unwrap();
        }
    }
    let text = passes(&xtasking(&["machine", "--root", root, "cache", "1"]));
    assert!(text.contains("every CPU sees 32 KiB, and has 16 KiB for itself"), "{text}");
    let sizes = json(&["machine", "--root", root, "cache", "1", "--json", "-"]);
    assert_eq!((&sizes["views"][0]["size"], &sizes["views"][0]["sharers"]), (&32768.into(), &2.into()));
}

#[test]
fn what_cannot_be_answered_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let root = four_cpus(directory.path());
    let refused = |arguments: &[&str], reason| {
        refused(&[&["machine", "--root", root], arguments].concat(), reason);
    };
    refused(&["cache", "1"], "No cache of level 1");
    refused(&["allocation", "--size", "1GiB", "--keep", "0-3"], "no CPU may be used");
    refused(&["allocation", "--size", "1GiB", "--fewest", "5"], "5 partitions are needed at least");
    refused(&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json");
    crate::refused(&["machine", "--root", "no/such/directory"], "no/such/directory");
    let wrong = xtasking(&["machine", "partitions", "--size", "8GB"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(crate::text(&wrong.stderr).contains("write bytes such as 4096, 512MiB or 8GiB"));
}

/// The counters of four CPUs after so many hundred ticks, of which CPU 1 was busy all the time.
fn tick(root: &Path, ticks: u32) {
    let line = |cpu: u32| {
        let busy = if cpu == 1 { ticks * 100 } else { 0 };
        format!("cpu{cpu} {busy} 0 0 {}\n", ticks * 100 - busy)
    };
    let (new, stat) = (root.join("proc/stat.new"), root.join("proc/stat"));
    fs::write(&new, (0..4).map(line).collect::<String>()).unwrap();
    fs::rename(new, stat).unwrap();
}

#[test]
fn changes_are_told_as_they_come() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let root = four_cpus(path);
    let idle = "1 (a) S 1 1 1 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0\n";
    fs::create_dir_all(path.join("proc/self/task/1")).unwrap();
    fs::write(path.join("proc/self/task/1/stat"), idle).unwrap();
    tick(path, 0);
    let watch = ["machine", "--root", root, "watch", "--size", "8MiB", "--bound", "compute", "--json", "-"];
    let mut program = Command::new(env!("CARGO_BIN_EXE_xtasking"))
        .args(watch)
        .args(["--seconds", "60", "--every", "50"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ended = AtomicBool::new(false);
    let (plan, change) = thread::scope(|scope| {
        scope.spawn(|| {
            for ticks in 1.. {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                tick(path, ticks);
                thread::sleep(Duration::from_millis(5));
            }
        });
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        let mut next = || lines.next().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let told = (next(), next());
        ended.store(true, Ordering::Relaxed);
        told
    });
    program.kill().unwrap();
    program.wait().unwrap();
    let (plan, change) = (plan.unwrap(), change.unwrap());
    assert_eq!(plan["plan"]["partitions"].as_array().unwrap().len(), 4);
    let changes = change["change"]["advice"]["changes"].as_array().unwrap();
    let smaller = |change: &Value| {
        change["Resize"]["cpu"] == 1 && change["Resize"]["from"].as_u64() > change["Resize"]["to"].as_u64()
    };
    assert!(changes.iter().any(smaller), "{change}");
    assert!(change["change"]["advice"]["gain"].as_f64().unwrap() > 0.1, "{change}");

    // It ends by itself, also where nothing changes.
    let told = passes(&xtasking(&["machine", "--root", root, "watch", "--size", "8MiB", "--seconds", "1"]));
    assert!(told.starts_with("4 partitions of 8 MiB"), "{told}");
    refused(&["machine", "--root", root, "watch", "--size", "8MiB", "--json", "file.json"], "--json -");
    fs::remove_dir_all(path.join("proc/self/task")).unwrap();
    refused(&["machine", "--root", root, "watch", "--size", "8MiB"], "`/proc/self/task` tells of no thread");
}

#[test]
fn machines_that_hwloc_describes() {
    let described = "package:2 [numa(memory=8GiB)] l3:1(size=32MiB) core:4 pu:2";
    let text = passes(&xtasking(&["machine", "--hwloc", described]));
    assert!(text.contains("16 CPUs") && !text.contains("told nothing"), "{text}");
    let answer = json(&["machine", "--hwloc", described, "--json", "-", "partitions", "--size", "1GiB"]);
    assert_eq!(answer["plan"]["partitions"].as_array().unwrap().len(), 8);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("machine.xml");
    fs::write(&file, "<topology><object type=\"System\"/></topology>").unwrap();
    refused(&["machine", "--hwloc", file.to_str().unwrap()], "it is a topology of hwloc 1");
    refused(&["machine", "--hwloc", "no-such-file.xml"], "cannot read no-such-file.xml");
    refused(&["machine", "--hwloc", "core:2"], "the last level, and no other, is `pu`");
    refused(&["machine", "--hwloc", described, "watch", "--size", "1GiB"], "there is nothing to watch");
}
