//! Machines of several kinds, read completely.

mod support;

use support::{MACHINES, Machine, coherent, machine};
use xtasking_knowledge::facts::{CacheKind, CoreKind, Cpu, Facts, Limits, Node, Quota};
use xtasking_knowledge::system::System;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Returns a value of each CPU.
fn each<T>(facts: &Facts, value: impl Fn(&Cpu) -> T) -> Vec<T> {
    facts.cpus.iter().map(value).collect()
}

/// Returns size and CPUs of the data caches of a level.
fn caches(facts: &Facts, level: u8) -> Vec<(u64, String)> {
    let of = facts.caches.iter().filter(|cache| cache.level == level && cache.kind != CacheKind::Instruction);
    of.map(|cache| (cache.size, cache.cpus.to_string())).collect()
}

fn gaps(facts: &Facts) -> Vec<&str> {
    facts.gaps.iter().map(|gap| gap.about.as_str()).collect()
}

#[test]
fn facts_of_all_machines_are_consistent() {
    for name in MACHINES {
        let facts = machine(name);
        coherent(&facts);
        let expected: &[&str] = if name == "big-little" { &["nodes", "model"] } else { &[] };
        assert_eq!(gaps(&facts), expected, "{name}: {:?}", facts.gaps);
        let written = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&written).unwrap(), facts, "{name}");
    }
}

#[test]
fn four_packages_of_four_cores_are_read() {
    let facts = machine("amd-4x4");
    assert_eq!(facts.model.as_deref(), Some("Quad-Core AMD Opteron(tm) Processor"));
    assert_eq!(each(&facts, |cpu| cpu.core), Vec::from_iter(0..16));
    let quarters = Vec::from_iter((0..16).map(|cpu| cpu / 4));
    assert_eq!(each(&facts, |cpu| cpu.package), quarters);
    assert_eq!(each(&facts, |cpu| cpu.node), quarters);
    assert_eq!(caches(&facts, 1).len(), 16);
    assert_eq!(caches(&facts, 1)[5], (64 << 10, "5".to_string()));
    assert_eq!(caches(&facts, 2)[5], (512 << 10, "5".to_string()));
    let shared = ["0-3", "4-7", "8-11", "12-15"].map(|cpus| (6 * MIB, cpus.to_string()));
    assert_eq!(caches(&facts, 3), shared);
    let node = Node {
        id: 2,
        cpus: "8-11".parse().unwrap(),
        memory: Some(4 * GIB),
        free: Some(3840 * MIB),
        distances: vec![20, 20, 10, 20],
    };
    assert_eq!(facts.nodes[2], node);
    assert_eq!(facts.memory, Some(16 * GIB));
    assert_eq!(facts.limits, Limits::default());
    assert!(facts.pressure.cpu.is_some() && facts.load.is_none());
}

#[test]
fn two_sockets_with_threads_are_read() {
    let facts = machine("two-sockets");
    assert_eq!(facts.cpus.len(), 256);
    assert_eq!(each(&facts, |cpu| cpu.core), Vec::from_iter((0..128).chain(0..128)));
    assert_eq!(facts.cpu(200).map(|cpu| (cpu.core, cpu.package, cpu.node)), Some((72, 1, 1)));
    assert_eq!(caches(&facts, 2).len(), 128);
    assert_eq!(caches(&facts, 3).len(), 16);
    assert_eq!(caches(&facts, 3)[15], (32 * MIB, "120-127,248-255".to_string()));
    assert_eq!(facts.nodes[1].cpus.to_string(), "64-127,192-255");
    assert_eq!(facts.allowed().len(), 256);
}

