//! The program `machine`, run as a process.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use xtasking_testing::program::{passes, refuses, run, text};

/// Runs the program.
fn machine(arguments: &[&str]) -> Output {
    run(env!("CARGO_BIN_EXE_machine"), arguments)
}

/// Checks that the program exits with 2, prints one line that contains `reason` as its error, and
/// nothing else.
fn refused(arguments: &[&str], reason: &str) {
    refuses(&machine(arguments), reason);
}

/// Returns what the program prints as JSON.
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&passes(&machine(arguments))).unwrap()
}

/// A machine of which only the CPUs are known.
fn four_cpus(root: &Path) -> &str {
    let cpus = root.join("sys/devices/system/cpu");
    fs::create_dir_all(&cpus).unwrap();
    fs::write(cpus.join("online"), "0-3\n").unwrap();
    root.to_str().unwrap()
}

#[test]
fn this_machine_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["facts.json", "machine.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let stdout = passes(&machine(&["--span", "20", "--json", json, "--plot", plot]));
    for words in [" · 1 package", "└─ ", "load over ", "a runtime without a placement has its workers on CPU"]
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
fn another_machine_is_drawn_from_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let root = four_cpus(directory.path());
    let stdout = passes(&machine(&["--root", root]));
    assert!(stdout.contains("4 CPUs") && stdout.contains("unknown or contradictory"), "{stdout}");
    assert!(!stdout.contains("load over") && !stdout.contains("without a placement"), "{stdout}");
    let facts = json(&["--root", root, "--json", "-"]);
    assert_eq!((facts["cpus"].as_array().unwrap().len(), &facts["load"]), (4, &Value::Null));
    // Its files have no counters.
    let watched = json(&["--root", root, "--json", "-", "--span", "1"]);
    let gaps = watched["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|gap| gap["about"] == "load"), "{gaps:?}");
}

#[test]
fn questions_are_answered() {
    let directory = tempfile::tempdir().unwrap();
    let root = four_cpus(directory.path());
    let ask = |arguments: &[&str]| passes(&machine(&[&["--root", root], arguments].concat()));
    let text = ask(&["partitions", "--size", "8MiB", "--bound", "compute"]);
    for words in ["4 partitions of 8 MiB", "  CPUs 0-3, node 0: 2 MiB each\n", "\nwhy\n  "] {
        assert!(text.contains(words), "'{words}' is not in: {text}");
    }
    let text =
        ask(&["allocation", "--size", "8MiB", "--most", "2", "--keep", "0", "--even", "--no-siblings"]);
    assert!(text.contains("2 partitions of 8 MiB") && !text.contains("CPUs 0"), "{text}");
    let answer = json(&["--root", root, "--json", "-", "partitions", "--size", "4096"]);
    let partitions = answer["plan"]["partitions"].as_array().unwrap();
    let sizes = partitions.iter().map(|part| part["high"].as_u64().unwrap() - part["low"].as_u64().unwrap());
    assert_eq!(sizes.sum::<u64>(), 4096);
    assert!(answer["why"].as_array().is_some_and(|why| !why.is_empty()));
}

#[test]
fn sizes_of_known_caches_are_printed() {
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
    let text = passes(&machine(&["--root", root, "cache", "1"]));
    assert!(text.contains("every CPU sees 32 KiB and has a share of 16 KiB"), "{text}");
    let sizes = json(&["--root", root, "cache", "1", "--json", "-"]);
    assert_eq!((&sizes["views"][0]["size"], &sizes["views"][0]["sharers"]), (&32768.into(), &2.into()));
}

#[test]
fn invalid_requests_are_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let root = four_cpus(directory.path());
    let refused = |arguments: &[&str], reason| {
        refused(&[&["--root", root], arguments].concat(), reason);
    };
    refused(&["cache", "1"], "No cache of level 1");
    refused(&["allocation", "--size", "1GiB", "--keep", "0-3"], "no CPU may be used");
    refused(&["allocation", "--size", "1GiB", "--fewest", "5"], "the request needs at least 5 partitions");
    refused(&["--json", "no/such/directory/file.json"], "cannot write no/such/directory/file.json");
    self::refused(&["--root", "no/such/directory"], "no/such/directory");
    let wrong = machine(&["partitions", "--size", "8GB"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(self::text(&wrong.stderr).contains("write bytes such as 4096, 512MiB or 8GiB"));
}

/// The reader of a named pipe gets the answer, and the program does not wait for a second reader.
#[cfg(unix)]
#[test]
fn an_answer_is_written_to_a_named_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let (root, pipe) = (four_cpus(directory.path()), directory.path().join("pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    passes(&machine(&["--root", root, "--json", pipe.to_str().unwrap()]));
    let written: Value = serde_json::from_str(&reader.join().unwrap()).unwrap();
    assert_eq!(written["cpus"].as_array().unwrap().len(), 4);
}

/// Writes the counters of four CPUs after `ticks` hundred ticks, in which CPU 1 was always busy.
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
fn changes_are_printed_as_they_happen() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let root = four_cpus(path);
    let idle = "1 (a) S 1 1 1 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0\n";
    fs::create_dir_all(path.join("proc/self/task/1")).unwrap();
    fs::write(path.join("proc/self/task/1/stat"), idle).unwrap();
    tick(path, 0);
    let watch = ["--root", root, "watch", "--size", "8MiB", "--bound", "compute", "--json", "-"];
    let mut program = Command::new(env!("CARGO_BIN_EXE_machine"))
        .args(watch)
        .args(["--seconds", "60", "--every", "50"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ended = AtomicBool::new(false);
    let (plan, change) = thread::scope(|scope| {
        let ticker = scope.spawn(|| {
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
        let messages = (next(), next());
        ended.store(true, Ordering::Relaxed);
        // The end of the scope waits by means that ThreadSanitizer does not see.
        ticker.join().unwrap();
        messages
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

    // The program ends at its time limit even if nothing changes.
    let text = passes(&machine(&["--root", root, "watch", "--size", "8MiB", "--seconds", "1"]));
    assert!(text.starts_with("4 partitions of 8 MiB"), "{text}");
    refused(&["--root", root, "watch", "--size", "8MiB", "--json", "file.json"], "--json -");
    fs::remove_dir_all(path.join("proc/self/task")).unwrap();
    refused(&["--root", root, "watch", "--size", "8MiB"], "`/proc/self/task` lists no thread");
}

#[test]
fn descriptions_by_hwloc_are_read() {
    let described = "package:2 [numa(memory=8GiB)] l3:1(size=32MiB) core:4 pu:2";
    let text = passes(&machine(&["--hwloc", described]));
    assert!(text.contains("16 CPUs") && !text.contains("without a placement"), "{text}");
    let answer = json(&["--hwloc", described, "--json", "-", "partitions", "--size", "1GiB"]);
    assert_eq!(answer["plan"]["partitions"].as_array().unwrap().len(), 8);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("machine.xml");
    fs::write(&file, "<topology><object type=\"System\"/></topology>").unwrap();
    refused(&["--hwloc", file.to_str().unwrap()], "it is a topology of hwloc 1");
    refused(&["--hwloc", "no-such-file.xml"], "cannot read no-such-file.xml");
    refused(&["--hwloc", "core:2"], "the last level, and no other, must be `pu`");
    refused(&["--hwloc", described, "watch", "--size", "1GiB"], "there is nothing to watch");
}
