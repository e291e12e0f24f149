//! What a durable program asks of a disk.

use std::io;

/// A flat directory of files.
///
/// A file that is synced may still be without a name after a power cut: its creation, renaming and
/// removal are durable after [`sync_names`](Self::sync_names).
pub trait Disk: Send + Sync {
    /// A file of this disk.
    type File: File;

    /// What holds a lock of this disk until it is dropped.
    type Lock: Send + 'static;

    /// Locks a name, so that no other process uses the same files.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the name is locked, or an error of the disk.
    fn lock(&self, name: &str) -> io::Result<Self::Lock>;

    /// Opens a file.
    ///
    /// # Errors
    ///
    /// [`NotFound`](io::ErrorKind::NotFound) if there is none of that name, or an error of the
    /// disk.
    fn open(&self, name: &str) -> io::Result<Self::File>;

    /// Creates an empty file.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if there is one of that name, or an error of
    /// the disk.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Renames a file. A file that has the new name is replaced: at any moment, and after a power
    /// cut, the name is that of one of them.
    ///
    /// # Errors
    ///
    /// [`NotFound`](io::ErrorKind::NotFound) if there is none of the old name, or an error of the
    /// disk.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Handles that have it open may still read it.
    ///
    /// # Errors
    ///
    /// [`NotFound`](io::ErrorKind::NotFound) if there is none of that name, or an error of the
    /// disk.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Returns the names of all files, in order.
    ///
    /// # Errors
    ///
    /// An error of the disk.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes the names of files durable.
    ///
    /// # Errors
    ///
    /// An error of the disk. The names may be lost then, even if a later call succeeds.
    fn sync_names(&self) -> io::Result<()>;
}

/// A file of a [`Disk`]. It is written at its end.
pub trait File: Send {
    /// Appends some of the bytes, and returns how many: at least one, unless `bytes` is empty. A
    /// write that fails may have been made in part.
    ///
    /// # Errors
    ///
    /// [`Interrupted`](io::ErrorKind::Interrupted) if nothing was written and the call may be
    /// repeated, [`StorageFull`](io::ErrorKind::StorageFull), or another error of the disk.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Reads some of the bytes from `offset` on, and returns how many. It is 0 only at the end of
    /// the file, or if `buffer` is empty: a short read says nothing.
    ///
    /// # Errors
    ///
    /// [`Interrupted`](io::ErrorKind::Interrupted) if the call may be repeated, or an error of the
    /// disk.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Returns the length in bytes.
    ///
    /// # Errors
    ///
    /// An error of the disk.
    fn len(&self) -> io::Result<u64>;

    /// Cuts the file to a length that is not greater than its own.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is greater, or an error of the disk.
    fn truncate(&mut self, len: u64) -> io::Result<()>;

    /// Makes durable what was written.
    ///
    /// # Errors
    ///
    /// An error of the disk. What was written since the last success may be lost then, *even if a
    /// later call succeeds*: the kernel forgets what it could not write.
    ///
    /// Stop, and recover. A recovery reads the cache, which may have what the disk has not, also
    /// after a restart of the process. So write what was recovered to a new file: to sync the old
    /// one once more is not enough.
    fn sync(&mut self) -> io::Result<()>;

    /// Returns true if the file is empty.
    ///
    /// # Errors
    ///
    /// As for [`len`](Self::len).
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Appends all bytes.
    ///
    /// # Errors
    ///
    /// As for [`append`](Self::append), except for interruptions. Some of the bytes may have been
    /// written.
    fn append_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.append(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Fills the buffer with the bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends before that, or an error of
    /// the disk.
    fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(offset, buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    offset += count as u64;
                    buffer = &mut buffer[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
