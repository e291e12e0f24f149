//! Tests of plans as a whole.

use super::*;
use crate::keyspace::{InsertOrder, sequence};
use crate::workload::{STANDARD, Workload, properties, standard};
use std::collections::HashSet;

const RECORDS: u64 = 3_000;
const OPERATIONS: u64 = 20_000;

fn keyspace() -> Keyspace {
    Keyspace::new(InsertOrder::Hashed, 9)
}

fn run(workload: &Workload, workers: usize, seed: u64) -> Plan {
    let load = Plan::load(keyspace(), RECORDS, workers);
    Plan::run(keyspace(), workload, OPERATIONS, workers, load.past(), seed)
}

fn trace(plan: &Plan, worker: usize) -> Vec<Operation> {
    (0..plan.length(worker)).map(|index| plan.operation(worker, index)).collect()
}

fn traces(plan: &Plan) -> Vec<Vec<Operation>> {
    (0..plan.workers()).map(|worker| trace(plan, worker)).collect()
}

#[test]
fn loading_inserts_every_record_once() {
    for workers in [1, 2, 7, 5_000] {
        let plan = Plan::load(keyspace(), RECORDS, workers);
        let mut records: Vec<_> = traces(&plan).concat().into_iter().map(Operation::record).collect();
        records.sort_unstable();
        assert_eq!(records, (0..RECORDS).collect::<Vec<_>>());
        assert_eq!(plan.operations(), RECORDS);
        assert_eq!((plan.records_before(), plan.records_after()), (0, RECORDS));
    }
}

#[test]
fn only_equal_seeds_give_equal_plans() {
    for (name, _) in STANDARD {
        let workload = standard(name).unwrap();
        let plan = traces(&run(&workload, 3, 1));
        assert_eq!(plan, traces(&run(&workload, 3, 1)), "{name}");
        assert_ne!(plan, traces(&run(&workload, 3, 2)), "{name}");
        assert_ne!(plan[0], plan[1], "{name}: workers have different operations");
    }
}

#[test]
fn a_second_run_differs_from_the_first() {
    let workload = standard("C").unwrap();
    let first = run(&workload, 1, 1);
    let second = Plan::run(keyspace(), &workload, OPERATIONS, 1, first.past(), 1);
    assert_ne!(trace(&first, 0), trace(&second, 0));
}

#[test]
fn kinds_have_the_proportions_of_the_workload() {
    for (name, _) in STANDARD {
        let workload = standard(name).unwrap();
        let plan = run(&workload, 3, 1);
        let operations = traces(&plan).concat();
        assert_eq!(operations.len() as u64, OPERATIONS);
        for kind in [
            OperationKind::Read,
            OperationKind::Update,
            OperationKind::Insert,
            OperationKind::Scan,
            OperationKind::ReadModifyWrite,
        ] {
            let count = operations.iter().filter(|operation| operation.kind() == kind).count();
            let expected = workload.proportion(kind) * OPERATIONS as f64;
            assert!(
                (count as f64 - expected).abs() < 0.02 * OPERATIONS as f64,
                "{name}: {} {count}",
                kind.name()
            );
        }
    }
}

#[test]
fn operations_use_existing_records_only() {
    for (name, _) in STANDARD {
        let plan = run(&standard(name).unwrap(), 4, 1);
        let mut inserted = HashSet::new();
        for trace in traces(&plan) {
            for (index, operation) in trace.iter().enumerate() {
                if operation.kind() == OperationKind::Insert {
                    assert!(inserted.insert(operation.record()), "{name}: inserted twice");
                    continue;
                }
                let acknowledged = || {
                    let until = (index + 1).saturating_sub(ACKNOWLEDGED_AFTER);
                    trace[..until].iter().any(|earlier| {
                        earlier.kind() == OperationKind::Insert && earlier.record() == operation.record()
                    })
                };
                assert!(operation.record() < RECORDS || acknowledged(), "{name}: {operation:?} at {index}");
            }
        }
        let new: HashSet<_> = (RECORDS..plan.records_after()).collect();
        assert_eq!(inserted, new, "{name}");
    }
}

#[test]
fn the_latest_records_are_the_most_frequent() {
    let plan = run(&standard("D").unwrap(), 1, 1);
    let reads = trace(&plan, 0).into_iter().filter(|operation| operation.kind() == OperationKind::Read);
    let (new, old): (Vec<_>, Vec<_>) = reads.partition(|operation| operation.record() >= RECORDS - 300);
    assert!(new.len() > old.len(), "{} of the newest, {} of the others", new.len(), old.len());
    assert!(new.iter().any(|operation| operation.record() >= RECORDS));
}

