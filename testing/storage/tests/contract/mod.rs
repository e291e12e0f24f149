//! What each disk does, as long as nothing fails.

use std::io::{self, ErrorKind};
use xtasking_storage::{Disk, File};

/// Returns the kind of an error, if it is one.
pub fn kind<T>(result: io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

/// Checks an empty disk.
pub fn check_contract(disk: &impl Disk) -> io::Result<()> {
    assert_eq!(disk.list()?, [""; 0]);
    assert_eq!(kind(disk.open("a")), Some(ErrorKind::NotFound));
    let mut a = disk.create("a")?;
    assert_eq!(kind(disk.create("a")), Some(ErrorKind::AlreadyExists));
    assert!(a.is_empty()?);
    assert_eq!(a.append(b"")?, 0);
    a.append_all(b"hello, ")?;
    a.append_all(b"world")?;
    assert_eq!(a.len()?, 12);
    let mut word = [0; 5];
    a.read_exact_at(7, &mut word)?;
    assert_eq!(&word, b"world");
    assert_eq!(kind(a.read_exact_at(8, &mut word)), Some(ErrorKind::UnexpectedEof));
    assert_eq!(a.read_at(12, &mut word)?, 0);
    assert_eq!(a.read_at(1 << 40, &mut word)?, 0);
    assert_eq!(kind(a.truncate(13)), Some(ErrorKind::InvalidInput));
    a.truncate(5)?;
    a.append_all(b"!")?;
    a.sync()?;
    let mut text = [0; 6];
    disk.open("a")?.read_exact_at(0, &mut text)?;
    assert_eq!(&text, b"hello!");
    disk.create("b")?.append_all(b"new")?;
    assert_eq!(disk.list()?, ["a", "b"]);
    disk.rename("b", "a")?;
    disk.sync_names()?;
    assert_eq!(disk.list()?, ["a"]);
    assert_eq!(disk.open("a")?.len()?, 3);
    // The old file is there for the handle that has it open.
    a.read_exact_at(0, &mut text)?;
    assert_eq!(kind(disk.rename("b", "c")), Some(ErrorKind::NotFound));
    assert_eq!(kind(disk.remove("b")), Some(ErrorKind::NotFound));
    disk.remove("a")?;
    assert_eq!(disk.list()?, [""; 0]);
    let lock = disk.lock("lock")?;
    assert_eq!(kind(disk.lock("lock")), Some(ErrorKind::WouldBlock));
    drop(lock);
    disk.lock("lock").map(drop)
}
