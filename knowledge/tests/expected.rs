//! The expected plan for each machine in `tests/machines`, computed by hand.
//!
//! A CPU alone on its core has speed 1. The second thread of a core adds a quarter if computing is
//! the bottleneck, and nothing if memory is. A CPU of lower capacity has a proportional speed. The
//! time is 1 / sum of speeds, or for equal partitions 1 / (number × slowest speed). Work bound by
//! memory is spread over the nodes; work bound by computing fills one node after another. Both
//! begin with the first node.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use support::{MACHINES, Machine, machine};
use xtasking_knowledge::Bound::{Compute, Memory};
use xtasking_knowledge::{Bound, Knowledge, Partition, Plan, Request};

const GIB: u64 = 1 << 30;

/// Machine, bottleneck, maximum number of workers, CPUs, workers by the node of their memory, time.
type Expected = (&'static str, Bound, Option<u32>, &'static str, &'static [(u32, usize)], f64);

const ONE_GIB: [Expected; 33] = [
    // The machine of the paper on Cod: four nodes of four cores.
    ("amd-4x4", Compute, None, "0-15", &[(0, 4), (1, 4), (2, 4), (3, 4)], 1.0 / 16.0),
    ("amd-4x4", Memory, None, "0-15", &[(0, 4), (1, 4), (2, 4), (3, 4)], 1.0 / 16.0),
    ("amd-4x4", Compute, Some(6), "0-5", &[(0, 4), (1, 2)], 1.0 / 6.0),
    ("amd-4x4", Memory, Some(6), "0-1,4-5,8,12", &[(0, 2), (1, 2), (2, 1), (3, 1)], 1.0 / 6.0),
    ("amd-4x4", Compute, Some(8), "0-7", &[(0, 4), (1, 4)], 1.0 / 8.0),
    ("amd-4x4", Memory, Some(8), "0-1,4-5,8-9,12-13", &[(0, 2), (1, 2), (2, 2), (3, 2)], 1.0 / 8.0),
    // Four cores have speed 446/1024, rounded to 435/1000; four have speed 1; one node.
    ("big-little", Compute, None, "0-7", &[(0, 8)], 1000.0 / (4.0 * 435.0 + 4.0 * 1000.0)),
    ("big-little", Memory, None, "0-7", &[(0, 8)], 1000.0 / (4.0 * 435.0 + 4.0 * 1000.0)),
    ("big-little", Compute, Some(3), "4-6", &[(0, 3)], 1.0 / 3.0),
    ("big-little", Memory, Some(5), "0,4-7", &[(0, 5)], 1000.0 / 4435.0),
    // A quota of half a CPU needs one worker; so does a quota of one CPU.
    ("container-v1", Compute, None, "0", &[(0, 1)], 2.0),
    ("container-v1", Memory, None, "0", &[(0, 1)], 2.0),
    ("container-v2", Compute, None, "0", &[(0, 1)], 1.0),
    ("container-v2", Memory, None, "0", &[(0, 1)], 1.0),
    // CPUs 3 and 7 are offline; the third node, which is memory only, is not needed.
    ("cxl", Compute, None, "0-2,4-6", &[(0, 3), (1, 3)], 1.0 / 6.0),
    ("cxl", Memory, None, "0-2,4-6", &[(0, 3), (1, 3)], 1.0 / 6.0),
    ("cxl", Compute, Some(4), "0-2,4", &[(0, 3), (1, 1)], 1.0 / 4.0),
    ("cxl", Memory, Some(4), "0-1,4-5", &[(0, 2), (1, 2)], 1.0 / 4.0),
    // Eight cores in two nodes.
    ("eight", Compute, None, "0-7", &[(0, 4), (1, 4)], 1.0 / 8.0),
    ("eight", Memory, None, "0-7", &[(0, 4), (1, 4)], 1.0 / 8.0),
    ("eight", Compute, Some(5), "0-4", &[(0, 4), (1, 1)], 1.0 / 5.0),
    ("eight", Memory, Some(5), "0-2,4-5", &[(0, 3), (1, 2)], 1.0 / 5.0),
    // Six cores of two threads and eight of one, without capacities: 6 x 1.25 + 8, or 14.
    ("hybrid-laptop", Compute, None, "0-19", &[(0, 20)], 1.0 / 15.5),
    ("hybrid-laptop", Memory, None, "0,2,4,6,8,10,12-19", &[(0, 14)], 1.0 / 14.0),
    ("hybrid-laptop", Compute, Some(14), "0,2,4,6,8,10,12-19", &[(0, 14)], 1.0 / 14.0),
    // The affinity mask and the control group leave two CPUs and the memory of their node.
    ("masked", Compute, None, "2-3", &[(0, 2)], 1.0 / 2.0),
    ("masked", Memory, None, "2-3", &[(0, 2)], 1.0 / 2.0),
    // 128 cores of two threads in two nodes: 128 x 1.25, or 128.
    ("two-sockets", Compute, None, "0-255", &[(0, 128), (1, 128)], 1.0 / 160.0),
    ("two-sockets", Memory, None, "0-127", &[(0, 64), (1, 64)], 1.0 / 128.0),
    ("two-sockets", Compute, Some(64), "0-63", &[(0, 64)], 1.0 / 64.0),
    // A core of its own on the other node adds more than a second thread on this one.
    ("two-sockets", Compute, Some(100), "0-99", &[(0, 64), (1, 36)], 1.0 / 100.0),
    ("two-sockets", Memory, Some(7), "0-3,64-66", &[(0, 4), (1, 3)], 1.0 / 7.0),
    // 128 cores with one worker, 32 of them with a second.
    ("two-sockets", Compute, Some(160), "0-159", &[(0, 96), (1, 64)], 1.0 / 136.0),
];

/// Counts workers by the node of their memory.
fn homes(plan: &Plan) -> Vec<(u32, usize)> {
    let mut homes = BTreeMap::new();
    plan.partitions.iter().for_each(|partition| *homes.entry(partition.node).or_default() += 1);
    homes.into_iter().collect()
}

fn close(time: f64, expected: f64, of: &str) {
    assert!((time / expected - 1.0).abs() < 1e-9, "{of}: {time} is not {expected}");
}

#[test]
fn each_machine_has_its_plan() {
    for (name, bound, most, cpus, nodes, time) in ONE_GIB {
        let of = format!("{name}, {bound:?}, {most:?}");
        let request = Request { partitions_max: most, ..Request::new(GIB, bound) };
        let plan = Knowledge::new(machine(name)).suggest_allocation(&request, None).unwrap().plan;
        assert_eq!(plan.cpus().to_string(), cpus, "{of}");
        assert_eq!(homes(&plan), nodes, "{of}");
        assert_eq!(plan.bytes(), GIB, "{of}");
        close(plan.predicted, time, &of);
    }
    for bound in [Compute, Memory] {
        let covered: BTreeSet<_> =
            ONE_GIB.iter().filter(|expected| expected.1 == bound).map(|expected| expected.0).collect();
        assert_eq!(covered, BTreeSet::from(MACHINES), "a machine has no expected plan");
    }
}

#[test]
fn equal_partitions_have_their_plan() {
    let expected = [
        // Eight times 435 is less than four times 1000.
        ("big-little", "4-7", 1.0 / 4.0),
        // Twenty times 625 is less than fourteen times 1000.
        ("hybrid-laptop", "0,2,4,6,8,10,12-19", 1.0 / 14.0),
        // 256 times 625 is more than 128 times 1000.
        ("two-sockets", "0-255", 1.0 / 160.0),
        ("amd-4x4", "0-15", 1.0 / 16.0),
    ];
    for (name, cpus, time) in expected {
        let request = Request { weighted: false, ..Request::new(GIB, Compute) };
        let plan = Knowledge::new(machine(name)).suggest_allocation(&request, None).unwrap().plan;
        assert_eq!(plan.cpus().to_string(), cpus, "{name}");
        close(plan.predicted, time, name);
    }
}

#[test]
fn partitions_without_room_go_to_another_node() {
    // Each node has 3.75 GiB free: room for two of six partitions of 4/3 GiB.
    let request = Request { partitions_max: Some(6), ..Request::new(8 * GIB, Compute) };
    let plan = Knowledge::new(machine("amd-4x4")).suggest_allocation(&request, None).unwrap().plan;
    assert_eq!(
        (plan.cpus().to_string().as_str(), homes(&plan)),
        ("0-1,4-5,8-9", vec![(0, 2), (1, 2), (2, 2)])
    );
    // Six partitions of 5 GiB; the two nodes with CPUs have room for less, and a third, memory
    // only, has as much.
    let plan = Knowledge::new(machine("cxl")).suggest_partitions(30 * GIB, Memory).unwrap().plan;
    let nodes: Vec<_> = plan.partitions.iter().map(|partition| (partition.cpu, partition.node)).collect();
    assert_eq!(nodes, [(0, 0), (1, 0), (2, 2), (4, 1), (5, 1), (6, 2)]);
}

#[test]
fn data_beyond_the_memory_is_refused() {
    let refused = |name, bytes| {
        Knowledge::new(machine(name)).suggest_partitions(bytes, Memory).unwrap_err().to_string()
    };
    let text = refused("container-v2", 3 * GIB);
    assert!(text.ends_with("; the control group may use 2 GiB"), "{text}");
    assert_eq!(
        refused("masked", 15 * GIB),
        "15 GiB of data do not fit into memory: node 0 has 14.5 GiB free"
    );
}

#[test]
fn memory_of_other_nodes_may_be_forbidden() {
    let eight = Machine::named("eight");
    eight.write("/sys/fs/cgroup/user.slice/cpuset.mems.effective", "1\n");
    let knowledge = Knowledge::new(eight.facts());
    // All CPUs may be used, but only the memory of node 1.
    for bound in [Compute, Memory] {
        let plan = knowledge.suggest_partitions(GIB, bound).unwrap().plan;
        assert_eq!((plan.cpus().to_string().as_str(), homes(&plan)), ("0-7", vec![(1, 8)]), "{bound:?}");
    }
    // A request for few CPUs gets those near the memory, although the other node comes first.
    let request = Request { partitions_max: Some(5), ..Request::new(GIB, Compute) };
    let plan = knowledge.suggest_allocation(&request, None).unwrap().plan;
    assert_eq!((plan.cpus().to_string().as_str(), homes(&plan)), ("0,4-7", vec![(1, 5)]));
    // 14.5 GiB are free there, and as much on node 0.
    assert_eq!(
        knowledge.suggest_partitions(15 * GIB, Memory).unwrap_err().to_string(),
        "15 GiB of data do not fit into memory: node 1 has 14.5 GiB free"
    );
    assert!(knowledge.suggest_partitions(14 * GIB, Memory).is_ok());
    // A plan with data in forbidden memory is infeasible.
    let mut plan = knowledge.suggest_partitions(GIB, Compute).unwrap().plan;
    let request = Request::new(GIB, Compute);
    assert!(knowledge.predict(&request, &plan).is_some());
    plan.partitions[0].node = 0;
    assert_eq!(knowledge.predict(&request, &plan), None);
}

#[test]
fn a_full_node_does_not_slow_the_others() {
    let mut facts = machine("two-sockets");
    facts.nodes[0].free = Some(32 << 20);
    // 64 workers on the other node do 31/32 of the work; in the same time, three workers here do
    // the rest.
    let plan = Knowledge::new(facts.clone()).suggest_partitions(GIB, Memory).unwrap().plan;
    assert_eq!((plan.partitions.len(), homes(&plan)), (67, vec![(0, 3), (1, 64)]));
    close(plan.predicted, 31.0 / 32.0 / 64.0, "three workers beside a full node");
    let here: u64 = plan.partitions[..3].iter().map(Partition::size).sum();
    assert_eq!((here, plan.partitions[3].size()), (32 << 20, (GIB - here) / 64));
    // 1 MiB is too little for more than one worker, and 0 for any.
    for (free, workers) in [(1 << 20, vec![(0, 1), (1, 64)]), (0, vec![(1, 64)])] {
        facts.nodes[0].free = Some(free);
        let plan = Knowledge::new(facts.clone()).suggest_partitions(GIB, Memory).unwrap().plan;
        assert_eq!(homes(&plan), workers);
        close(plan.predicted, (GIB - free) as f64 / GIB as f64 / 64.0, "64 workers do the rest");
    }
    // Of 66 equal partitions, 32 MiB hold two.
    facts.nodes[0].free = Some(32 << 20);
    let equal = Request { weighted: false, ..Request::new(GIB, Memory) };
    let plan = Knowledge::new(facts).suggest_allocation(&equal, None).unwrap().plan;
    assert_eq!((plan.partitions.len(), homes(&plan)), (66, vec![(0, 2), (1, 64)]));
    close(plan.predicted, 1.0 / 66.0, "two workers beside a full node");
    // Few workers are spread over all nodes but the one without room.
    let mut facts = machine("amd-4x4");
    facts.nodes[1].free = Some(GIB / 8);
    let request = Request { partitions_max: Some(5), ..Request::new(GIB, Memory) };
    let plan = Knowledge::new(facts).suggest_allocation(&request, None).unwrap().plan;
    assert_eq!(
        (plan.cpus().to_string().as_str(), homes(&plan)),
        ("0-1,8-9,12", vec![(0, 2), (2, 2), (3, 1)])
    );
}
