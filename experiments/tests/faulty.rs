//! The checks of the YCSB experiment find every fault of an index, one fault at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use xtasking_experiments::peers::map::{ConcurrentMap, OnThreads};
use xtasking_experiments::ycsb::contender::Contender;
use xtasking_harness::failure::Wrong;
use xtasking_ycsb::keyspace::{InsertOrder, Keyspace};
use xtasking_ycsb::plan::{OperationKind, Plan};
use xtasking_ycsb::workload::standard;

const RECORDS: u64 = 2_000;
const OPERATIONS: u64 = 4_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    ReadFindsNothing,
    ReadGivesAnotherValue,
    ReadGivesTornValue,
    ReadGivesUnissuedNumber,
    UpdatesAreDropped,
    UpdateIsReportedMissing,
    OneUpdateIsDropped,
    UpdatesGoToAnotherKey,
    InsertIsLost,
    InsertIsReportedTwice,
    InsertAddsForeignKey,
    ScanIsMisordered,
    ScanIsShort,
    ScanIsEmpty,
    ScansLeaveOneOut,
    ScanBeginsLate,
    ScanIsTooLong,
    ScanGivesAnotherValue,
    CountIsWrong,
    Panics,
}

struct Faulty {
    map: Mutex<BTreeMap<u64, u64>>,
    fault: Fault,
    /// The index of the call that fails.
    victim: u32,
    calls: AtomicU32,
}

impl Faulty {
    fn contender(fault: Fault, victim: u32) -> OnThreads<Self> {
        OnThreads::new(Self { map: Mutex::default(), fault, victim, calls: AtomicU32::new(0) })
    }

    /// Returns true if this call fails: the victim and all calls after it.
    fn strikes_from_victim_on(&self, fault: Fault) -> bool {
        self.fault == fault && self.calls.fetch_add(1, Ordering::Relaxed) >= self.victim
    }

    /// Returns true if this call is the victim.
    fn strikes(&self, fault: Fault) -> bool {
        self.fault == fault && self.calls.fetch_add(1, Ordering::Relaxed) == self.victim
    }
}

impl ConcurrentMap for Faulty {
    fn get(&self, key: u64) -> Option<u64> {
        assert!(!self.strikes(Fault::Panics), "a bug");
        let map = self.map.lock().unwrap();
        let value = map.get(&key).copied()?;
        let (_, another) = map.range(..key).next_back().or(map.last_key_value()).unwrap();
        if self.strikes(Fault::ReadFindsNothing) {
            None
        } else if self.strikes(Fault::ReadGivesAnotherValue) {
            Some(*another)
        } else if self.strikes(Fault::ReadGivesTornValue) {
            Some(value & 0xffff_0000_ffff_ffff | another & 0x0000_ffff_0000_0000)
        } else if self.strikes(Fault::ReadGivesUnissuedNumber) {
            Some(value | 0xffff_0000)
        } else {
            Some(value)
        }
    }

    fn insert(&self, key: u64, value: u64) -> bool {
        let mut map = self.map.lock().unwrap();
        if self.strikes(Fault::InsertIsLost) {
            return true;
        }
        if self.strikes(Fault::InsertAddsForeignKey) {
            map.insert(key ^ 1, value);
        }
        map.insert(key, value).is_none() && !self.strikes(Fault::InsertIsReportedTwice)
    }

    fn update(&self, key: u64, value: u64) -> bool {
        let mut map = self.map.lock().unwrap();
        if self.strikes_from_victim_on(Fault::UpdatesAreDropped) {
            return true;
        }
        if self.strikes(Fault::UpdateIsReportedMissing) {
            return false;
        }
        if self.strikes_from_victim_on(Fault::UpdatesGoToAnotherKey) {
            let another = map.range(..key).next_back().or(map.last_key_value()).map(|(key, _)| *key).unwrap();
            return map.insert(another, value).is_some();
        }
        self.strikes(Fault::OneUpdateIsDropped) || map.get_mut(&key).map(|slot| *slot = value).is_some()
    }

    fn scan(&self, from: u64, limit: usize, entries: &mut Vec<(u64, u64)>) {
        let map = self.map.lock().unwrap();
        let begin = entries.len();
        entries.extend(map.range(from..).take(limit).map(|(key, value)| (*key, *value)));
        // Only scans long enough for every fault. Not those of the audit, which are very long, nor
        // those at the end of the key space, where a fault would look different.
        let Some(next) = next(&map, entries).filter(|_| entries.len() - begin >= 10 && limit <= 100) else {
            return;
        };
        let found = &mut entries[begin..];
        if self.strikes(Fault::ScanIsMisordered) {
            found.swap(3, 4);
        } else if self.strikes(Fault::ScanIsShort) {
            entries.pop();
        } else if self.strikes(Fault::ScanIsEmpty) {
            entries.truncate(begin);
        } else if self.strikes(Fault::ScanGivesAnotherValue) {
            found[5].1 = found[6].1;
        } else if self.strikes_from_victim_on(Fault::ScansLeaveOneOut) {
            entries.remove(begin + 5);
            entries.push(next);
        } else if self.strikes(Fault::ScanBeginsLate) {
            entries.remove(begin);
            entries.push(next);
        } else if self.strikes_from_victim_on(Fault::ScanIsTooLong) {
            entries.push(next);
        }
    }

