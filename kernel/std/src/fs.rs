//! Files, of which there are none: each function fails with [`ErrorKind::Unsupported`].
//!
//! [`ErrorKind::Unsupported`]: io::ErrorKind::Unsupported

use crate::io::{self, Read, Write};
use crate::path::Path;
use alloc_crate::string::String;
use alloc_crate::vec::Vec;
use core::convert::Infallible;

/// A file, which is never there.
#[derive(Debug)]
pub struct File(Infallible);

/// How a file is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions(());

fn unsupported<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this machine has no files"))
}

impl File {
    /// Fails.
    pub fn open(_: impl AsRef<Path>) -> io::Result<Self> {
        unsupported()
    }

    /// Fails.
    pub fn create(_: impl AsRef<Path>) -> io::Result<Self> {
        unsupported()
    }

    /// Begins to open a file, which fails.
    pub fn options() -> OpenOptions {
        OpenOptions(())
    }

    /// Never runs.
    pub fn sync_all(&self) -> io::Result<()> {
        match self.0 {}
    }
}

impl OpenOptions {
    /// Changes nothing.
    pub fn write(&mut self, _: bool) -> &mut Self {
        self
    }

    /// Changes nothing.
    pub fn create_new(&mut self, _: bool) -> &mut Self {
        self
    }

    /// Fails.
    pub fn open(&self, _: impl AsRef<Path>) -> io::Result<File> {
        unsupported()
    }
}

impl Read for File {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl Write for File {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

/// Fails.
pub fn read(_: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    unsupported()
}

/// Fails.
pub fn read_to_string(_: impl AsRef<Path>) -> io::Result<String> {
    unsupported()
}

/// Fails.
pub fn rename(_: impl AsRef<Path>, _: impl AsRef<Path>) -> io::Result<()> {
    unsupported()
}

/// Fails.
pub fn remove_file(_: impl AsRef<Path>) -> io::Result<()> {
    unsupported()
}
