//! Expected plans: how many partitions, where, of which size, and why.

use std::collections::BTreeMap;
use std::time::Duration;
use xtasking_knowledge::facts::{
    Cache, CacheKind, CoreKind, CpuLoad, CpuSet, Facts, Load, Quota, Registration,
};
use xtasking_knowledge::{Bound, CacheSharing, Change, Knowledge, NoPlan, Plan, Request, Suggestion, Topic};

const GIB: u64 = 1 << 30;

fn ask(facts: &Facts, request: &Request) -> Suggestion {
    let answer = Knowledge::new(facts.clone()).suggest_allocation(request, None).expect("there is a plan");
    check(&answer.plan, request.bytes);
    for other in &answer.alternatives {
        check(&other.plan, request.bytes);
        assert!(other.costs >= -1e-6, "{} is better than the suggestion", other.what);
        assert!(!other.changes.is_empty());
    }
    answer
}

/// Checks that the partitions cover all bytes without gaps, and no CPU has two.
fn check(plan: &Plan, bytes: u64) {
    let mut low = 0;
    for partition in &plan.partitions {
        assert_eq!(partition.low, low);
        low = partition.high;
    }
    assert_eq!((low, plan.cpus().len()), (bytes, plan.partitions.len()));
    let weights: f64 = plan.partitions.iter().map(|partition| partition.weight).sum();
    assert!((weights - 1.0).abs() < 1e-9);
}

fn cpus(answer: &Suggestion) -> String {
    answer.plan.cpus().to_string()
}

fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.002, "{value} is not {expected}");
}

fn why(answer: &Suggestion, about: Topic) -> String {
    answer.why.iter().filter(|reason| reason.about == about).map(|reason| reason.text.as_str()).collect()
}

