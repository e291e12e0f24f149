//! Whatever the files say, the facts hold together.

mod support;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use support::{MACHINES, Machine, coherent};
use xtasking_knowledge::facts::Load;

/// Bytes of any kind, and text of the kind that the files have.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "[-0-9,:/.a-zA-Z %()\\\\\n]{0,60}".prop_map(String::into_bytes),
        "-?[0-9]{1,25}[KMG]?".prop_map(String::into_bytes),
        "[0-9]{1,3}(-[0-9]{1,3})?(,[0-9]{1,3}(-[0-9]{1,3})?){0,4}".prop_map(String::into_bytes),
    ]
}

/// A file of those there are, and what it says instead; none: it is taken away.
type Change = (prop::sample::Index, Option<Vec<u8>>);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let content = prop::option::weighted(0.9, content());
    prop::collection::vec((any::<prop::sample::Index>(), content), 1..6)
}

/// Changes the files that `chosen` picks, reads the facts, and undoes it: machines are made once, since they are of
/// hundreds of files.
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
fn changed_machines() {
    // The largest is left out for the sake of time.
    let machines: Vec<_> = MACHINES[..8].iter().copied().map(Machine::named).collect();
    let inputs = (0..machines.len(), changes());
    let run = |(machine, changes): (usize, _)| {
        check(&machines[machine], changes, |_| true);
        Ok(())
    };
    runner().run(&inputs, run).unwrap();
}

/// These are few among those of the CPUs, and say more each.
#[test]
fn changed_files_that_are_not_of_cpus() {
    let machines = ["container-v1", "masked"].map(Machine::named);
    let inputs = (0..machines.len(), changes());
    let run = |(machine, changes): (usize, _)| {
        check(&machines[machine], changes, |file| !file.starts_with("/sys/devices/system/cpu/cpu"));
        Ok(())
    };
    runner().run(&inputs, run).unwrap();
}

#[test]
fn changed_counters() {
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
