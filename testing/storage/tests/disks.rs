//! Both disks keep the same contract, as long as nothing fails.

mod contract;

use contract::{check_contract, kind};
use std::io::ErrorKind;
use xtasking_storage::{Directory, Disk, Faults, File, SimulatedDisk};

#[test]
fn both_disks_keep_the_contract() {
    check_contract(&SimulatedDisk::new(1)).unwrap();
    let path = std::env::temp_dir().join(format!("xtasking-storage-{}", std::process::id()));
    // What a killed run of the same number has left.
    _ = std::fs::remove_dir_all(&path);
    check_contract(&Directory::open(&path).unwrap()).unwrap();
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn a_name_with_several_parts_is_refused() {
    let disk = Directory::open(std::env::temp_dir()).unwrap();
    for name in ["", ".", "..", "a/b", "/a"] {
        assert_eq!(kind(disk.create(name)), Some(ErrorKind::InvalidInput), "{name:?}");
    }
}

#[test]
fn each_fault_comes_as_it_was_asked_for() {
    let mut disk = SimulatedDisk::new(7);
    let mut file = disk.create("file").unwrap();
    disk.set_faults(Faults { capacity: Some(10), ..Faults::default() });
    assert_eq!(file.append(&[1; 20]).unwrap(), 10);
    assert_eq!(kind(file.append(&[1; 20])), Some(ErrorKind::StorageFull));
    disk.set_faults(Faults { short: 100, ..Faults::default() });
    let mut bytes = [0; 10];
    assert!((0..100).any(|_| file.read_at(0, &mut bytes).unwrap() < 10));
    file.read_exact_at(0, &mut bytes).unwrap();
    disk.set_faults(Faults { interrupted: 100, ..Faults::default() });
    assert_eq!(kind(file.read_at(0, &mut bytes)), Some(ErrorKind::Interrupted));
    disk.set_faults(Faults { errors: 100, ..Faults::default() });
    assert!(file.append(&[1]).is_err() && disk.list().is_err() && file.sync().is_err());
    disk.set_faults(Faults { failed_syncs: 100, ..Faults::default() });
    assert!(file.sync().is_err() && disk.sync_names().is_err());
    assert!(disk.list().is_ok());
    disk.set_faults(Faults { power_cut: Some(1), ..Faults::default() });
    assert!(file.len().is_ok());
    assert!(file.len().is_err() && !disk.has_power() && disk.list().is_err());
    assert_eq!(disk.operations(), 2);
    let old = disk.clone();
    disk.restart();
    assert!(disk.list().is_ok());
    assert!(file.len().is_err(), "it was opened before the power cut");
    assert!(old.list().is_err(), "the program that had it has ended");
    disk.set_faults(Faults { kill: Some(1), ..Faults::default() });
    assert!(disk.list().is_ok());
    assert!(disk.list().is_err() && disk.list().is_err() && disk.has_power());
}

#[test]
fn a_kill_leaves_what_was_written() {
    let mut disk = SimulatedDisk::new(7);
    let mut file = disk.create("file").unwrap();
    disk.set_faults(Faults { kill: Some(1), ..Faults::default() });
    file.append_all(b"written").unwrap();
    assert!(file.sync().is_err());
    disk.restart();
    let mut text = [0; 7];
    disk.open("file").unwrap().read_exact_at(0, &mut text).unwrap();
    assert_eq!(&text, b"written");
}

#[test]
fn a_removed_file_takes_room_until_it_is_closed() {
    let disk = SimulatedDisk::new(7);
    let (mut kept, mut removed) = (disk.create("kept").unwrap(), disk.create("removed").unwrap());
    disk.sync_names().unwrap();
    disk.set_faults(Faults { capacity: Some(10), ..Faults::default() });
    removed.append_all(&[1; 10]).unwrap();
    disk.remove("removed").unwrap();
    assert_eq!(kind(kept.append(&[1])), Some(ErrorKind::StorageFull));
    assert_eq!(kind(disk.create("new")), Some(ErrorKind::StorageFull));
    drop(removed);
    kept.append_all(&[1; 10]).unwrap();
    assert_eq!(kind(kept.append(&[1])), Some(ErrorKind::StorageFull));
}

#[test]
fn a_directory_is_created_with_its_parents() {
    let path = std::env::temp_dir().join(format!("xtasking-storage-parents-{}", std::process::id()));
    // What a killed run of the same number has left.
    _ = std::fs::remove_dir_all(&path);
    let inner = path.join("a").join("b");
    Directory::open(&inner).unwrap().create("file").unwrap();
    assert_eq!(Directory::open(&inner).unwrap().list().unwrap(), ["file"]);
    assert!(Directory::open(inner.join("file")).is_err(), "it is a file");
    std::fs::remove_dir_all(path).unwrap();
}