#[test]
fn uniform_requests_are_uniform() {
    let mut workload = Workload::new("test");
    workload.apply(&properties::parse("readproportion=1\nupdateproportion=0").unwrap()).unwrap();
    let mut counts = vec![0u32; RECORDS as usize];
    trace(&run(&workload, 1, 1), 0).iter().for_each(|operation| counts[operation.record() as usize] += 1);
    // 20,000 requests for 3,000 records: 6.7 each, with a standard deviation of 2.6.
    assert!(*counts.iter().max().unwrap() < 25);
    assert!(counts.iter().filter(|count| **count == 0).count() < 30);
}

#[test]
fn written_values_identify_their_requests() {
    let plan = run(&standard("A").unwrap(), 3, 1);
    let mut numbers = HashSet::new();
    for worker in 0..plan.workers() {
        for index in 0..plan.length(worker) {
            if let Request::Update { key, value } = plan.request(worker, index) {
                let number = sequence(key, value).expect("a value of its key");
                assert!(numbers.insert(number));
                assert_eq!(plan.locate(number), Some((worker, index)));
                plan.check_read(key, Some(value)).unwrap();
            }
        }
    }
    assert_eq!(plan.locate(plan.end_sequence()), None);
    assert_eq!(plan.locate(0), None, "the load gave out this number");
}

#[test]
fn scan_lengths_follow_their_distribution() {
    for (distribution, short) in [("uniform", 0.1), ("zipfian", 0.5)] {
        let mut workload = standard("E").unwrap();
        let text = format!("scanlengthdistribution={distribution}");
        workload.apply(&properties::parse(&text).unwrap()).unwrap();
        let lengths: Vec<_> = traces(&run(&workload, 2, 1))
            .concat()
            .into_iter()
            .filter(|operation| operation.kind() == OperationKind::Scan)
            .map(Operation::scan_length)
            .collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&1), Some(&100)), "{distribution}");
        let share = lengths.iter().filter(|length| **length <= 10).count() as f64 / lengths.len() as f64;
        assert!((share - short).abs() < 0.1, "{distribution}: {share}");
    }
}

/// A scan is valid if it gives the entries present, whatever part of the inserts is done.
#[test]
fn a_scan_of_the_present_entries_is_accepted() {
    for order in [InsertOrder::Hashed, InsertOrder::Ordered] {
        let keyspace = Keyspace::new(order, 9);
        let load = Plan::load(keyspace, 200, 1);
        let plan = Plan::run(keyspace, &standard("E").unwrap(), 5_000, 1, load.past(), 1);
        let mut keys: Vec<_> = (0..200).map(|record| keyspace.key(record)).collect();
        keys.sort_unstable();
        let (mut short, mut exact) = (0, 0);
        for index in 0..plan.length(0) {
            match plan.request(0, index) {
                Request::Insert { key, .. } => {
                    let position = keys.binary_search(&key).unwrap_err();
                    keys.insert(position, key);
                }
                Request::Scan { from, length } => {
                    let begin = keys.binary_search(&from).expect("scans begin at a key that exists");
                    let found = &keys[begin..keys.len().min(begin + length)];
                    let entries: Vec<_> = found.iter().map(|key| (*key, stamp(*key, 0))).collect();
                    let check = plan.scan_check(0, index);
                    check.all(&plan, &entries).unwrap();
                    short += usize::from(entries.len() < length);
                    // In an exact scan, no old record may be missing anywhere.
                    let middle = entries.len() / 2;
                    if index.is_multiple_of(EXACT_SCANS)
                        && keyspace.record(entries[middle].0) < 200
                        && middle > 0
                    {
                        let mut entries = entries.clone();
                        entries.remove(middle);
                        assert!(check.all(&plan, &entries).is_err());
                        exact += 1;
                    }
                    // At the end of the key space a missing new record is not noticed, a missing
                    // old one is.
                    if found.iter().all(|key| keyspace.record(*key) < 200) {
                        assert!(check.all(&plan, &entries[..entries.len() - 1]).is_err());
                    }
                }
                request => panic!("{request:?} is not part of the workload"),
            }
        }
        assert!(short > 0 && exact > 0, "scans reach the end of the key space");
    }
}