#[test]
fn a_hybrid_laptop_is_read() {
    let facts = machine("hybrid-laptop");
    let kinds = each(&facts, |cpu| cpu.kind);
    assert!(kinds[..12].iter().all(|kind| *kind == Some(CoreKind::Performance)));
    assert!(kinds[12..].iter().all(|kind| *kind == Some(CoreKind::Efficiency)));
    let cores = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13];
    assert_eq!(each(&facts, |cpu| cpu.core), cores);
    let second = caches(&facts, 2);
    assert_eq!(second.len(), 8);
    assert_eq!(second[0], (1280 << 10, "0-1".to_string()));
    assert_eq!(second[6..], [(2 * MIB, "12-15".to_string()), (2 * MIB, "16-19".to_string())]);
    assert_eq!(caches(&facts, 3), [(24 * MIB, "0-19".to_string())]);
}

#[test]
fn large_and_small_cores_are_read() {
    let facts = machine("big-little");
    let (small, large) = (Some(446), Some(1024));
    let capacities = [small, small, small, small, large, large, large, large];
    assert_eq!(each(&facts, |cpu| cpu.capacity), capacities);
    assert!(facts.cpus.iter().all(|cpu| cpu.kind.is_none()));
    assert_eq!(facts.caches[0].line, None);
    // Its files have no nodes.
    let node = Node {
        id: 0,
        cpus: "0-7".parse().unwrap(),
        memory: Some(4 * GIB),
        free: Some(2 * GIB),
        distances: vec![],
    };
    assert_eq!(facts.nodes, [node]);
}

#[test]
fn a_quota_of_half_a_cpu_is_read() {
    let facts = machine("container-v1");
    let source = "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us".to_string();
    let limits = Limits { quota: Some(Quota { cpus: 0.5, source }), ..Limits::default() };
    assert_eq!(facts.limits, limits);
}

#[test]
fn the_tightest_of_nested_quotas_counts() {
    let inner = Machine::named("container-v2");
    let limits = inner.facts().limits;
    let source = "/sys/fs/cgroup/tenant/job/cpu.max".to_string();
    assert_eq!(limits.quota, Some(Quota { cpus: 1.0, source }));
    assert_eq!(limits.memory, Some(2 * GIB));
    // Without the inner quota, the outer one counts.
    inner.write("/sys/fs/cgroup/tenant/job/cpu.max", "max 100000\n");
    let source = "/sys/fs/cgroup/tenant/cpu.max".to_string();
    assert_eq!(inner.facts().limits.quota, Some(Quota { cpus: 4.0, source }));
}

#[test]
fn masks_are_read() {
    let facts = machine("masked");
    assert_eq!(facts.limits.affinity, Some("0-3".parse().unwrap()));
    assert_eq!(facts.limits.group, Some("2-5".parse().unwrap()));
    assert_eq!(facts.limits.nodes, Some("0".parse().unwrap()));
    assert_eq!(facts.limits.quota, None);
    assert_eq!(facts.allowed().to_string(), "2-3");
}

#[test]
fn offline_cpus_and_memory_only_nodes_are_read() {
    let facts = machine("cxl");
    assert_eq!(each(&facts, |cpu| cpu.id), [0, 1, 2, 4, 5, 6]);
    assert_eq!(each(&facts, |cpu| cpu.core), [0, 1, 2, 3, 4, 5]);
    assert_eq!(facts.nodes[0].cpus.to_string(), "0-2");
    assert!(facts.nodes[2].cpus.is_empty());
    assert_eq!(facts.nodes[2].memory, Some(16 * GIB));
    assert_eq!(facts.nodes[2].distances, [14, 24, 10]);
    assert_eq!(caches(&facts, 3), [(16 * MIB, "0-2".to_string()), (16 * MIB, "4-6".to_string())]);
}

#[test]
fn this_machine_is_read() {
    let facts = System::here().facts().unwrap();
    coherent(&facts);
    assert!(!facts.allowed().is_empty());
    if cfg!(target_os = "linux") {
        let mut watch = System::here().watch().unwrap();
        let load = watch.load().unwrap();
        for cpu in load.cpus {
            let shares = [cpu.own, cpu.others, cpu.nice, cpu.steal];
            assert!(
                shares.iter().all(|share| (0.0..=1.0).contains(share))
                    && shares.iter().sum::<f64>() < 1.000_001
            );
        }
    }
}
