//! Writes a file, in pieces.

use super::checksum::Checksum;
use super::codes::{AUX, END, RESIZE, SELECT, VERSION};
use super::encode::{Sink, put_count, put_record, put_string};
use crate::server::REDIS_VERSION;
use crate::value::ValueRef;
use std::fmt;
use std::io::{self, Write};

/// Bytes that are collected before they are written.
const PIECE: usize = 64 * 1024;

/// Writes a file. A large value is written in pieces as well, so that the writer's memory is
/// bounded. [`RdbReader`](super::RdbReader) has an example.
pub struct RdbWriter<W> {
    output: Output<W>,
    database: Option<usize>,
}

/// What is written, with its checksum. The first error ends all writing.
struct Output<W> {
    inner: W,
    buffer: Vec<u8>,
    checksum: Checksum,
    written: u64,
    error: Option<io::Error>,
}

impl<W: Write> Output<W> {
    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.inner.write_all(&self.buffer).err();
        }
        self.checksum.update(&self.buffer);
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
    }

    /// Returns the first error.
    fn check(&self) -> io::Result<()> {
        match &self.error {
            None => Ok(()),
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }
}

impl<W: Write> Sink for Output<W> {
    fn put(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE) {
            if self.buffer.len() + piece.len() > PIECE {
                self.flush();
            }
            self.buffer.extend_from_slice(piece);
        }
    }
}

impl<W: Write> RdbWriter<W> {
    /// Begins a file. Errors are those of the calls that follow.
    pub fn new(inner: W) -> Self {
        let checksum = Checksum::new();
        let mut output = Output { inner, buffer: Vec::new(), checksum, written: 0, error: None };
        output.put(format!("REDIS{VERSION:04}").as_bytes());
        Self { output, database: None }
    }

    /// Writes the fields with which Redis begins its files, at this time in ms since 1970.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub fn origin(&mut self, now: u64) -> io::Result<()> {
        self.field("redis-ver", REDIS_VERSION)?;
        self.field("redis-bits", &usize::BITS.to_string())?;
        self.field("ctime", &(now / 1000).to_string())?;
        self.field("aof-base", "0")
    }

    /// Writes a field that says something of the file.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub fn field(&mut self, name: &str, value: &str) -> io::Result<()> {
        self.output.put(&[AUX]);
        put_string(&mut self.output, name.as_bytes());
        put_string(&mut self.output, value.as_bytes());
        self.output.check()
    }

    /// Says to which database the following records belong.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub fn select(&mut self, database: usize) -> io::Result<()> {
        if self.database != Some(database) {
            self.database = Some(database);
            self.output.put(&[SELECT]);
            put_count(&mut self.output, database);
        }
        self.output.check()
    }

    /// Says how many keys the database has, and how many of them expire: about, as a hint.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub fn sizes(&mut self, keys: usize, expiring: usize) -> io::Result<()> {
        self.output.put(&[RESIZE]);
        put_count(&mut self.output, keys);
        put_count(&mut self.output, expiring);
        self.output.check()
    }

    /// Writes a key with its value, and when it expires in ms since 1970.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub fn record<'v>(
        &mut self,
        key: &[u8],
        value: impl Into<ValueRef<'v>>,
        expires_at: Option<u64>,
    ) -> io::Result<()> {
        put_record(&mut self.output, key, value.into(), expires_at);
        self.output.check()
    }

    /// Writes records of a database that are bytes already.
    pub(crate) fn append(&mut self, database: usize, records: &[u8]) -> io::Result<()> {
        self.select(database)?;
        self.output.put(records);
        self.output.check()
    }

    /// Ends the file, and returns the output. It is the caller's to sync it.
    ///
    /// # Errors
    ///
    /// If the output refuses, now or before.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.put(&[END]);
        self.output.flush();
        let checksum = self.output.checksum.value();
        self.output.put(&checksum.to_le_bytes());
        self.output.flush();
        self.output.check()?;
        self.output.inner.flush()?;
        Ok(self.output.inner)
    }
}

impl<W> fmt::Debug for RdbWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RdbWriter").field("database", &self.database).finish_non_exhaustive()
    }
}
