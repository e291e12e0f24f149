//! Volumes on a device that fails by seed.

// The sources of the disk that the store uses have the traits of disks in the root of their crate.
extern crate self as xtasking_storage;

#[path = "../../../../testing/storage/tests/contract/mod.rs"]
mod contract;
mod device;
#[path = "../../../store/storage/src/files.rs"]
mod files;
#[path = "../../../../testing/storage/src/interface.rs"]
mod interface;
mod model;
mod random;

use device::{Device, Faults};
use interface::{Disk, File};
use model::{Files, Run, contents, read, read_open};
use random::Random;
use xkernel_files::{Blocks, Error, SECTOR, Volume};

/// Sectors of a device of 1 MiB.
const SECTORS: usize = 2048;
/// Runs of each test that goes through seeds.
const SEEDS: u64 = 2000;
/// Bytes of a table's place.
const TABLE: usize = 128 << 10;

/// Opens a volume after a restart. The opening may be interrupted by further power cuts.
fn reopen(device: &Device, allowed: &[&Files], random: &mut Random) -> Run {
    loop {
        device.restart();
        if random.percent(30) {
            device.set_faults(Faults { power_cut: Some(random.up_to(8) as u64), ..Faults::default() });
        }
        match Run::open(device, allowed) {
            Ok(run) if device.has_power() => {
                device.set_faults(Faults::default());
                return run;
            }
            Ok(_) | Err(Error::Device(_)) => {}
            Err(error) => panic!("the volume does not open: {error}"),
        }
    }
}

/// Runs a volume through some failures.
fn run_seed(seed: u64, faults: impl Fn(&mut Random) -> Faults) {
    let mut random = Random::new(seed);
    let device = Device::new(seed ^ 0x5eed, SECTORS);
    let mut run = reopen(&device, &[&Files::new()], &mut random);
    for _ in 0..5 {
        device.set_faults(faults(&mut random));
        let failed = (0..60).any(|_| run.step(&mut random).is_err());
        // Half of the failures are followed by a power cut, and some runs are cut without one.
        if !failed || random.percent(50) {
            device.cut_power();
        }
        run = reopen(&device, &run.allowed(), &mut random);
    }
}

#[test]
fn a_power_cut_leaves_the_last_commit_or_the_one_under_way() {
    for seed in 0..SEEDS {
        run_seed(seed, |random| Faults { power_cut: Some(random.up_to(80) as u64), ..Faults::default() });
    }
}

#[test]
fn a_device_that_fails_leaves_the_last_commit_or_the_one_under_way() {
    for seed in 0..SEEDS {
        run_seed(seed, |random| Faults {
            errors: 2,
            failed_flushes: 10,
            power_cut: Some(random.up_to(150) as u64),
        });
    }
}

fn new_volume(seed: u64) -> (Device, Volume<Device>) {
    let device = Device::new(seed, SECTORS);
    let volume = Volume::open(device.clone()).expect("an empty device");
    (device, volume)
}

fn write(volume: &mut Volume<Device>, name: &str, bytes: &[u8]) {
    let id = volume.create(name).expect("a new file");
    assert_eq!(volume.append(id, bytes), Ok(bytes.len()));
    volume.close(id).expect("it is open");
}

#[test]
fn a_removed_file_stays_for_its_handles_and_then_gives_its_blocks_back() {
    let (_, mut volume) = new_volume(1);
    let room = volume.free_bytes();
    write(&mut volume, "a", &[7; 100_000]);
    let id = volume.open_file("a").expect("it is there");
    volume.remove("a").expect("it is there");
    volume.commit().expect("no fault");
    let rest = vec![8; volume.free_bytes() as usize];
    write(&mut volume, "b", &rest);
    assert_eq!(read_open(&volume, id), Ok(vec![7; 100_000]));
    // The rest of its last block.
    assert_eq!(volume.append(id, &[7; 100_000]), Ok(2400));
    assert_eq!(volume.append(id, &[7; 100_000]), Err(Error::Full));
    assert_eq!(read_open(&volume, id), Ok(vec![7; 102_400]));
    volume.close(id).expect("it is open");
    assert_eq!(volume.len(id), Err(Error::Closed));
    assert_eq!(volume.close(id), Err(Error::Closed));
    volume.remove("b").expect("it is there");
    assert_eq!(volume.free_bytes(), room);
    // All of it, though no commit has freed it.
    write(&mut volume, "c", &vec![9; room as usize]);
    assert_eq!(volume.free_bytes(), 0);
}

