//! Readers.

use super::Result;
use alloc_crate::boxed::Box;
use alloc_crate::vec;
use alloc_crate::vec::Vec;

/// What gives bytes.
pub trait Read {
    /// Fills some of the buffer. Returns how much; 0 at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;

    /// Appends all that is left. Returns how many bytes that were.
    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> Result<usize> {
        super::copy(self, bytes).map(|count| count as usize)
    }

    /// Lends this reader.
    fn by_ref(&mut self) -> &mut Self
    where
        Self: Sized,
    {
        self
    }

    /// Reads what another one has after the end of this one.
    fn chain<R: Read>(self, next: R) -> Chain<Self, R>
    where
        Self: Sized,
    {
        Chain { first: Some(self), next }
    }

    /// Reads up to a number of bytes.
    fn take(self, limit: u64) -> Take<Self>
    where
        Self: Sized,
    {
        Take { reader: self, left: limit }
    }
}

/// A reader with a buffer.
pub trait BufRead: Read {
    /// Returns what is in the buffer, which is filled if it is empty; nothing at the end.
    fn fill_buf(&mut self) -> Result<&[u8]>;

    /// Notes that bytes of the buffer were used.
    fn consume(&mut self, count: usize);
}

impl<R: Read + ?Sized> Read for &mut R {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        (**self).read(buffer)
    }
}

impl<R: Read + ?Sized> Read for Box<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        (**self).read(buffer)
    }
}

impl<R: BufRead + ?Sized> BufRead for &mut R {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        (**self).fill_buf()
    }

    fn consume(&mut self, count: usize) {
        (**self).consume(count);
    }
}

impl Read for &[u8] {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.len().min(buffer.len());
        let (taken, rest) = self.split_at(count);
        buffer[..count].copy_from_slice(taken);
        *self = rest;
        Ok(count)
    }
}

impl BufRead for &[u8] {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        Ok(self)
    }

    fn consume(&mut self, count: usize) {
        *self = &self[count..];
    }
}

/// Bytes with a place up to which they were read.
#[derive(Clone, Debug)]
pub struct Cursor<T> {
    bytes: T,
    at: usize,
}

impl<T> Cursor<T> {
    /// Begins at the start.
    pub fn new(bytes: T) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<T: AsRef<[u8]>> Read for Cursor<T> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = (&self.bytes.as_ref()[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

impl<T: AsRef<[u8]>> BufRead for Cursor<T> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        Ok(&self.bytes.as_ref()[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

/// Two readers after each other.
#[derive(Debug)]
pub struct Chain<A, B> {
    /// `None` after its end.
    first: Option<A>,
    next: B,
}

impl<A: Read, B: Read> Read for Chain<A, B> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if let Some(first) = &mut self.first {
            match first.read(buffer)? {
                0 if !buffer.is_empty() => self.first = None,
                count => return Ok(count),
            }
        }
        self.next.read(buffer)
    }
}

impl<A: BufRead, B: BufRead> BufRead for Chain<A, B> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        if let Some(first) = &mut self.first
            && first.fill_buf()?.is_empty()
        {
            self.first = None;
        }
        match &mut self.first {
            Some(first) => first.fill_buf(),
            None => self.next.fill_buf(),
        }
    }

    fn consume(&mut self, count: usize) {
        match &mut self.first {
            Some(first) => first.consume(count),
            None => self.next.consume(count),
        }
    }
}

/// The beginning of a reader.
#[derive(Debug)]
pub struct Take<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Take<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let count = self.reader.read(&mut buffer[..most])?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// A reader that gets a buffer.
#[derive(Debug)]
pub struct BufReader<R> {
    reader: R,
    buffer: Box<[u8]>,
    /// What is filled and was not used.
    unused: core::ops::Range<usize>,
}

impl<R: Read> BufReader<R> {
    /// Reads with a buffer of this size.
    pub fn with_capacity(capacity: usize, reader: R) -> Self {
        Self { reader, buffer: vec![0; capacity].into_boxed_slice(), unused: 0..0 }
    }
}

impl<R: Read> Read for BufReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for BufReader<R> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        if self.unused.is_empty() {
            self.unused = 0..self.reader.read(&mut self.buffer)?;
        }
        Ok(&self.buffer[self.unused.clone()])
    }

    fn consume(&mut self, count: usize) {
        self.unused.start += count;
    }
}