/// Counts workers by node.
fn by_node(facts: &Facts, plan: &Plan) -> Vec<(u32, usize)> {
    let mut counts = BTreeMap::new();
    for partition in &plan.partitions {
        *counts.entry(facts.cpu(partition.cpu).unwrap().node).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// Adds the load of other processes, while this process is idle.
fn with_load(mut facts: Facts, others: &[(u32, f64)]) -> Facts {
    let loads = facts.cpus.iter().map(|cpu| CpuLoad {
        cpu: cpu.id,
        others: others.iter().find(|other| other.0 == cpu.id).map_or(0.0, |other| other.1),
        ..CpuLoad::default()
    });
    facts.load = Some(Load { span: Duration::from_secs(1), cpus: loads.collect() });
    facts
}

/// The machine of the paper on Cod: four packages of four cores.
fn amd() -> Facts {
    Facts::symmetric(4, 1, 4, 1)
}

/// Six performance cores of two threads (CPUs 0-11) and eight efficiency cores (12-19) in two
/// clusters.
fn laptop() -> Facts {
    let mut facts = Facts::symmetric(1, 1, 14, 1);
    let first = facts.cpus[0].clone();
    facts.cpus.clear();
    for id in 0..20 {
        let (core, capacity, kind) =
            if id < 12 { (id / 2, 1024, CoreKind::Performance) } else { (id - 6, 512, CoreKind::Efficiency) };
        facts.cpus.push(xtasking_knowledge::facts::Cpu {
            id,
            core,
            capacity: Some(capacity),
            kind: Some(kind),
            ..first
        });
    }
    let all: CpuSet = (0..20).collect();
    facts.nodes[0].cpus = all.clone();
    facts.caches.clear();
    let mut cache = |level, kind, size, cpus: std::ops::Range<u32>| {
        facts.caches.push(Cache { level, kind, size, line: Some(64), cpus: cpus.collect() });
    };
    (0..6).for_each(|core| cache(1, CacheKind::Data, 48 << 10, 2 * core..2 * core + 2));
    (12..20).for_each(|cpu| cache(1, CacheKind::Data, 32 << 10, cpu..cpu + 1));
    (0..6).for_each(|core| cache(2, CacheKind::Unified, 1280 << 10, 2 * core..2 * core + 2));
    (0..2).for_each(|cluster| cache(2, CacheKind::Unified, 2 << 20, 12 + 4 * cluster..16 + 4 * cluster));
    cache(3, CacheKind::Unified, 24 << 20, 0..20);
    facts
}

#[test]
fn the_papers_machine_is_used_as_a_whole() {
    for bound in [Bound::Compute, Bound::Memory] {
        let answer = ask(&amd(), &Request::new(16 * GIB, bound));
        assert_eq!(cpus(&answer), "0-15");
        close(answer.plan.predicted, 1.0 / 16.0);
        assert!(answer.plan.partitions.iter().all(|part| part.size() == GIB && part.node == part.cpu / 4));
        assert_eq!(why(&answer, Topic::Cpus), "16 of 16 CPUs may be used.");
    }
}

#[test]
fn six_workers_fill_nodes_or_are_spread() {
    let request = Request { partitions_max: Some(6), ..Request::new(6 * GIB, Bound::Compute) };
    assert_eq!(by_node(&amd(), &ask(&amd(), &request).plan), [(0, 4), (1, 2)]);
    let request = Request { bound: Bound::Memory, ..request };
    let spread = by_node(&amd(), &ask(&amd(), &request).plan);
    assert_eq!(spread, [(0, 2), (1, 2), (2, 1), (3, 1)]);
}

#[test]
fn second_threads_help_computing_and_not_memory() {
    let facts = Facts::symmetric(2, 1, 64, 2);
    let compute = ask(&facts, &Request::new(2 * GIB, Bound::Compute));
    assert_eq!(cpus(&compute), "0-255");
    close(compute.plan.predicted, 1.0 / 160.0);
    let memory = ask(&facts, &Request::new(2 * GIB, Bound::Memory));
    assert_eq!(cpus(&memory), "0-127");
    assert_eq!(by_node(&facts, &memory.plan), [(0, 64), (1, 64)]);
    assert!(why(&memory, Topic::Siblings).contains("128 cores"), "{}", why(&memory, Topic::Siblings));
    // The alternative comes with its cost.
    let single = compute.alternatives.iter().find(|other| other.what == "one worker for each core").unwrap();
    assert!((single.costs - 0.25).abs() < 1e-6 && single.plan.partitions.len() == 128);
    assert_eq!(single.changes.iter().filter(|change| matches!(change, Change::Remove { .. })).count(), 128);
    // 128 workers have a core each.
    let request = Request { partitions_max: Some(128), ..Request::new(2 * GIB, Bound::Compute) };
    assert_eq!(cpus(&ask(&facts, &request)), "0-127");
}

#[test]
fn slow_cores_get_smaller_partitions_or_none() {
    let weighted = ask(&laptop(), &Request { siblings: false, ..Request::new(GIB, Bound::Compute) });
    assert_eq!(weighted.plan.partitions.len(), 14);
    close(weighted.plan.predicted, 1.0 / 10.0);
    let size = |cpu| weighted.plan.on(cpu).unwrap().size();
    assert!(size(0).abs_diff(2 * size(12)) <= 2, "{} and {}", size(0), size(12));
    // 14 equal partitions take 2/14; 6 on the fast cores would take 1/6.
    let equal =
        ask(&laptop(), &Request { siblings: false, weighted: false, ..Request::new(GIB, Bound::Compute) });
    assert_eq!(equal.plan.partitions.len(), 14);
    close(equal.plan.predicted, 2.0 / 14.0);
    // Of up to 6 workers, all are on fast cores.
    let six = ask(
        &laptop(),
        &Request { partitions_max: Some(6), weighted: false, ..Request::new(GIB, Bound::Compute) },
    );
    assert_eq!(cpus(&six), "0,2,4,6,8,10");
    // The threads of fast cores have 62.5%, slow cores 50%: all 20 together.
    let all = ask(&laptop(), &Request::new(GIB, Bound::Compute));
    assert_eq!(all.plan.partitions.len(), 20);
    close(all.plan.predicted, 1.0 / 11.5);
    assert!(why(&all, Topic::Kinds).contains("8 of 8 CPUs of 50%"), "{}", why(&all, Topic::Kinds));
}

#[test]
fn sixteen_capacities_are_distinguished() {
    let mut facts = Facts::symmetric(1, 1, 16, 1);
    facts.cpus.iter_mut().zip(1..).for_each(|(cpu, k)| cpu.capacity = Some(64 * k));
    // Rounded to thousandths, the k-th core has 62.5 k; the sum is 8496.
    let weighted = ask(&facts, &Request::new(GIB, Bound::Compute));
    assert_eq!(cpus(&weighted), "0-15");
    close(weighted.plan.predicted, 1.0 / 8.496);
    // Nine times 500 is 4500, eight times 562 is 4496.
    let equal = ask(&facts, &Request { weighted: false, ..Request::new(GIB, Bound::Compute) });
    assert_eq!(cpus(&equal), "7-15");
    close(equal.plan.predicted, 1.0 / 4.5);
}

#[test]
fn a_quota_bounds_workers_and_time() {
    let limited = |cpus| {
        let mut facts = Facts::symmetric(1, 1, 4, 1);
        facts.limits.quota = Some(Quota { cpus, source: "cpu.cfs_quota_us".into() });
        ask(&facts, &Request::new(GIB, Bound::Compute))
    };
    for (quota, workers, time) in
        [(0.5, 1, 2.0), (1.0, 1, 1.0), (1.5, 2, 1.0 / 1.5), (2.0, 2, 0.5), (9.0, 4, 0.25)]
    {
        let answer = limited(quota);
        assert_eq!(answer.plan.partitions.len(), workers, "a quota of {quota}");
        close(answer.plan.predicted, time);
        assert!(why(&answer, Topic::Quota).contains("cpu.cfs_quota_us"));
    }
}

#[test]
fn masked_and_excluded_cpus_are_not_used() {
    let mut facts = amd();
    facts.limits.affinity = Some("2-9".parse().unwrap());
    facts.limits.group = Some("0-8".parse().unwrap());
    let request = Request { excluded: "4".parse().unwrap(), ..Request::new(GIB, Bound::Memory) };
    let answer = ask(&facts, &request);
    // Two on node 0, three on node 1, and one on node 2, which has no more.
    assert_eq!(cpus(&answer), "2-3,5-8");
    let text = why(&answer, Topic::Cpus);
    assert!(text.starts_with("6 of 16 CPUs may be used; 0-1,10-15 are not in the affinity mask"), "{text}");
    assert!(text.contains("; 4 are excluded by the request"), "{text}");
    facts.limits.affinity = Some("12-15".parse().unwrap());
    let error = Knowledge::new(facts).suggest_allocation(&request, None).unwrap_err();
    assert!(matches!(error, NoPlan::NoCpu { .. }));
    let text = error.to_string();
    assert!(text.contains("the affinity mask allows 12-15 and the control group allows 0-8"), "{text}");
}

/// A symmetric machine whose last node has memory but no CPU.
fn with_memory_node() -> Facts {
    let mut facts = Facts::symmetric(3, 1, 2, 1);
    facts.cpus.truncate(4);
    facts.nodes[2].cpus = CpuSet::default();
    facts.caches.retain(|cache| !cache.cpus.contains(4) && !cache.cpus.contains(5));
    facts
}

#[test]
fn a_memory_only_node_is_used_if_others_are_full() {
    let mut facts = with_memory_node();
    let answer = ask(&facts, &Request::new(4 * GIB, Bound::Memory));
    assert_eq!(by_node(&facts, &answer.plan), [(0, 2), (1, 2)]);
    assert!(answer.plan.partitions.iter().all(|part| part.node < 2));
    facts.nodes[0].free = Some(GIB);
    facts.nodes[1].free = Some(GIB);
    let answer = ask(&facts, &Request::new(4 * GIB, Bound::Memory));
    let nodes: Vec<_> = answer.plan.partitions.iter().map(|part| part.node).collect();
    assert_eq!(nodes, [0, 2, 1, 2]);
    assert!(why(&answer, Topic::Memory).contains("the nearest with room"), "{}", why(&answer, Topic::Memory));
    let error = Knowledge::new(facts).suggest_partitions(19 * GIB, Bound::Memory).unwrap_err();
    assert_eq!(
        error.to_string(),
        "19 GiB of data do not fit into memory: node 0 has 1 GiB free, node 1 has 1 GiB free, \
         node 2 has 16 GiB free"
    );
}

#[test]
fn workers_are_placed_near_free_memory() {
    let mut facts = Facts::symmetric(2, 1, 4, 1);
    facts.nodes[1].free = Some(GIB);
    // At most one eighth of the data fits on node 1, so at most an eighth of the equal partitions.
    let request = Request { weighted: false, ..Request::new(8 * GIB, Bound::Compute) };
    let answer = ask(&facts, &request);
    assert_eq!(cpus(&answer), "0-3", "one of five would have 1.6 GiB");
    facts.nodes[1].free = Some(2 * GIB);
    assert_eq!(by_node(&facts, &ask(&facts, &request).plan), [(0, 4), (1, 1)]);
    // Two workers there do what fits, while four do the rest.
    let answer = ask(&facts, &Request { weighted: true, ..request });
    assert_eq!(by_node(&facts, &answer.plan), [(0, 4), (1, 2)]);
    close(answer.plan.predicted, 6.0 / 8.0 / 4.0);
    assert_eq!(answer.plan.on(4).unwrap().size(), GIB);
    assert!(
        why(&answer, Topic::Memory).contains("partitions are smaller"),
        "{}",
        why(&answer, Topic::Memory)
    );
}

#[test]
fn fewer_equal_partitions_on_faster_cores_win() {
    let mut facts = Facts::symmetric(2, 1, 2, 1);
    facts.cpus[2..].iter_mut().for_each(|cpu| cpu.capacity = Some(512));
    facts.nodes[1].free = Some(2 * GIB);
    // Three workers at half speed would be best, but two thirds of the data do not fit there; one
    // at full speed is as fast as two.
    let keep = "1".parse().unwrap();
    let request = Request { weighted: false, excluded: keep, ..Request::new(4 * GIB, Bound::Compute) };
    assert_eq!(cpus(&ask(&facts, &request)), "0");
}

/// Measured times of pinned scans on two CPUs: equal partitions, without the busy CPU, and
/// weighted.
#[test]
fn predictions_match_measurements_beside_competitors() {
    let isolated = 71.0 * 2.0;
    for (hogs, naive, without, weighted) in [(1.0, 140.0, 139.0, 94.0), (2.0, 209.0, 139.0, 104.0)] {
        let mut facts = Facts::symmetric(1, 1, 2, 1);
        let own = 1.0 / (1.0 + hogs);
        let load = |cpu, own, others| CpuLoad { cpu, own, others, ..CpuLoad::default() };
        let cpus = vec![load(0, 1.0, 0.0), load(1, own, 1.0 - own)];
        facts.load = Some(Load { span: Duration::from_secs(1), cpus });
        let request = Request::new(GIB, Bound::Compute);
        let even = ask(&Facts::symmetric(1, 1, 2, 1), &request).plan;
        let knowledge = Knowledge::new(facts);
        let answer = knowledge.suggest_allocation(&request, Some(&even)).unwrap();
        let within = |time: f64, measured: f64| {
            assert!(
                (time * isolated / measured - 1.0).abs() < 0.07,
                "{} instead of {measured}",
                time * isolated
            );
        };
        within(answer.plan.predicted, weighted);
        within(knowledge.predict(&request, &even).unwrap(), naive);
        let alone = Request { partitions_max: Some(1), ..request.clone() };
        let alone = knowledge.suggest_allocation(&alone, None).unwrap().plan;
        assert_eq!(alone.cpus().to_string(), "0");
        within(alone.predicted, without);
        assert!(answer.changes.unwrap().iter().all(|change| matches!(change, Change::Resize { .. })));
    }
}

#[test]
fn one_busy_cpu_gets_half_or_nothing() {
    let facts = with_load(amd(), &[(5, 1.0)]);
    let weighted = ask(&facts, &Request::new(GIB, Bound::Compute));
    assert_eq!(cpus(&weighted), "0-15");
    close(weighted.plan.predicted, 1.0 / 15.5);
    let equal = ask(&facts, &Request { weighted: false, ..Request::new(GIB, Bound::Compute) });
    assert_eq!(cpus(&equal), "0-4,6-15");
    close(equal.plan.predicted, 1.0 / 15.0);
    let text = why(&equal, Topic::Load);
    assert_eq!(text, "Other processes take 100% of CPU 5, and a worker would get 50%: not used.");
    // A request for fewer CPUs gets the idle ones.
    let four = ask(&facts, &Request { partitions_max: Some(4), ..Request::new(GIB, Bound::Compute) });
    assert!(!four.plan.cpus().contains(5));
    let without = weighted.alternatives.iter().find(|other| other.what == "without busy CPUs").unwrap();
    assert!((without.costs - 0.5 / 15.0).abs() < 1e-3);
    assert!(without.changes.contains(&Change::Remove { cpu: 5 }));
}

#[test]
fn a_busy_thread_slows_its_sibling() {
    let facts = with_load(Facts::symmetric(1, 1, 4, 2), &[(4, 1.0)]);
    let request = Request { partitions_max: Some(3), ..Request::new(GIB, Bound::Compute) };
    assert_eq!(cpus(&ask(&facts, &request)), "1-3");
}

#[test]
fn cpus_of_registered_runtimes_are_avoided() {
    let knowledge = Knowledge::new(amd());
    let request = Request {
        partitions_max: Some(8),
        requester: Some("scan".into()),
        ..Request::new(GIB, Bound::Compute)
    };
    let on = |cpus: std::ops::Range<u32>, name: &str| Registration {
        name: name.into(),
        cpus: cpus.collect(),
        memory: vec![(0, GIB)],
    };
    let other = knowledge.register(on(0..4, "other"));
    let own = knowledge.register(on(4..8, "scan"));
    let answer = knowledge.suggest_allocation(&request, None).unwrap();
    assert_eq!(cpus(&answer), "4-11");
    assert!(why(&answer, Topic::Registered).contains("`other` has 4 workers on CPU 0-3"));
    drop((other, own));
    assert_eq!(cpus(&knowledge.suggest_allocation(&request, None).unwrap()), "0-7");
}

#[test]
fn caches_are_shared_as_requested() {
    // One node with eight cores in two halves, each with a level 3 cache.
    let mut facts = Facts::symmetric(1, 1, 8, 1);
    facts.caches.retain(|cache| cache.level < 3);
    for cpus in ["0-3", "4-7"] {
        let cpus = cpus.parse().unwrap();
        facts.caches.push(Cache { level: 3, kind: CacheKind::Unified, size: 16 << 20, line: None, cpus });
    }
    let asked = |caches| {
        ask(&facts, &Request { partitions_max: Some(4), caches, ..Request::new(GIB, Bound::Compute) })
    };
    assert_eq!(cpus(&asked(CacheSharing::Together)), "0-3");
    assert_eq!(cpus(&asked(CacheSharing::Apart)), "0-1,4-5");
    assert!(why(&asked(CacheSharing::Apart), Topic::Caches).contains("2 caches of level 3"));
}

#[test]
fn the_present_plan_wins_ties() {
    let knowledge = Knowledge::new(amd());
    let request = Request { partitions_max: Some(3), ..Request::new(3 * GIB, Bound::Compute) };
    let mut present = knowledge.suggest_allocation(&request, None).unwrap().plan;
    assert_eq!(present.cpus().to_string(), "0-2");
    for (partition, cpu) in present.partitions.iter_mut().zip([9, 10, 11]) {
        (partition.cpu, partition.node) = (cpu, 2);
    }
    let answer = knowledge.suggest_allocation(&request, Some(&present)).unwrap();
    assert_eq!(answer.changes, Some(vec![]));
}

#[test]
fn minimum_and_maximum_counts_and_sizes_hold() {
    let knowledge = Knowledge::new(Facts::symmetric(1, 1, 4, 2));
    let request = |fewest, most, smallest, largest| Request {
        partitions_min: fewest,
        partitions_max: most,
        partition_bytes_min: smallest,
        partition_bytes_max: largest,
        ..Request::new(GIB, Bound::Memory)
    };
    let count =
        |request| knowledge.suggest_allocation(&request, None).map(|answer| answer.plan.partitions.len());
    assert_eq!(count(request(None, None, None, None)), Ok(4));
    assert_eq!(count(request(Some(6), None, None, None)), Ok(6));
    assert_eq!(count(request(None, None, None, Some(GIB / 8))), Ok(8));
    assert_eq!(count(request(None, None, Some(GIB / 2), None)), Ok(2));
    assert_eq!(
        count(request(Some(9), None, None, None)),
        Err(NoPlan::TooFewCpus { wanted: 9, usable: 8, quota: None })
    );
    assert_eq!(
        count(request(Some(3), Some(2), None, None)),
        Err(NoPlan::Contradiction { fewest: 3, most: 2 })
    );
    assert_eq!(knowledge.suggest_partitions(0, Bound::Compute).unwrap().plan.partitions.len(), 1);
}

#[test]
fn caches_have_sizes_and_shares() {
    let knowledge = Knowledge::new(laptop());
    let first = knowledge.cache_size(1).unwrap();
    assert_eq!((first.size(), first.share()), (32 << 10, 24 << 10));
    assert_eq!(first.views.len(), 2);
    assert_eq!((first.views[0].share(), first.views[0].kind), (24 << 10, Some(CoreKind::Performance)));
    assert_eq!(
        knowledge.cache_size(2).unwrap().why(),
        [
            "Level 2: CPUs 12-19 (efficiency) see 2 MiB, shared by 4 CPUs: 512 KiB for each.",
            "Level 2: CPUs 0-11 (performance) see 1.2 MiB, shared by 2 CPUs: 640 KiB for each."
        ]
    );
    assert_eq!(knowledge.cache_size(3).unwrap().share(), (24 << 20) / 20);
    let unknown = knowledge.cache_size(4).unwrap_err().to_string();
    assert_eq!(unknown, "No cache of level 4 that holds data is known; known levels: 1, 2, 3.");
    let mut partly = laptop();
    partly.caches.remove(0);
    let unknown = Knowledge::new(partly).cache_size(1).unwrap_err().to_string();
    assert_eq!(unknown, "No cache of level 1 that holds data is known for the CPUs 0-1.");
}

#[test]
fn suggestions_are_serialised() {
    let answer = ask(&with_load(laptop(), &[(3, 0.4)]), &Request::new(GIB, Bound::Compute));
    let text = serde_json::to_string(&answer).unwrap();
    let read: Suggestion = serde_json::from_str(&text).unwrap();
    assert_eq!(read.plan.cpus(), answer.plan.cpus());
    assert_eq!(read.why, answer.why);
}