    fn count(&self) -> u64 {
        self.map.lock().unwrap().len() as u64 + u64::from(self.fault == Fault::CountIsWrong)
    }
}

/// Returns the entry after the last one found.
fn next(map: &BTreeMap<u64, u64>, found: &[(u64, u64)]) -> Option<(u64, u64)> {
    let (last, _) = found.last()?;
    map.range(last + 1..).next().map(|(key, value)| (*key, *value))
}

/// Loads a faulty index and runs a workload twice.
fn outcome(fault: Fault, workload: &str, workers: usize) -> Result<(), Wrong> {
    let mut contender = Faulty::contender(fault, 1_000);
    let keyspace = Keyspace::new(InsertOrder::Hashed, 1);
    let mut plan = Arc::new(Plan::load(keyspace, RECORDS, workers));
    contender.load(&plan)?;
    contender.verify(&plan)?;
    for _ in 0..2 {
        let workload = standard(workload).unwrap();
        plan = Arc::new(Plan::run(keyspace, &workload, OPERATIONS, workers, plan.past(), 1));
        contender.run(&plan)?;
        contender.verify(&plan)?;
    }
    Ok(())
}

#[test]
fn an_index_without_a_fault_passes() {
    for workload in ["A", "B", "C", "D", "E", "F"] {
        for workers in [1, 2, 5] {
            outcome(Fault::None, workload, workers).unwrap_or_else(|wrong| panic!("{workload}: {wrong}"));
        }
    }
}

#[test]
fn every_fault_is_found() {
    use Fault::*;
    for (fault, workload, words) in [
        (ReadFindsNothing, "C", "was not found"),
        (ReadGivesAnotherValue, "C", "does not belong to this key"),
        (ReadGivesTornValue, "C", "does not belong to this key"),
        (ReadGivesUnissuedNumber, "C", "were given out"),
        (ReadFindsNothing, "F", "was not found"),
        (UpdatesAreDropped, "A", "was lost"),
        (UpdatesAreDropped, "F", "was lost"),
        (UpdateIsReportedMissing, "A", "did not find the key"),
        (UpdatesGoToAnotherKey, "A", "(record "),
        (InsertIsLost, "D", "are present"),
        (InsertIsReportedTwice, "D", "already present"),
        (InsertAddsForeignKey, "D", "never inserted"),
        (ScanIsMisordered, "E", "the scan from this key"),
        (ScanIsShort, "E", "does not end there"),
        (ScanIsEmpty, "E", "gave 0 of"),
        (ScansLeaveOneOut, "E", "left out a key"),
        (ScanBeginsLate, "E", "first"),
        (ScanIsTooLong, "E", "more than the"),
        (ScanGivesAnotherValue, "E", "does not belong to this key"),
        (CountIsWrong, "C", "the index reports"),
        (Panics, "C", "panicked: a bug"),
    ] {
        for workers in [1, 2] {
            let wrong = outcome(fault, workload, workers).err();
            let wrong = wrong.unwrap_or_else(|| panic!("{fault:?} on {workload} was not found")).to_string();
            assert!(wrong.contains(words), "{fault:?} on {workload}: {wrong}");
        }
    }
}

/// With one worker the order of writes is known, so a lost write shows if it was the last one of
/// its record.
#[test]
fn a_single_lost_update_is_found() {
    let keyspace = Keyspace::new(InsertOrder::Hashed, 1);
    let load = Arc::new(Plan::load(keyspace, RECORDS, 1));
    let run = Arc::new(Plan::run(keyspace, &standard("A").unwrap(), OPERATIONS, 1, load.past(), 1));
    let updates =
        (0..run.length(0)).filter(|index| run.operation(0, *index).kind() == OperationKind::Update).count();
    let mut contender = Faulty::contender(Fault::OneUpdateIsDropped, updates as u32 - 1);
    contender.load(&load).unwrap();
    contender.verify(&load).unwrap();
    contender.run(&run).unwrap();
    let wrong = contender.verify(&run).unwrap_err().to_string();
    assert!(wrong.contains("the update was lost"), "{wrong}");
}
