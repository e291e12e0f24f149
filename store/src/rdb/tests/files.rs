//! Files that are written are read as they were.

use super::super::{RdbError, RdbErrorKind, RdbReader, RdbWriter, Record, RecordView, dump, restore};
use super::{contents, small_values, values};
use crate::value::{CompactLimits, Value};
use std::io::{self, Read, Write};

/// Returns a file with all values.
fn file() -> Vec<u8> {
    file_of(&values())
}

/// Returns a file with these values, in two databases. Every third key expires.
pub(super) fn file_of(values: &[Value]) -> Vec<u8> {
    let mut writer = RdbWriter::new(Vec::new());
    writer.origin(1_700_000_000_000).unwrap();
    for (number, value) in values.iter().enumerate() {
        writer.select(number % 2 * 5).unwrap();
        if number < 2 {
            writer.sizes(10, 3).unwrap();
        }
        let expires_at = number.is_multiple_of(3).then_some(number as u64 + 77);
        writer.record(format!("key:{number}").as_bytes(), value, expires_at).unwrap();
    }
    writer.finish().unwrap()
}

/// Reads a whole file. Returns the number of its records.
pub(super) fn read_all(file: impl Read) -> Result<usize, RdbError> {
    let mut reader = RdbReader::new(file)?;
    let (mut record, mut count) = (Record::default(), 0);
    while reader.next(&mut record)? {
        record.value(&CompactLimits::default())?;
        count += 1;
    }
    Ok(count)
}

/// What a record has: database, key, expiry, seconds without access, type, value and its offset.
type Parts = (u64, Vec<u8>, Option<u64>, Option<u64>, u8, Vec<u8>, u64);

fn parts(record: &RecordView<'_>) -> Parts {
    let (key, bytes) = (record.key.to_vec(), record.bytes.to_vec());
    (record.database, key, record.expires_at, record.idle_seconds, record.code, bytes, record.offset)
}

/// Reads a whole file, and copies all records. Returns them, and what is wrong.
pub(super) fn read_copied(file: impl Read) -> (Vec<Parts>, String) {
    let mut records = Vec::new();
    let read = || {
        let (mut reader, mut record) = (RdbReader::new(file)?, Record::default());
        while reader.next(&mut record)? {
            records.push(parts(&record.view()));
        }
        Ok::<_, RdbError>(())
    };
    let error = read().map_or_else(|error| error.to_string(), |()| String::new());
    (records, error)
}

/// The same, but only records that are not in the buffer as a whole are copied.
pub(super) fn read_in_place(file: impl Read) -> (Vec<Parts>, String) {
    let mut records = Vec::new();
    let read = || {
        let mut reader = RdbReader::new(file)?;
        while let Some(record) = reader.next_in_place()? {
            records.push(parts(&record));
        }
        Ok::<_, RdbError>(())
    };
    let error = read().map_or_else(|error| error.to_string(), |()| String::new());
    (records, error)
}

#[test]
fn records_in_the_buffer_are_those_that_are_copied() {
    let file = file();
    let expected = read_copied(&file[..]);
    assert_eq!((expected.0.len(), &*expected.1), (values().len(), ""));
    assert_eq!(read_in_place(&file[..]), expected);
    // Pieces of records end anywhere.
    assert_eq!(read_in_place(Trickle(&file)), expected);
    let small = file_of(&small_values());
    (0..small.len()).for_each(|end| assert_eq!(read_in_place(&small[..end]), read_copied(&small[..end])));
}

/// Passes on a few bytes at a time.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(7);
        self.0.read(&mut buffer[..count])
    }
}

#[test]
fn all_values_come_back_from_a_file() {
    let file = file();
    let mut reader = RdbReader::new(Trickle(&file)).unwrap();
    let mut record = Record::default();
    for (number, value) in values().iter().enumerate() {
        assert!(reader.next(&mut record).unwrap());
        assert_eq!(record.key, format!("key:{number}").into_bytes());
        assert_eq!(record.database as usize, number % 2 * 5);
        assert_eq!(record.expires_at, number.is_multiple_of(3).then_some(number as u64 + 77));
        let read = record.value(&CompactLimits::default()).unwrap().unwrap();
        assert_eq!(contents(&read), contents(value), "{number}");
    }
    assert!(!reader.next(&mut record).unwrap());
    assert!(!reader.next(&mut record).unwrap(), "the end stays the end");
    assert_eq!(reader.offset(), file.len() as u64);
}

#[test]
fn all_values_come_back_from_a_dump() {
    for value in values() {
        let dumped = dump(&value);
        let restored = restore(&dumped, &CompactLimits::default()).unwrap();
        assert_eq!(contents(&restored), contents(&value));
        let mut wrong = dumped.clone();
        wrong[0] ^= 1;
        let error = restore(&wrong, &CompactLimits::default()).unwrap_err();
        assert!(matches!(error.kind, RdbErrorKind::Checksum { .. }), "{error}");
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    let mut file = file();
    let at = file.len() / 2;
    file[at] ^= 0x10;
    // It changes a value, or is found in its encoding.
    assert!(read_all(&file[..]).is_err());
    // A checksum of zeros says that there is none.
    file[at] ^= 0x10;
    let end = file.len() - 8;
    file[end..].fill(0);
    assert_eq!(read_all(&file[..]).unwrap(), values().len());
}

#[test]
fn a_file_that_is_cut_off_is_refused_at_its_end() {
    let file = file_of(&small_values());
    let ends = (0..200).chain((200..file.len()).step_by(file.len() / 40));
    for end in ends {
        let error = read_all(&file[..end]).unwrap_err();
        assert!(matches!(error.kind, RdbErrorKind::Truncated), "{end}: {error}");
        assert!(error.offset <= end as u64, "{end}: {error}");
    }
}

/// Refuses bytes after some.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_the_output_is_never_forgotten() {
    let values = values();
    let mut writer = RdbWriter::new(Full(100_000));
    let mut failed = false;
    for value in values.iter().chain(&values) {
        let result = writer.record(b"key", value, None);
        assert!(!failed || result.is_err());
        failed |= result.is_err();
    }
    assert!(failed);
    assert_eq!(writer.finish().err().map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
}
