//! Files that are missing, broken or contradict each other: what can be known is, and the rest is named.

mod support;

use support::{Machine, coherent};
use xtasking_knowledge::facts::Facts;

const GIB: u64 = 1 << 30;

/// The facts, of which exactly these gaps are told.
#[track_caller]
fn facts(machine: &Machine, gaps: &[(&str, &str)]) -> Facts {
    let facts = machine.facts();
    coherent(&facts);
    let found: Vec<_> = facts.gaps.iter().map(|gap| (gap.about.as_str(), gap.why.as_str())).collect();
    assert_eq!(found, gaps);
    facts
}

#[test]
fn nothing_at_all() {
    let error = Machine::empty().system().facts().unwrap_err().to_string();
    assert_eq!(error, "the number of CPUs is not to be found: `/sys/devices/system/cpu/online` is missing");
}

#[test]
fn statistics_alone() {
    let machine = Machine::empty();
    machine.write("/proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu2 1 2 3 4\nintr 1\n");
    let facts = machine.facts();
    coherent(&facts);
    assert_eq!(facts.allowed().to_string(), "0,2");
    assert_eq!(facts.gaps[1].why, "those of `/proc/stat` are taken");
    let about = [
        "CPUs online",
        "CPUs online",
        "memory",
        "nodes",
        "model",
        "packages",
        "cores",
        "caches",
        "affinity mask",
        "control group of cpuset",
        "control group of cpu",
        "control group of memory",
        "pressure on cpu",
        "pressure on memory",
        "pressure on io",
    ];
    assert_eq!(facts.gaps.iter().map(|gap| gap.about.as_str()).collect::<Vec<_>>(), about);
    machine.remove("/proc/stat");
    machine.write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: A\tB\n\nprocessor\t: 1\n");
    let facts = machine.facts();
    assert_eq!(facts.allowed().to_string(), "0-1");
    assert_eq!(facts.model.as_deref(), Some("A B"));
}

#[test]
fn a_node_that_has_not_got_all_its_memory_yet() {
    let machine = Machine::named("hybrid-laptop");
    machine.write(
        "/sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal: 2097152 kB\nNode 0 MemFree: 1024 kB\n",
    );
    let why = "the nodes say 2147483648 bytes, `/proc/meminfo` says 17179869184";
    let believed = format!("{why}: the latter is believed, since there is one node");
    let facts1 = facts(&machine, &[("memory of nodes", &believed)]);
    assert_eq!((facts1.nodes[0].memory, facts1.nodes[0].free), (Some(16 * GIB), Some(8 * GIB)));

    let machine = Machine::named("amd-4x4");
    for node in 0..3 {
        let table = format!("Node {node} MemTotal: 524288 kB\nNode {node} MemFree: 1024 kB\n");
        machine.write(&format!("/sys/devices/system/node/node{node}/meminfo"), table);
    }
    let why = "the nodes say 5905580032 bytes, `/proc/meminfo` says 17179869184: no node is believed";
    let facts4 = facts(&machine, &[("memory of nodes", why)]);
    assert!(facts4.nodes.iter().all(|node| node.memory.is_none() && node.free.is_none()));
    assert_eq!(facts4.memory, Some(16 * GIB));
}

#[test]
fn a_container_that_is_shown_less_memory() {
    let machine = Machine::named("eight");
    machine.write("/proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 1048577 kB\n");
    let more = "`/proc/meminfo` tells of 1073742848 bytes free of 1073741824";
    let both = "the nodes say 34359738368 bytes, `/proc/meminfo` says 1073741824: both are kept";
    let facts = facts(&machine, &[("memory", more), ("memory", both)]);
    assert_eq!((facts.memory, facts.nodes[0].memory), (Some(GIB), Some(16 * GIB)));
}

#[test]
fn a_cpu_without_topology() {
    let machine = Machine::named("amd-4x4");
    machine.remove("/sys/devices/system/cpu/cpu6");
    let facts = facts(
        &machine,
        &[
            ("packages", "CPUs 6 do not tell theirs, and are taken to be in package 0"),
            ("cores", "CPUs 6 do not tell theirs, and are taken for one each if no other says so"),
            ("caches", "CPUs 6 do not tell theirs"),
        ],
    );
    // Others say that it shares their cache.
    let third = facts.caches.iter().filter(|cache| cache.level == 3);
    assert_eq!(
        third.map(|cache| cache.cpus.to_string()).collect::<Vec<_>>(),
        ["0-3", "4-7", "8-11", "12-15"]
    );
}

