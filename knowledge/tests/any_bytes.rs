//! Whatever the files say, the facts hold together.

mod support;

use proptest::prelude::*;
use support::{MACHINES, Machine, coherent};

/// Bytes of any kind, and text of the kind that the files have.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "[-0-9,:/.a-zA-Z %()\\\\\n]{0,60}".prop_map(String::into_bytes),
        "-?[0-9]{1,25}[KMG]?".prop_map(String::into_bytes),
        "[0-9]{1,3}(-[0-9]{1,3})?(,[0-9]{1,3}(-[0-9]{1,3})?){0,4}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn changed_machines(
        // The largest is left out for the sake of time.
        name in prop::sample::select(&MACHINES[..8]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::weighted(0.9, content())), 1..6),
    ) {
        let machine = Machine::named(name);
        for (file, content) in changes {
            let files = machine.files();
            let file = file.get(&files);
            match content {
                Some(content) => machine.write(file, content),
                None => machine.remove(file),
            }
        }
        if let Ok(facts) = machine.system().facts() {
            coherent(&facts);
        }
    }

    #[test]
    fn changed_files_of_the_process(
        changes in prop::collection::vec((0..6_usize, content()), 1..6),
    ) {
        let machine = Machine::named("container-v2");
        let files = ["self/cgroup", "self/mountinfo", "self/status", "meminfo", "cpuinfo", "pressure/cpu"];
        for (file, content) in changes {
            machine.write(&format!("/proc/{}", files[file]), content);
        }
        coherent(&machine.facts());
    }

    #[test]
    fn loads(
        looks in prop::array::uniform2((content(), content(), content(), content())),
    ) {
        let machine = Machine::empty();
        let [before, after] = looks.map(|(counters, process, one, two)| {
            let counters = [b"cpu0 1 2 3 4 5\ncpu1 ".as_slice(), &counters].concat();
            machine.write("/proc/stat", counters);
            machine.write("/proc/self/stat", process);
            machine.write("/proc/self/task/1/stat", [b"1 (a) R ".as_slice(), &one].concat());
            machine.write("/proc/self/task/2/stat", two);
            let rest = "S 1 1 1 0 -1 64 0 0 0 0 12 34 0 0 20 5 1 0 7 3 3 1 9 9 9 0 0 0 0 0 0 0 0 0 17 1 0 0";
            machine.write("/proc/self/task/3/stat", format!("3 (b) {rest}"));
            machine.system().sample()
        });
        if let (Ok(before), Ok(after)) = (before, after) {
            let load = xtasking_knowledge::facts::Load::between(&before, &after);
            for cpu in load.cpus {
                let shares = [cpu.own, cpu.others, cpu.nice, cpu.steal];
                prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
                prop_assert!(shares.iter().sum::<f64>() < 1.000_001);
            }
        }
    }
}
