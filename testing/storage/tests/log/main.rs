//! A log on a simulated disk keeps its promises over power cuts, and logs with mistakes do not.
//!
//! Each seed is a life of a log: it is recovered, written and cut off again and again. After each
//! start, its records must be the first ones of those that were appended, and among them all that
//! were synced.

mod log;

use log::{Log, Mistake};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use xtasking_storage::{Directory, Faults, SimulatedDisk};

/// Power cuts and other ends in the life of a log.
const STARTS: u64 = 8;
/// Operations of a log between two ends.
const OPERATIONS: u64 = 25;

/// Numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33) % end
    }
}

/// What a log was told, and what it has promised.
#[derive(Default)]
struct Promises {
    appended: Vec<Vec<u8>>,
    synced: usize,
}

impl Promises {
    /// Checks the records of a log that was recovered. From then on they are what it has.
    fn check(&mut self, records: Vec<Vec<u8>>) -> Result<(), String> {
        let (appended, synced) = (&self.appended, self.synced);
        if records.len() < synced {
            return Err(format!("{} records are left of {synced} that were synced", records.len()));
        }
        if !appended.starts_with(&records) {
            return Err(format!("{} records are not the first of the appended ones", records.len()));
        }
        *self = Self { synced: records.len(), appended: records };
        Ok(())
    }

    /// Uses a log until it fails or enough was done.
    fn use_log(&mut self, log: &mut Log<SimulatedDisk>, numbers: &mut Numbers) -> io::Result<()> {
        for _ in 0..numbers.below(OPERATIONS) {
            match numbers.below(12) {
                0..8 => {
                    let most = if numbers.below(10) == 0 { 2000 } else { 100 };
                    let length = 1 + numbers.below(most);
                    let contents: Vec<_> = (0..length).map(|_| 1 + numbers.below(255) as u8).collect();
                    // A record that could not be written may be there nevertheless.
                    self.appended.push(contents);
                    log.append(&self.appended[self.appended.len() - 1])?;
                }
                8..11 => {
                    log.sync()?;
                    self.synced = self.appended.len();
                }
                _ => {
                    log.rewrite(&self.appended)?;
                    self.synced = self.appended.len();
                }
            }
        }
        Ok(())
    }
}

fn random_faults(numbers: &mut Numbers) -> Faults {
    let mut percent = |most| if numbers.below(2) == 0 { 0 } else { numbers.below(most) as u8 };
    let (short, interrupted, errors, failed_syncs) = (percent(40), percent(10), percent(4), percent(60));
    Faults {
        short,
        interrupted,
        errors,
        failed_syncs,
        capacity: (numbers.below(4) == 0).then(|| 1000 + numbers.below(20_000)),
        power_cut: (numbers.below(2) == 0).then(|| numbers.below(100)),
        kill: (numbers.below(2) == 0).then(|| numbers.below(100)),
    }
}

/// Lives one life. Returns a hash of all that happened; an error says which promise was broken.
fn live(seed: u64, mistake: Mistake) -> Result<u64, String> {
    let (mut disk, mut numbers) = (SimulatedDisk::new(seed), Numbers(seed));
    let mut events = DefaultHasher::new();
    let mut promises = Promises::default();
    for start in 0..STARTS {
        // The recovery itself may fail and be cut off. The last one does not.
        if start + 1 < STARTS {
            disk.set_faults(random_faults(&mut numbers));
        }
        let failure = match Log::recover(disk.clone(), mistake) {
            Ok((mut log, records)) => {
                records.hash(&mut events);
                promises.check(records)?;
                promises.use_log(&mut log, &mut numbers).err()
            }
            Err(_) if start + 1 == STARTS => {
                return Err("a log on a disk without faults cannot be recovered".into());
            }
            Err(error) => Some(error),
        };
        let failure = failure.map(|error| error.to_string());
        (failure, disk.operations(), disk.has_power()).hash(&mut events);
        // The process ends in any state of the log. What it has written is in the cache, or lost.
        if numbers.below(2) == 0 {
            disk.cut_power();
        }
        disk.restart();
    }
    Ok(events.finish())
}

