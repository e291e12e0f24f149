//! Reads a file, record by record.

use super::codes::{
    AUX, END, EXPIRY_MS, EXPIRY_SECONDS, FREQUENCY, FUNCTION, FUNCTION_OLD, IDLE, MODULE_AUX, NEWEST_VERSION,
    RESIZE, SELECT,
};
use super::extent::{check_type, pass_value};
use super::file_input::FileInput;
use super::in_place;
use super::input::{Bytes, Input, Pass};
use super::record::RecordView;
use super::{RdbError, RdbErrorKind, Record};
use std::io::Read;
use std::mem;

/// The first bytes of a file, before the version in four digits.
const SIGNATURE: &[u8; 5] = b"REDIS";
/// The first version with a checksum.
const FIRST_CHECKED: u32 = 5;
/// The most hints of sizes that are kept between two records.
const MOST_HINTS: usize = 1024;

/// How many keys a database has, as a file says. It may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizeHint {
    pub(crate) database: u64,
    pub(crate) keys: u64,
}

/// Reads a file from its start to its end. Any bytes are read or refused; memory grows only with
/// the bytes that are there.
///
/// ```
/// use xtasking_store::rdb::{RdbReader, Record, RdbWriter};
/// use xtasking_store::value::{CompactLimits, StringValue, Value};
///
/// let mut writer = RdbWriter::new(Vec::new());
/// writer.select(3)?;
/// writer.record(b"key", &Value::String(StringValue::new(b"value")), None)?;
/// let file = writer.finish()?;
///
/// let mut reader = RdbReader::new(&file[..])?;
/// let mut record = Record::default();
/// while reader.next(&mut record)? {
///     assert_eq!((record.database, &record.key[..]), (3, &b"key"[..]));
///     let value = record.value(&CompactLimits::default())?;
///     assert!(matches!(value, Some(Value::String(_))));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RdbReader<R> {
    stream: FileInput<R>,
    version: u32,
    database: u64,
    functions: u64,
    hints: Vec<SizeHint>,
    /// The last record that was copied.
    copied: Record,
    has_ended: bool,
}

