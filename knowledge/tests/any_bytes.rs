//! Facts are consistent whatever bytes the files contain.

mod support;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use support::{MACHINES, Machine, coherent};
use xtasking_knowledge::facts::Load;

/// Arbitrary bytes, and text like that of the files.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "[-0-9,:/.a-zA-Z %()\\\\\n]{0,60}".prop_map(String::into_bytes),
        "-?[0-9]{1,25}[KMG]?".prop_map(String::into_bytes),
        "[0-9]{1,3}(-[0-9]{1,3})?(,[0-9]{1,3}(-[0-9]{1,3})?){0,4}".prop_map(String::into_bytes),
    ]
}

/// A file and its new content; `None` removes it.
type Change = (prop::sample::Index, Option<Vec<u8>>);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let content = prop::option::weighted(0.9, content());
    prop::collection::vec((any::<prop::sample::Index>(), content), 1..6)
}

/// Changes the files selected by `chosen`, reads the facts, and restores the files. Machines
/// consist of hundreds of files, so they are created once.
fn check(machine: &Machine, changes: Vec<Change>, chosen: impl Fn(&str) -> bool) {
    let mut files = machine.files();
    files.retain(|file| chosen(file));
    let changes: BTreeMap<_, _> =
        changes.into_iter().map(|(file, content)| (file.get(&files), content)).collect();
    let before: Vec<_> = changes.keys().map(|file| (file, machine.read(file))).collect();
    for (file, content) in &changes {
        match content {
            Some(content) => machine.write(file, content),
            None => machine.remove(file),
        }
    }
    let facts = machine.system().facts();
    for (file, content) in before {
        machine.write(file, content);
    }
    if let Ok(facts) = facts {
        coherent(&facts);
    }
}

fn runner() -> TestRunner {
    TestRunner::new(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })
}

#[test]
fn changed_files_keep_facts_consistent() {
    // Without the largest, to save time.
    let machines: Vec<_> = MACHINES[..8].iter().copied().map(Machine::named).collect();
    let inputs = (0..machines.len(), changes());
    let run = |(machine, changes): (usize, _)| {
        check(&machines[machine], changes, |_| true);
        Ok(())
    };
    runner().run(&inputs, run).unwrap();
}

/// These files are few beside those of the CPUs, but each matters more.
#[test]
fn changed_files_of_the_process_keep_facts_consistent() {
    let machines = ["container-v1", "masked"].map(Machine::named);
    let inputs = (0..machines.len(), changes());
    let run = |(machine, changes): (usize, _)| {
        check(&machines[machine], changes, |file| !file.starts_with("/sys/devices/system/cpu/cpu"));
        Ok(())
    };
    runner().run(&inputs, run).unwrap();
}

#[test]
fn changed_counters_keep_loads_valid() {
    let machine = Machine::empty();
    let threads = "S 1 1 1 0 -1 64 0 0 0 0 12 34 0 0 20 5 1 0 7 3 3 1 9 9 9 0 0 0 0 0 0 0 0 0 17 1 0 0";
    machine.write("/proc/self/task/3/stat", format!("3 (b) {threads}"));
    let look = |[counters, process, one, two]: [Vec<u8>; 4]| {
        machine.write("/proc/stat", [b"cpu0 1 2 3 4 5\ncpu1 ".as_slice(), &counters].concat());
        machine.write("/proc/self/stat", process);
        machine.write("/proc/self/task/1/stat", [b"1 (a) R ".as_slice(), &one].concat());
        machine.write("/proc/self/task/2/stat", two);
        machine.system().sample()
    };
    let inputs = prop::array::uniform2(prop::array::uniform4(content()));
    let run = |looks: [[Vec<u8>; 4]; 2]| {
        if let [Ok(before), Ok(after)] = looks.map(look) {
            for cpu in Load::between(&before, &after).cpus {
                let shares = [cpu.own, cpu.others, cpu.nice, cpu.steal];
                prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
                prop_assert!(shares.iter().sum::<f64>() < 1.000_001);
            }
        }
        Ok(())
    };
    runner().run(&inputs, run).unwrap();
}
