//! Reads lengths and strings from a file, and computes its checksum.

use super::checksum::Checksum;
use super::input::{Bytes, Pass};
use super::{RdbError, RdbErrorKind};
use std::io::{self, Cursor, Read};

/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// A file that is read from its start to its end.
pub(super) struct FileInput<R> {
    reader: R,
    buffer: Box<[u8]>,
    /// The bytes of the buffer that are not passed on yet.
    start: usize,
    end: usize,
    /// The offset of the buffer's first byte.
    offset: u64,
    /// The bytes of the buffer that are in the checksum.
    summed: usize,
    checksum: Checksum,
    /// What was passed on since this was cleared.
    copy: Vec<u8>,
}

impl<R: Read> FileInput<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: vec![0; PIECE].into(),
            start: 0,
            end: 0,
            offset: 0,
            summed: 0,
            checksum: Checksum::new(),
            copy: Vec::new(),
        }
    }

    /// Returns the copy of all that was read since it was cleared.
    pub(super) fn copy_mut(&mut self) -> &mut Vec<u8> {
        &mut self.copy
    }

    /// Returns the checksum of all that was read.
    pub(super) fn checksum(&mut self) -> u64 {
        self.sum();
        self.checksum.value()
    }

    fn sum(&mut self) {
        self.checksum.update(&self.buffer[self.summed..self.start]);
        self.summed = self.start;
    }

    /// Reads on when the buffer is empty.
    fn fill(&mut self) -> Result<(), RdbError> {
        if self.start < self.end {
            return Ok(());
        }
        self.sum();
        self.offset += self.end as u64;
        (self.start, self.end, self.summed) = (0, 0, 0);
        self.end = loop {
            match self.reader.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(RdbError::new(self.offset, RdbErrorKind::Io(error))),
                Ok(0) => return Err(RdbError::new(self.offset, RdbErrorKind::Truncated)),
                Ok(count) => break count,
            }
        };
        Ok(())
    }

    /// Returns the bytes that were read and not passed on.
    pub(super) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Passes bytes of the buffer on without a copy, and returns them.
    pub(super) fn pass_in_place(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.start += count;
        &self.buffer[start..self.start]
    }

    /// Returns what follows.
    pub(super) fn into_rest(self) -> impl Read {
        Cursor::new(self.buffered().to_vec()).chain(self.reader)
    }
}

impl<R: Read> Pass for FileInput<R> {
    /// Only copies them. The copy grows with what is really there.
    fn pass(&mut self, mut count: u64) -> Result<(), RdbError> {
        while count > 0 {
            self.fill()?;
            let here = count.min((self.end - self.start) as u64) as usize;
            self.copy.extend_from_slice(&self.buffer[self.start..self.start + here]);
            self.start += here;
            count -= here as u64;
        }
        Ok(())
    }
}

impl<R: Read> Bytes for FileInput<R> {
    fn offset(&self) -> u64 {
        self.offset + self.start as u64
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RdbError> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            self.fill()?;
            *byte = self.buffer[self.start];
            self.start += 1;
        }
        self.copy.extend_from_slice(&bytes);
        Ok(bytes)
    }
}