impl<R: Read> RdbReader<R> {
    /// Begins to read a file.
    ///
    /// # Errors
    ///
    /// If the file does not begin as one does, or its version is not known.
    pub fn new(reader: R) -> Result<Self, RdbError> {
        let mut stream = FileInput::new(reader);
        let no_signature = |stream: &FileInput<R>| RdbError::new(stream.offset(), RdbErrorKind::NoSignature);
        if stream.array()? != *SIGNATURE {
            return Err(no_signature(&stream));
        }
        let digits: [u8; 4] = stream.array()?;
        let version = std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok());
        let version: u32 = version.ok_or_else(|| no_signature(&stream))?;
        if !(1..=NEWEST_VERSION.into()).contains(&version) {
            return Err(RdbError::new(stream.offset(), RdbErrorKind::Version(version)));
        }
        let (hints, copied) = (Vec::new(), Record::default());
        Ok(Self { stream, version, database: 0, functions: 0, hints, copied, has_ended: false })
    }

    /// Returns the offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.stream.offset()
    }

    /// Returns how many libraries of functions were skipped.
    pub fn skipped_functions(&self) -> u64 {
        self.functions
    }

    /// Returns true if sizes of databases were read and not taken yet.
    #[inline]
    pub(crate) fn has_hints(&self) -> bool {
        !self.hints.is_empty()
    }

    /// Takes what was read of the sizes of databases.
    pub(crate) fn take_hints(&mut self) -> Vec<SizeHint> {
        mem::take(&mut self.hints)
    }

    /// Returns what follows the file.
    pub(crate) fn into_rest(self) -> impl Read {
        self.stream.into_rest()
    }

    /// Reads the next record. It is copied only if it is not in the buffer as a whole. Returns
    /// `None` at the end, as [`next`](Self::next) does.
    pub(crate) fn next_in_place(&mut self) -> Result<Option<RecordView<'_>>, RdbError> {
        let buffered = self.stream.buffered();
        if let Some(place) = in_place::find(buffered).filter(|_| !self.has_ended) {
            let start = self.stream.offset();
            let bytes = self.stream.pass_in_place(place.len());
            return Ok(Some(place.view(self.database, bytes, start)));
        }
        let mut record = mem::take(&mut self.copied);
        let is_there = self.next(&mut record);
        self.copied = record;
        Ok(is_there?.then(|| self.copied.view()))
    }

    /// Reads the next record into `record`, whose buffers are used again. Returns false at the end,
    /// when the checksum is right.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is malformed, or has what the store does not have.
    pub fn next(&mut self, record: &mut Record) -> Result<bool, RdbError> {
        if self.has_ended {
            return Ok(false);
        }
        (record.expires_at, record.idle_seconds) = (None, None);
        loop {
            self.stream.copy_mut().clear();
            match self.stream.byte()? {
                EXPIRY_SECONDS => record.expires_at = Some(of_seconds(self.stream.array()?)),
                EXPIRY_MS => record.expires_at = Some(of_ms(self.stream.array()?)),
                IDLE => record.idle_seconds = Some(self.stream.length()?),
                // The store has no policy that would need it.
                FREQUENCY => drop(self.stream.byte()?),
                SELECT => self.database = self.stream.length()?,
                RESIZE => {
                    let (keys, _expiring) = (self.stream.length()?, self.stream.length()?);
                    if self.hints.len() < MOST_HINTS {
                        self.hints.push(SizeHint { database: self.database, keys });
                    }
                }
                AUX => {
                    self.stream.pass_string()?;
                    self.stream.pass_string()?;
                }
                FUNCTION => {
                    self.stream.pass_string()?;
                    self.functions += 1;
                }
                FUNCTION_OLD => return Err(self.unsupported("a function of a candidate of Redis 7.0")),
                MODULE_AUX => return Err(self.unsupported("data of a module")),
                END => return self.end(),
                code => return self.read_record(code, record).map(|()| true),
            }
        }
    }

    fn unsupported(&self, what: &'static str) -> RdbError {
        let kind = RdbErrorKind::Unsupported { what, key: Box::default() };
        RdbError::new(self.stream.offset(), kind)
    }

    fn read_record(&mut self, code: u8, record: &mut Record) -> Result<(), RdbError> {
        let start = self.stream.offset();
        self.stream.copy_mut().clear();
        self.stream.pass_string()?;
        record.key.clear();
        record.key.extend_from_slice(&Input::new(self.stream.copy_mut(), start).string()?);
        record.database = self.database;
        record.code = code;
        record.offset = self.stream.offset();
        check_type(code, &record.key, record.offset)?;
        self.stream.copy_mut().clear();
        pass_value(code, &mut self.stream)?;
        std::mem::swap(&mut record.bytes, self.stream.copy_mut());
        Ok(())
    }

    /// Checks the checksum. A file may say that it has none.
    fn end(&mut self) -> Result<bool, RdbError> {
        self.has_ended = true;
        if self.version >= FIRST_CHECKED {
            let computed = self.stream.checksum();
            let stored = u64::from_le_bytes(self.stream.array()?);
            if stored != 0 && stored != computed {
                let kind = RdbErrorKind::Checksum { computed, stored };
                return Err(RdbError::new(self.stream.offset(), kind));
            }
        }
        Ok(false)
    }
}

/// A time in ms since 1970, which may be before.
pub(super) fn of_ms(at: [u8; 8]) -> u64 {
    u64::try_from(i64::from_le_bytes(at)).unwrap_or(0)
}

/// The same in seconds.
pub(super) fn of_seconds(at: [u8; 4]) -> u64 {
    u64::try_from(i32::from_le_bytes(at)).unwrap_or(0) * 1000
}

impl<R> std::fmt::Debug for RdbReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RdbReader").field("version", &self.version).finish_non_exhaustive()
    }
}