#[test]
fn files_that_grow_side_by_side_have_few_extents() {
    let device = Device::new(1, 64 << 10);
    let mut volume = Volume::open(device).expect("an empty device");
    let ids = ["a", "b"].map(|name| volume.create(name).expect("a new file"));
    for _ in 0..1000 {
        for id in ids {
            assert_eq!(volume.append(id, &[1; 5000]), Ok(5000));
        }
    }
    // An append would make a request for each extent.
    let mut buffer = vec![0; 1 << 20];
    let (mut reads, mut at) = (0, 0);
    while let count @ 1.. = volume.read_at(ids[0], at, &mut buffer).expect("no fault") {
        at += count as u64;
        reads += 1;
    }
    assert_eq!(at, 5_000_000);
    assert!(reads < 60, "{reads} reads");
}

#[test]
fn the_disk_of_the_store_keeps_the_contract_of_all_disks() {
    let device = Device::new(1, SECTORS);
    let disk = files::Files::open(device.clone()).expect("an empty device");
    contract::check_contract(&disk).expect("no fault");
    let mut log = disk.create("log").expect("a new file");
    log.append_all(&[7; 1000]).expect("there is room");
    log.sync().expect("no fault");
    log.append_all(&[7; 1000]).expect("there is room");
    drop(disk);
    device.cut_power();
    drop(log);
    device.restart();
    let disk = files::Files::open(device.clone()).expect("it was synced");
    assert_eq!(disk.open("log").and_then(|log| log.len()).ok(), Some(1000));
    device.set_faults(Faults { failed_flushes: 100, ..Faults::default() });
    disk.remove("log").expect("it is there");
    assert!(disk.sync_names().is_err());
    device.set_faults(Faults::default());
    let kind = |result: std::io::Result<()>| result.err().map(|error| error.kind());
    assert_eq!(kind(disk.sync_names()), Some(std::io::ErrorKind::Other));
    let other = Device::new(1, SECTORS);
    other.damage(5, 5);
    assert_eq!(kind(files::Files::open(other).map(drop)), Some(std::io::ErrorKind::InvalidData));
}

#[test]
fn names_are_one_part_of_a_path() {
    let (_, mut volume) = new_volume(1);
    for name in ["", ".", "..", "a/b", "a\0", &"n".repeat(256)] {
        assert_eq!(volume.create(name), Err(Error::InvalidName), "{name:?}");
    }
    let longest = "n".repeat(255);
    write(&mut volume, &longest, b"1");
    assert_eq!(volume.create(&longest), Err(Error::AlreadyExists));
    assert_eq!(volume.rename(&longest, "a/b"), Err(Error::InvalidName));
    assert_eq!(volume.rename("b", "c"), Err(Error::NotFound));
    assert_eq!(volume.remove("b"), Err(Error::NotFound));
    assert_eq!(volume.open_file("b"), Err(Error::NotFound));
}

#[test]
fn a_table_that_is_full_refuses_names_and_can_be_read() {
    let (device, mut volume) = new_volume(1);
    let name = |number: usize| format!("{number:0>200}");
    let mut count = 0;
    let error = loop {
        match volume.create(&name(count)) {
            Ok(id) => volume.close(id).expect("it is open"),
            Err(error) => break error,
        }
        count += 1;
    };
    assert_eq!(error, Error::Full);
    assert!(count > 500, "{count} files");
    volume.commit().expect("the table fits");
    drop(volume);
    let mut volume = Volume::open(device).expect("it was committed");
    assert_eq!(volume.names().count(), count);
    volume.remove(&name(0)).expect("it is there");
    assert!(volume.create(&name(0)).is_ok());
}

#[test]
fn a_file_that_is_cut_by_whole_sectors_goes_on_with_what_is_left() {
    let (_, mut volume) = new_volume(1);
    let id = volume.create("a").expect("a new file");
    let bytes: Vec<_> = (0..5000_u32).map(|at| (at / 7) as u8).collect();
    assert_eq!(volume.append(id, &bytes), Ok(5000));
    volume.truncate(id, 5000 - 3 * SECTOR as u64).expect("it is shorter");
    assert_eq!(volume.append(id, b"more"), Ok(4));
    let expected = [&bytes[..5000 - 3 * SECTOR], b"more"].concat();
    assert_eq!(read_open(&volume, id), Ok(expected));
}