/// Rewrites a log on a disk with these faults, which end the process. The next one recovers the
/// log and syncs one more record; then the power is cut. Returns the numbers of records that were
/// promised and found.
fn restart_and_cut(seed: u64, faults: Faults, mistake: Mistake) -> io::Result<(usize, usize)> {
    let mut disk = SimulatedDisk::new(seed);
    let (mut log, mut records) = Log::recover(disk.clone(), mistake)?;
    for number in 1..=3 {
        records.push(vec![number; 100]);
        log.append(&records[records.len() - 1])?;
    }
    disk.set_faults(faults);
    let _ = log.sync().and_then(|()| log.rewrite(&records));
    disk.restart();
    let (mut log, mut promised) = Log::recover(disk.clone(), mistake)?;
    promised.push(vec![4; 100]);
    log.append(&promised[promised.len() - 1])?;
    log.sync()?;
    disk.cut_power();
    disk.restart();
    let (_, found) = Log::recover(disk, mistake)?;
    Ok((promised.len(), found.len()))
}

/// Counts the kills, one in each operation of a rewriting and some seeds, that lose records.
fn losses_by_kills(mistake: Mistake) -> usize {
    let lives = (0..50).flat_map(|seed| (0..10).map(move |kill| (seed, kill)));
    let lost = lives.filter(|&(seed, kill)| {
        let faults = Faults { kill: Some(kill), ..Faults::default() };
        let (promised, found) = restart_and_cut(seed, faults, mistake).unwrap();
        found < promised
    });
    lost.count()
}

/// Counts the failed syncs, one for each of some seeds, that lose records.
fn losses_by_failed_syncs(mistake: Mistake) -> usize {
    let lost = (0..50).filter(|&seed| {
        let faults = Faults { failed_syncs: 100, ..Faults::default() };
        let (promised, found) = restart_and_cut(seed, faults, mistake).unwrap();
        found < promised
    });
    lost.count()
}

#[test]
fn a_right_log_keeps_its_promises() {
    for seed in 0..2000 {
        live(seed, Mistake::None).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    }
}

#[test]
fn each_mistake_of_a_log_is_found() {
    for mistake in Mistake::ALL {
        let found = (0..600).filter(|&seed| live(seed, mistake).is_err()).count();
        println!("{mistake:?}: found by {found} of 600 seeds");
        assert!(found >= 10, "{mistake:?} is found by {found} of 600 seeds only");
    }
}

#[test]
fn a_kill_before_the_names_are_synced_loses_nothing() {
    assert_eq!(losses_by_kills(Mistake::None), 0);
    assert_eq!(losses_by_kills(Mistake::KeepsFile), 0, "no sync fails");
    assert!(losses_by_kills(Mistake::TrustsNames) >= 5);
}

#[test]
fn a_restart_after_a_failed_sync_does_not_trust_the_cache() {
    assert_eq!(losses_by_failed_syncs(Mistake::None), 0);
    assert!(losses_by_failed_syncs(Mistake::KeepsFile) >= 5);
}

#[test]
fn a_life_is_replayed_by_its_seed() {
    let lives = || (0..100).map(|seed| live(seed, Mistake::None)).collect::<Vec<_>>();
    let (once, again) = (lives(), lives());
    assert_eq!(once, again);
    let different: HashSet<_> = once.into_iter().collect();
    assert_eq!(different.len(), 100, "no two lives are the same");
}

#[test]
fn the_log_works_on_files_of_the_system() {
    let path = std::env::temp_dir().join(format!("xtasking-storage-log-{}", std::process::id()));
    // What a killed run of the same number has left.
    _ = std::fs::remove_dir_all(&path);
    let disk = Directory::open(&path).unwrap();
    let records = [vec![1; 10], vec![2; 1000]];
    for known in 0..=2 {
        let (mut log, found) = Log::recover(disk.clone(), Mistake::None).unwrap();
        assert_eq!(found, records[..known]);
        if let Some(record) = records.get(known) {
            log.append(record).unwrap();
            log.sync().unwrap();
            log.rewrite(&records[..=known]).unwrap();
        }
    }
    std::fs::remove_dir_all(path).unwrap();
}
