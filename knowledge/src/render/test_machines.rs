//! Machines for the tests of the drawings.

use crate::facts::{
    Cache, CacheKind, CoreKind, Cpu, CpuLoad, CpuSet, Facts, Gap, Limits, Load, Node, Pressure, Quota,
    Registration, Stall, Stalls,
};
use std::time::Duration;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn cpus(list: &str) -> CpuSet {
    list.parse().unwrap()
}

fn cpu(id: u32, core: u32, package: u32, node: u32) -> Cpu {
    Cpu { id, core, package, node, capacity: None, kind: None }
}

fn cache(level: u8, kind: CacheKind, size: u64, cpus: CpuSet) -> Cache {
    Cache { level, kind, size, line: Some(64), cpus }
}

/// Sorts caches by level, kind and first CPU, as facts require.
fn in_order(mut caches: Vec<Cache>) -> Vec<Cache> {
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.iter().next()));
    caches
}

/// The machine of the paper on Cod: four packages of four cores.
pub fn four_by_four() -> Facts {
    let mut caches = Vec::new();
    let mut nodes = Vec::new();
    for package in 0..4 {
        let first = package * 4;
        let all: CpuSet = (first..first + 4).collect();
        caches.push(cache(3, CacheKind::Unified, 6 * MIB, all.clone()));
        for core in first..first + 4 {
            caches.push(cache(2, CacheKind::Unified, 512 * KIB, CpuSet::from_iter([core])));
            caches.push(cache(1, CacheKind::Data, 64 * KIB, CpuSet::from_iter([core])));
        }
        let distances = (0..4).map(|other| if other == package { 10 } else { 20 }).collect();
        nodes.push(Node { id: package, cpus: all, memory: Some(4 * GIB), free: Some(3 * GIB), distances });
    }
    Facts {
        model: Some("AMD Opteron 8354 <quad>".into()),
        cpus: (0..16).map(|id| cpu(id, id, id / 4, id / 4)).collect(),
        caches: in_order(caches),
        nodes,
        memory: Some(16 * GIB),
        registered: vec![Registration {
            name: "scan".into(),
            cpus: vec![0, 4],
            memory: vec![(0, GIB), (1, GIB)],
        }],
        ..Facts::default()
    }
}

/// Two performance cores of two threads, and four efficiency cores that share a cache.
pub fn hybrid() -> Facts {
    let strong =
        |id: u32| Cpu { capacity: Some(1024), kind: Some(CoreKind::Performance), ..cpu(id, id / 2, 0, 0) };
    let weak =
        |id: u32| Cpu { capacity: Some(593), kind: Some(CoreKind::Efficiency), ..cpu(id, id - 2, 0, 0) };
    let mut caches = vec![
        cache(3, CacheKind::Unified, 12 * MIB, cpus("0-7")),
        cache(2, CacheKind::Unified, 2 * MIB, cpus("4-7")),
    ];
    for pair in ["0-1", "2-3"] {
        caches.push(cache(2, CacheKind::Unified, 1280 * KIB, cpus(pair)));
        caches.push(cache(1, CacheKind::Data, 48 * KIB, cpus(pair)));
    }
    caches.extend((4..8).map(|id| cache(1, CacheKind::Data, 32 * KIB, CpuSet::from_iter([id]))));
    let load = |cpu: u32, own, others, nice, steal| CpuLoad { cpu, own, others, nice, steal };
    let idle = |cpu| load(cpu, 0.0, 0.0, 0.0, 0.0);
    Facts {
        model: Some("A laptop".into()),
        cpus: (0..4).map(strong).chain((4..8).map(weak)).collect(),
        caches: in_order(caches),
        nodes: vec![Node {
            id: 0,
            cpus: cpus("0-7"),
            memory: Some(16 * GIB),
            free: None,
            distances: vec![10],
        }],
        memory: Some(16 * GIB),
        limits: Limits {
            affinity: Some(cpus("0-5")),
            quota: Some(Quota { cpus: 1.5, source: "/sys/fs/cgroup/cpu.max".into() }),
            memory: Some(2 * GIB),
            ..Limits::default()
        },
        load: Some(Load {
            span: Duration::from_millis(200),
            cpus: [load(0, 0.5, 0.25, 0.0, 0.0), load(1, 0.0, 0.0, 0.5, 0.25)]
                .into_iter()
                .chain((2..8).map(idle))
                .collect(),
        }),
        pressure: Pressure {
            cpu: Some(Stalls {
                some: Stall { avg10: 12.5, avg60: 3.0, avg300: 0.25 },
                full: Some(Stall::default()),
            }),
            ..Pressure::default()
        },
        ..Facts::default()
    }
}

/// Two packages of 64 cores of two threads; eight cores share a cache.
pub fn large() -> Facts {
    let mut caches = Vec::new();
    for core in 0..128 {
        let threads = || CpuSet::from_iter([core, core + 128]);
        caches.push(cache(2, CacheKind::Unified, MIB, threads()));
        caches.push(cache(1, CacheKind::Data, 32 * KIB, threads()));
        caches.push(cache(1, CacheKind::Instruction, 32 * KIB, threads()));
    }
    for eight in 0..16u32 {
        let cores = eight * 8..eight * 8 + 8;
        let shared = cores.clone().chain(cores.map(|core| core + 128)).collect();
        caches.push(cache(3, CacheKind::Unified, 32 * MIB, shared));
    }
    let node = |id, list: &str, distances: [u32; 2]| Node {
        id,
        cpus: cpus(list),
        memory: Some(256 * GIB),
        free: Some(200 * GIB),
        distances: distances.into(),
    };
    Facts {
        model: Some("Two of 64".into()),
        cpus: (0..256).map(|id| cpu(id, id % 128, id % 128 / 64, id % 128 / 64)).collect(),
        caches: in_order(caches),
        nodes: vec![node(0, "0-63,128-191", [10, 32]), node(1, "64-127,192-255", [32, 10])],
        memory: Some(512 * GIB),
        ..Facts::default()
    }
}

/// Returns a load in which neighbouring CPUs differ.
pub fn uneven(facts: &Facts) -> Load {
    let load = |cpu: &Cpu| CpuLoad {
        cpu: cpu.id,
        own: f64::from(cpu.id % 4) / 8.0,
        others: f64::from(cpu.id % 3) / 6.0,
        ..CpuLoad::default()
    };
    Load { span: Duration::from_millis(100), cpus: facts.cpus.iter().map(load).collect() }
}

/// A machine of which only the CPUs are known.
pub fn unknown() -> Facts {
    Facts {
        cpus: (0..8).map(|id| cpu(id, id, 0, 0)).collect(),
        nodes: vec![Node { id: 0, cpus: cpus("0-7"), memory: None, free: None, distances: vec![] }],
        gaps: vec![Gap { about: "caches".into(), why: "the system reports none".into() }],
        ..Facts::default()
    }
}
