//! A log on a simulated disk keeps its promises over power cuts, and logs with mistakes do not.
//!
//! Each seed is a life of a log: it is recovered, written and cut off again and again. After each
//! start, its records must be the first ones of those that were appended, and among them all that
//! were synced.

mod log;

use log::{Log, Mistake};
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
    let (short, interrupted, errors, failed_syncs) = (percent(40), percent(10), percent(4), percent(20));
    Faults {
        short,
        interrupted,
        errors,
        failed_syncs,
        capacity: (numbers.below(4) == 0).then(|| 1000 + numbers.below(20_000)),
        power_cut: (numbers.below(4) != 0).then(|| numbers.below(100)),
    }
}

/// Lives one life. An error says which promise was broken.
fn live(seed: u64, mistake: Mistake) -> Result<(), String> {
    let (disk, mut numbers) = (SimulatedDisk::new(seed), Numbers(seed));
    let mut promises = Promises::default();
    for start in 0..STARTS {
        // The recovery itself may fail and be cut off. The last one does not.
        if start + 1 < STARTS {
            disk.set_faults(random_faults(&mut numbers));
        }
        let mut is_well = false;
        if let Ok((mut log, records)) = Log::recover(disk.clone(), mistake) {
            promises.check(records)?;
            is_well = promises.use_log(&mut log, &mut numbers).is_ok();
        } else if start + 1 == STARTS {
            return Err("a log on a disk without faults cannot be recovered".into());
        }
        // A process that is killed leaves in the cache what it has written. After a failed sync the
        // disk may not have that, so only a new start of the system tells what is there.
        if !is_well || numbers.below(4) != 0 {
            disk.cut_power();
        }
        disk.restart();
    }
    Ok(())
}

#[test]
fn a_right_log_keeps_its_promises() {
    for seed in 0..3000 {
        live(seed, Mistake::None).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    }
}

#[test]
fn each_mistake_of_a_log_is_found() {
    for mistake in Mistake::ALL {
        let found = (0..300).filter(|&seed| live(seed, mistake).is_err()).count();
        println!("{mistake:?}: found by {found} of 300 seeds");
        assert!(found > 0, "{mistake:?} is not found");
    }
}

#[test]
fn a_life_is_replayed_by_its_seed() {
    let lives = || (0..100).map(|seed| live(seed, Mistake::NoSync)).collect::<Vec<_>>();
    assert_eq!(lives(), lives());
}

#[test]
fn the_log_works_on_files_of_the_system() {
    let path = std::env::temp_dir().join(format!("xtasking-storage-log-{}", std::process::id()));
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
