//! Fuzzes files of Redis: any content is either read or refused with an error that says where, and
//! what was read is the same after it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use xtasking_store::rdb::{RdbError, RdbReader, Record, dump, restore};
use xtasking_store::value::{CompactLimits, ValueRef};

/// Reads a whole file.
fn read(file: &[u8]) -> Result<(), RdbError> {
    let limits = CompactLimits::default();
    let mut reader = RdbReader::new(file)?;
    let mut record = Record::default();
    while reader.next(&mut record)? {
        assert!(reader.offset() <= file.len() as u64);
        if let Some(value) = record.value(&limits)? {
            let dumped = dump(&value);
            let again = restore(&dumped, &limits).expect("a dump is restored");
            assert_eq!(ValueRef::from(&again).type_name(), ValueRef::from(&value).type_name());
            assert_eq!(dump(&again).len(), dumped.len());
        }
    }
    Ok(())
}

fuzz_target!(|file: &[u8]| {
    if let Err(error) = read(file) {
        assert!(error.offset <= file.len() as u64, "{error}");
    }
    // The checksum refuses nearly all.
    let _ = restore(file, &CompactLimits::default());
});