#[test]
fn a_first_commit_that_was_interrupted_is_made_again() {
    for seed in 0..2000 {
        let device = Device::new(seed, 1024);
        // The last requests are those of the commit.
        device.set_faults(Faults { power_cut: Some(3 + seed % 2), ..Faults::default() });
        assert!(matches!(Volume::open(device.clone()).err(), Some(Error::Device(_))));
        device.restart();
        assert!(Volume::open(device).is_ok(), "seed {seed}");
    }
}

#[test]
fn a_device_with_something_else_is_refused() {
    for sector in [0, 3, TABLE / SECTOR, TABLE / SECTOR + 1, 2 * TABLE / SECTOR - 1] {
        let device = Device::new(1, SECTORS);
        device.damage(sector, 9);
        assert_eq!(Volume::open(device).err(), Some(Error::NoVolume), "sector {sector}");
    }
    assert_eq!(Volume::open(Device::new(1, 1000)).err(), Some(Error::TooSmall));
}

#[test]
fn a_damaged_table_leaves_the_one_before() {
    let (device, mut volume) = new_volume(1);
    write(&mut volume, "a", b"one");
    volume.commit().expect("no fault");
    write(&mut volume, "b", b"two");
    volume.commit().expect("no fault");
    drop(volume);
    // The third commit is in the second place.
    device.damage(TABLE / SECTOR, 50);
    let mut volume = Volume::open(device.clone()).expect("the table of the second commit");
    assert_eq!(contents(&mut volume).map(|files| files.into_keys().collect()), Ok(vec!["a".to_owned()]));
    drop(volume);
    device.damage(0, 50);
    assert_eq!(Volume::open(device).err(), Some(Error::NoVolume));
}

#[test]
fn a_larger_device_has_more_room_and_a_smaller_one_is_refused() {
    let (device, mut volume) = new_volume(1);
    write(&mut volume, "a", b"one");
    volume.commit().expect("no fault");
    let room = volume.free_bytes();
    drop(volume);
    device.enlarge(2 * SECTORS);
    let mut volume = Volume::open(device.clone()).expect("a larger device");
    assert_eq!(volume.free_bytes(), room + (SECTORS * SECTOR) as u64);
    let rest = vec![2; volume.free_bytes() as usize];
    write(&mut volume, "b", &rest);
    volume.commit().expect("no fault");
    drop(volume);
    let smaller = Device::new(1, SECTORS);
    let mut sectors = vec![0; SECTORS * SECTOR];
    device.read(0, &mut sectors).expect("no fault");
    smaller.write(0, &sectors).expect("no fault");
    assert_eq!(Volume::open(smaller).err(), Some(Error::Damaged("the volume is larger than its device")));
}

#[test]
fn after_a_commit_that_failed_all_changes_fail_until_the_volume_is_opened_again() {
    let (device, mut volume) = new_volume(1);
    write(&mut volume, "a", b"one");
    volume.commit().expect("no fault");
    write(&mut volume, "b", b"two");
    device.set_faults(Faults { failed_flushes: 100, ..Faults::default() });
    assert!(matches!(volume.commit(), Err(Error::Device(_))));
    device.set_faults(Faults::default());
    assert_eq!(volume.commit(), Err(Error::Failed));
    assert_eq!(volume.create("c"), Err(Error::Failed));
    assert_eq!(volume.remove("a"), Err(Error::Failed));
    assert_eq!(volume.rename("a", "c"), Err(Error::Failed));
    let id = volume.open_file("a").expect("it is there");
    assert_eq!(volume.append(id, b"x"), Err(Error::Failed));
    assert_eq!(volume.truncate(id, 0), Err(Error::Failed));
    assert_eq!(read(&mut volume, "a"), Ok(b"one".to_vec()));
    drop(volume);
    let mut volume = Volume::open(device).expect("no fault any more");
    assert_eq!(read(&mut volume, "a"), Ok(b"one".to_vec()));
    volume.remove("a").expect("it is there");
    volume.commit().expect("no fault any more");
}
