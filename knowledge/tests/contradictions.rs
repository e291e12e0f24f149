//! Missing, broken and contradictory files: what can be known is read, and the rest is named.

mod support;

use support::{Machine, coherent};
use xtasking_knowledge::facts::Facts;

const GIB: u64 = 1 << 30;

/// Returns the facts after checking that they have exactly these gaps.
#[track_caller]
fn facts(machine: &Machine, gaps: &[(&str, &str)]) -> Facts {
    let facts = machine.facts();
    coherent(&facts);
    let found: Vec<_> = facts.gaps.iter().map(|gap| (gap.about.as_str(), gap.why.as_str())).collect();
    assert_eq!(found, gaps);
    facts
}

#[test]
fn a_system_without_files_is_an_error() {
    let error = Machine::empty().system().facts().unwrap_err().to_string();
    assert_eq!(error, "the online CPUs cannot be determined: `/sys/devices/system/cpu/online` is missing");
}

#[test]
fn proc_stat_alone_is_enough() {
    let machine = Machine::empty();
    machine.write("/proc/stat", "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu2 1 2 3 4\nintr 1\n");
    let facts = machine.facts();
    coherent(&facts);
    assert_eq!(facts.allowed().to_string(), "0,2");
    assert_eq!(facts.gaps[1].why, "the CPUs of `/proc/stat` count as online");
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
fn a_node_with_part_of_its_memory() {
    let machine = Machine::named("hybrid-laptop");
    machine.write(
        "/sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal: 2097152 kB\nNode 0 MemFree: 1024 kB\n",
    );
    let why = "the nodes have 2147483648 bytes, `/proc/meminfo` has 17179869184";
    let believed = format!("{why}; the latter counts, because there is one node");
    let facts1 = facts(&machine, &[("memory of nodes", &believed)]);
    assert_eq!((facts1.nodes[0].memory, facts1.nodes[0].free), (Some(16 * GIB), Some(8 * GIB)));

    let machine = Machine::named("amd-4x4");
    for node in 0..3 {
        let table = format!("Node {node} MemTotal: 524288 kB\nNode {node} MemFree: 1024 kB\n");
        machine.write(&format!("/sys/devices/system/node/node{node}/meminfo"), table);
    }
    let why = "the nodes have 5905580032 bytes, `/proc/meminfo` has 17179869184; \
               the memory of the nodes is unknown";
    let facts4 = facts(&machine, &[("memory of nodes", why)]);
    assert!(facts4.nodes.iter().all(|node| node.memory.is_none() && node.free.is_none()));
    assert_eq!(facts4.memory, Some(16 * GIB));
}

/// Pages of files count as free, but never more than there is.
#[test]
fn reclaimable_memory_is_free() {
    let machine = Machine::named("amd-4x4");
    let table = |node: u32, pages: u64| {
        format!(
            "Node {node} MemTotal: 4194304 kB\nNode {node} MemFree: 1024 kB\n\
             Node {node} Active(file): 1024 kB\nNode {node} Inactive(file): {pages} kB\n\
             Node {node} SReclaimable: 1024 kB\n"
        )
    };
    for (node, pages) in [(0, 1024), (1, 8_388_608), (2, u64::MAX / 1024)] {
        machine.write(&format!("/sys/devices/system/node/node{node}/meminfo"), table(node, pages));
    }
    let facts = facts(&machine, &[]);
    let free: Vec<_> = facts.nodes[..3].iter().map(|node| node.free).collect();
    assert_eq!(free, [Some(4 << 20), Some(4 * GIB), Some(4 * GIB)]);
}

/// A core of as many threads as no processor has would take memory of their square.
#[test]
fn a_core_of_too_many_threads_is_a_gap() {
    let machine = Machine::empty();
    machine.write("/sys/devices/system/cpu/online", "0-299\n");
    for cpu in 0..300 {
        machine.write(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"), "0-299\n");
    }
    let facts = machine.facts();
    coherent(&facts);
    let why = "CPUs 0-299 are one core, which has too many; each counts as a core";
    assert!(facts.gaps.iter().any(|gap| gap.about == "cores" && gap.why == why));
    assert_eq!(facts.cpus[299].core, 299);
}

#[test]
fn a_container_that_reports_less_memory() {
    let machine = Machine::named("eight");
    machine.write("/proc/meminfo", "MemTotal: 1048576 kB\nMemFree: 1048577 kB\n");
    let more = "`/proc/meminfo` has 1073742848 bytes free of 1073741824";
    let both = "the nodes have 34359738368 bytes, `/proc/meminfo` has 1073741824; both are kept";
    let facts = facts(&machine, &[("memory", more), ("memory", both)]);
    assert_eq!((facts.memory, facts.nodes[0].memory), (Some(GIB), Some(16 * GIB)));
}

#[test]
fn a_cpu_without_topology_is_a_gap() {
    let machine = Machine::named("amd-4x4");
    machine.remove("/sys/devices/system/cpu/cpu6");
    let facts = facts(
        &machine,
        &[
            ("packages", "CPUs 6 report none and count as package 0"),
            ("cores", "CPUs 6 report none; each counts as a core unless another CPU reports it"),
            ("caches", "CPUs 6 report none"),
        ],
    );
    // Other CPUs report that they share a cache with it.
    let third = facts.caches.iter().filter(|cache| cache.level == 3);
    assert_eq!(
        third.map(|cache| cache.cpus.to_string()).collect::<Vec<_>>(),
        ["0-3", "4-7", "8-11", "12-15"]
    );
}

#[test]
fn cores_are_identified_by_number() {
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
fn inconsistent_core_masks_are_gaps() {
    let machine = Machine::named("hybrid-laptop");
    machine.write("/sys/devices/system/cpu/cpu1/topology/core_cpus_list", "1\n");
    machine.write("/sys/devices/system/cpu/cpu12/topology/core_cpus_list", "12,40\n");
    machine.write("/sys/devices/system/cpu/cpu2/topology/physical_package_id", "1\n");
    let facts = facts(
        &machine,
        &[
            ("cores", "CPUs 40 are in core masks, but not online"),
            ("cores", "CPUs 0 report inconsistent core masks"),
            ("cores", "CPUs 2-3 are one core, but in several packages"),
        ],
    );
    let cores: Vec<_> = facts.cpus.iter().take(4).map(|cpu| cpu.core).collect();
    assert_eq!(cores, [0, 1, 2, 2]);
}

#[test]
fn inconsistent_sharing_masks_are_gaps() {
    let machine = Machine::named("amd-4x4");
    let cache = |cpu: u32, file: &str| format!("/sys/devices/system/cpu/cpu{cpu}/cache/{file}");
    machine.write(&cache(3, "index2/shared_cpu_list"), "0-3,16-17\n");
    machine.write(&cache(4, "index2/shared_cpu_list"), "4-8\n");
    machine.write(&cache(9, "index2/size"), "8M\n");
    machine.write(&cache(12, "index1/type"), "Trace\n");
    machine.remove(&cache(13, "index1/shared_cpu_list"));
    machine.write(&cache(14, "index0/level"), "3\n");
    let path = |cpu, file| format!("`{}`", cache(cpu, file));
    let kind = format!("{} contains `Trace`, which is not a valid kind of cache", path(12, "index1/type"));
    let facts = facts(
        &machine,
        &[
            ("caches", &kind),
            ("caches", "a cache of CPUs 13 has no `shared_cpu_list` and is ignored"),
            ("caches of level 3", "sharing masks contain CPUs 16-17, which are not online"),
            ("caches of level 3", "CPUs 4-7 report inconsistent cache sharing masks"),
            ("caches of level 3", "CPUs 8-11 report different sizes of a shared cache; the first counts"),
        ],
    );
    let third = facts.caches.iter().filter(|cache| cache.level == 3 && cache.size == 6 << 20);
    let third: Vec<_> = third.map(|cache| cache.cpus.to_string()).collect();
    assert_eq!(third, ["0-3", "4", "5-7", "8-11", "12-15"]);
}

#[test]
fn a_second_cache_of_one_kind_is_ignored() {
    let machine = Machine::named("amd-4x4");
    machine.write("/sys/devices/system/cpu/cpu9/cache/index1/level", "3\n");
    let twice = "CPU 9 reports two of one kind; one is ignored";
    facts(&machine, &[("caches of level 3", twice)]);
}

#[test]
fn inconsistent_nodes_are_gaps() {
    let machine = Machine::named("amd-4x4");
    let node = |node: u32, file: &str| format!("/sys/devices/system/node/node{node}/{file}");
    machine.write(&node(1, "cpulist"), "3-6\n");
    machine.write(&node(2, "distance"), "20 20 10\n");
    machine.write(&node(3, "meminfo"), "Node 3 MemTotal: many kB\nNode 3 MemFree: 10 kB\n");
    let distances =
        format!("`{}` contains `20 20 10`, which is not a valid list of 4 distances", node(2, "distance"));
    let memory = format!("`{}` contains `many kB`, which is not a valid size in kB", node(3, "meminfo"));
    let facts = facts(
        &machine,
        &[
            ("distances of node 2", &distances),
            ("memory of node 3", &memory),
            ("CPUs of node 1", "a previous node has CPUs 3, too, and keeps them"),
            ("nodes", "no node has CPUs 7; node 0 gets them"),
        ],
    );
    let cpus: Vec<_> = facts.nodes.iter().map(|node| node.cpus.to_string()).collect();
    assert_eq!(cpus, ["0-3,7", "4-6", "8-11", "12-15"]);
    assert_eq!((facts.nodes[3].memory, facts.nodes[3].free), (None, Some(10240)));
}

#[test]
fn impossible_distances_are_ignored() {
    let machine = Machine::named("eight");
    machine.write("/sys/devices/system/node/node0/distance", "21 10\n");
    let why = "a node is nearer to another than to itself; all distances are ignored";
    assert!(facts(&machine, &[("distances", why)]).nodes.iter().all(|node| node.distances.is_empty()));
}

#[test]
fn partial_kinds_and_capacities_are_gaps() {
    let machine = Machine::named("hybrid-laptop");
    machine.write("/sys/devices/cpu_atom/cpus", "11-18\n");
    machine.write("/sys/devices/system/cpu/cpu0/cpu_capacity", "1024\n");
    machine.write("/sys/devices/system/cpu/cpu1/cpu_capacity", "2000\n");
    let why = "`/sys/devices/system/cpu/cpu1/cpu_capacity` contains `2000`, which is not a valid capacity \
               from 1 to 1024";
    let facts = facts(
        &machine,
        &[
            ("capacities", why),
            ("capacities", "CPUs 1-19 report none, but others do"),
            ("kinds of cores", "CPUs 11 are in the lists of two kinds"),
            ("kinds of cores", "CPUs 19 have no kind, but others do"),
        ],
    );
    assert!([11, 19].into_iter().all(|cpu| facts.cpu(cpu).unwrap().kind.is_none()));
}

#[test]
fn masks_without_online_cpus_are_ignored() {
    let machine = Machine::named("masked");
    machine.write("/proc/self/status", "Cpus_allowed_list:\t64-127\n");
    machine.write("/sys/fs/cgroup/tenant/cpuset.cpus.effective", "8\n");
    machine.write("/sys/fs/cgroup/tenant/cpuset.mems.effective", "one\n");
    let group = "`/sys/fs/cgroup/tenant/cpuset.cpus.effective` allows `8`, but only 0-7 are there";
    let mems = "`/sys/fs/cgroup/tenant/cpuset.mems.effective` contains `one`, which is not a valid list";
    let facts = facts(
        &machine,
        &[
            ("affinity mask", "`/proc/self/status` allows `64-127`, but only 0-7 are there"),
            ("CPUs of the control group", group),
            ("nodes of the control group", mems),
        ],
    );
    assert_eq!(facts.allowed().len(), 8);
}

#[test]
fn disjoint_masks_keep_the_affinity_mask() {
    let machine = Machine::named("masked");
    machine.write("/proc/self/status", "Cpus_allowed_list:\t6-7\n");
    let why = "the affinity mask excludes all of 2-5 and takes precedence";
    assert_eq!(facts(&machine, &[("CPUs of the control group", why)]).allowed().to_string(), "6-7");
}

#[test]
fn invalid_quotas_are_gaps() {
    for (file, text, what) in [
        ("cpu.cfs_quota_us", "0", "quota"),
        ("cpu.cfs_quota_us", "-2", "quota"),
        ("cpu.cfs_quota_us", "lots", "quota"),
        ("cpu.cfs_period_us", "0", "period"),
    ] {
        let machine = Machine::named("container-v1");
        let path = format!("/sys/fs/cgroup/cpu,cpuacct/{file}");
        machine.write(&path, text);
        let why = format!("`{path}` contains `{text}`, which is not a valid {what}");
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
fn a_group_outside_the_mount_is_a_gap() {
    let machine = Machine::named("container-v2");
    machine.write("/proc/self/cgroup", "0::/../other\n");
    machine.write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    let why =
        "the group of the process is outside the mounted hierarchy; the limits of the mount point count";
    let about = ["cpuset", "cpu", "memory"].map(|controller| format!("control group of {controller}"));
    let facts = facts(&machine, &about.each_ref().map(|about| (about.as_str(), why)));
    assert_eq!(facts.limits.quota.unwrap().cpus, 1.5);
}

#[test]
fn an_unmounted_controller_is_a_gap() {
    let machine = Machine::named("container-v2");
    machine.write("/proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/tenant\n");
    let why = "the controller is not mounted; its limit is unknown";
    let facts = facts(&machine, &[("control group of cpu", why)]);
    assert_eq!((facts.limits.quota.unwrap().cpus, facts.limits.memory), (4.0, Some(2 * GIB)));
}

#[test]
fn invalid_pressure_is_a_gap() {
    let machine = Machine::named("eight");
    machine.write("/proc/pressure/io", "some avg10=1e9 avg60=0 avg300=0 total=0\n");
    let why = "`/proc/pressure/io` contains `some avg10=1e9 avg60=0 avg300=0 total=0`, which is not a valid \
               pressure";
    assert_eq!(facts(&machine, &[("pressure on io", why)]).pressure.io, None);
}