#[test]
fn cores_by_number_alone() {
    let machine = Machine::named("amd-4x4");
    for cpu in 0..16 {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        machine.remove(&format!("{folder}/thread_siblings_list"));
        machine.write(&format!("{folder}/core_id"), format!("{}\n", cpu % 4 / 2));
    }
    let cores: Vec<_> = facts(&machine, &[]).cpus.iter().map(|cpu| cpu.core).collect();
    assert_eq!(cores, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
}

#[test]
fn threads_that_do_not_agree() {
    let machine = Machine::named("hybrid-laptop");
    machine.write("/sys/devices/system/cpu/cpu1/topology/core_cpus_list", "1\n");
    machine.write("/sys/devices/system/cpu/cpu12/topology/core_cpus_list", "12,40\n");
    machine.write("/sys/devices/system/cpu/cpu2/topology/physical_package_id", "1\n");
    let facts = facts(
        &machine,
        &[
            ("cores", "CPUs 40 are named as threads of cores, but are not online"),
            ("cores", "what CPUs 0 say of their core, others contradict"),
            ("cores", "CPUs 2-3 are said to be one, but are in several packages"),
        ],
    );
    let cores: Vec<_> = facts.cpus.iter().take(4).map(|cpu| cpu.core).collect();
    assert_eq!(cores, [0, 1, 2, 2]);
}

#[test]
fn caches_that_do_not_agree() {
    let machine = Machine::named("amd-4x4");
    let cache = |cpu: u32, file: &str| format!("/sys/devices/system/cpu/cpu{cpu}/cache/{file}");
    machine.write(&cache(3, "index2/shared_cpu_list"), "0-3,16-17\n");
    machine.write(&cache(4, "index2/shared_cpu_list"), "4-8\n");
    machine.write(&cache(9, "index2/size"), "8M\n");
    machine.write(&cache(12, "index1/type"), "Trace\n");
    machine.remove(&cache(13, "index1/shared_cpu_list"));
    machine.write(&cache(14, "index0/level"), "3\n");
    let path = |cpu, file| format!("`{}`", cache(cpu, file));
    let kind = format!("{} says `Trace`, which is no kind of cache", path(12, "index1/type"));
    let facts = facts(
        &machine,
        &[
            ("caches", &kind),
            ("caches", "CPUs 13 do not tell the `shared_cpu_list` of one, which is left out"),
            ("caches of level 3", "CPUs 16-17 are said to share one, but are not online"),
            ("caches of level 3", "what CPUs 4-7 say about who shares theirs, others contradict"),
            (
                "caches of level 3",
                "CPUs 8-11 share one, but do not agree about its size: the first is believed",
            ),
        ],
    );
    let third = facts.caches.iter().filter(|cache| cache.level == 3 && cache.size == 6 << 20);
    let third: Vec<_> = third.map(|cache| cache.cpus.to_string()).collect();
    assert_eq!(third, ["0-3", "4", "5-7", "8-11", "12-15"]);
}

#[test]
fn two_caches_of_a_kind() {
    let machine = Machine::named("amd-4x4");
    machine.write("/sys/devices/system/cpu/cpu9/cache/index1/level", "3\n");
    let twice = "CPU 9 names two of a kind, of which one is left out";
    facts(&machine, &[("caches of level 3", twice)]);
}

#[test]
fn nodes_that_do_not_agree() {
    let machine = Machine::named("amd-4x4");
    let node = |node: u32, file: &str| format!("/sys/devices/system/node/node{node}/{file}");
    machine.write(&node(1, "cpulist"), "3-6\n");
    machine.write(&node(2, "distance"), "20 20 10\n");
    machine.write(&node(3, "meminfo"), "Node 3 MemTotal: many kB\nNode 3 MemFree: 10 kB\n");
    let distances = format!("`{}` says `20 20 10`, which is no list of 4 distances", node(2, "distance"));
    let memory = format!("`{}` says `many kB`, which is no size in kB", node(3, "meminfo"));
    let facts = facts(
        &machine,
        &[
            ("distances of node 2", &distances),
            ("memory of node 3", &memory),
            ("CPUs of node 1", "another node claims CPUs 3 too, and is believed"),
            ("nodes", "none claims CPUs 7: they are taken to be of node 0"),
        ],
    );
    let cpus: Vec<_> = facts.nodes.iter().map(|node| node.cpus.to_string()).collect();
    assert_eq!(cpus, ["0-3,7", "4-6", "8-11", "12-15"]);
    assert_eq!((facts.nodes[3].memory, facts.nodes[3].free), (None, Some(10240)));
}

#[test]
fn a_node_far_from_itself() {
    let machine = Machine::named("eight");
    machine.write("/sys/devices/system/node/node0/distance", "21 10\n");
    let why = "a node is nearer to another than to itself: none is believed";
    assert!(facts(&machine, &[("distances", why)]).nodes.iter().all(|node| node.distances.is_empty()));
}

#[test]
fn kinds_and_capacities_that_are_told_of_some() {
    let machine = Machine::named("hybrid-laptop");
    machine.write("/sys/devices/cpu_atom/cpus", "11-18\n");
    machine.write("/sys/devices/system/cpu/cpu0/cpu_capacity", "1024\n");
    machine.write("/sys/devices/system/cpu/cpu1/cpu_capacity", "2000\n");
    let why = "`/sys/devices/system/cpu/cpu1/cpu_capacity` says `2000`, which is no capacity from 1 to 1024";
    let facts = facts(
        &machine,
        &[
            ("capacities", why),
            ("capacities", "CPUs 1-19 do not tell theirs, though others do"),
            ("kinds of cores", "CPUs 11 are said to be of two kinds"),
            ("kinds of cores", "CPUs 19 are not among those of which a kind is told"),
        ],
    );
    assert!([11, 19].into_iter().all(|cpu| facts.cpu(cpu).unwrap().kind.is_none()));
}

#[test]
fn masks_that_leave_nothing() {
    let machine = Machine::named("masked");
    machine.write("/proc/self/status", "Cpus_allowed_list:\t64-127\n");
    machine.write("/sys/fs/cgroup/tenant/cpuset.cpus.effective", "8\n");
    machine.write("/sys/fs/cgroup/tenant/cpuset.mems.effective", "one\n");
    let group = "`/sys/fs/cgroup/tenant/cpuset.cpus.effective` allows `8`, of which nothing is there: 0-7 is";
    let mems = "`/sys/fs/cgroup/tenant/cpuset.mems.effective` says `one`, which is no list";
    let facts = facts(
        &machine,
        &[
            ("affinity mask", "`/proc/self/status` allows `64-127`, of which nothing is there: 0-7 is"),
            ("CPUs of the control group", group),
            ("nodes of the control group", mems),
        ],
    );
    assert_eq!(facts.allowed().len(), 8);
}

#[test]
fn masks_that_leave_nothing_together() {
    let machine = Machine::named("masked");
    machine.write("/proc/self/status", "Cpus_allowed_list:\t6-7\n");
    let why = "the affinity mask allows none of 2-5, and is believed";
    assert_eq!(facts(&machine, &[("CPUs of the control group", why)]).allowed().to_string(), "6-7");
}

#[test]
fn quotas_that_are_none() {
    for (file, text, what) in [
        ("cpu.cfs_quota_us", "0", "quota"),
        ("cpu.cfs_quota_us", "-2", "quota"),
        ("cpu.cfs_quota_us", "lots", "quota"),
        ("cpu.cfs_period_us", "0", "period"),
    ] {
        let machine = Machine::named("container-v1");
        let path = format!("/sys/fs/cgroup/cpu,cpuacct/{file}");
        machine.write(&path, text);
        let why = format!("`{path}` says `{text}`, which is no {what}");
        assert_eq!(facts(&machine, &[("quota", &why)]).limits.quota, None);
    }
    let machine = Machine::named("container-v1");
    machine.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
    assert_eq!(facts(&machine, &[]).limits.quota, None);
    for text in ["max", "50000", "50000 0", "x 100000", ""] {
        let machine = Machine::named("container-v2");
        machine.write("/sys/fs/cgroup/tenant/job/cpu.max", text);
        let facts = machine.facts();
        assert_eq!(facts.gaps.is_empty(), text == "max", "{text}");
        assert_eq!(facts.limits.quota.unwrap().cpus, 4.0);
    }
}

#[test]
fn a_group_outside_of_what_is_mounted() {
    let machine = Machine::named("container-v2");
    machine.write("/proc/self/cgroup", "0::/../other\n");
    machine.write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    let why = "the process's group is outside of what is mounted: what is there counts";
    let about = ["cpuset", "cpu", "memory"].map(|controller| format!("control group of {controller}"));
    let facts = facts(&machine, &about.each_ref().map(|about| (about.as_str(), why)));
    assert_eq!(facts.limits.quota.unwrap().cpus, 1.5);
}

#[test]
fn a_controller_that_is_not_mounted() {
    let machine = Machine::named("container-v2");
    machine.write("/proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/tenant\n");
    let why = "it is not mounted: whether there is a limit is not known";
    let facts = facts(&machine, &[("control group of cpu", why)]);
    assert_eq!((facts.limits.quota.unwrap().cpus, facts.limits.memory), (4.0, Some(2 * GIB)));
}

#[test]
fn pressure_that_makes_no_sense() {
    let machine = Machine::named("eight");
    machine.write("/proc/pressure/io", "some avg10=1e9 avg60=0 avg300=0 total=0\n");
    let why = "`/proc/pressure/io` says `some avg10=1e9 avg60=0 avg300=0 total=0`, which is no pressure";
    assert_eq!(facts(&machine, &[("pressure on io", why)]).pressure.io, None);
}
