//! The names of a volume, and the handles of its files.

use crate::extents::{Extent, Extents, blocks_for};
use crate::free::FreeSpace;
use crate::table::{ENTRIES, entry_bytes};
use crate::{Blocks, Error};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// An open file of a [`Volume`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(u64);

/// Files on a block device.
pub struct Volume<B> {
    pub(crate) device: B,
    pub(crate) names: BTreeMap<String, FileId>,
    pub(crate) files: BTreeMap<FileId, Contents>,
    next_id: u64,
    pub(crate) free: FreeSpace,
    /// Given back since the last commit: the durable table may name them.
    pub(crate) freed: Vec<Extent>,
    /// Blocks of the volume, with those of the tables.
    pub(crate) blocks: u32,
    /// The number of the last commit.
    pub(crate) commit: u64,
    /// There is something that the durable table does not say.
    pub(crate) has_changed: bool,
    /// Contents were written that may not be durable.
    pub(crate) has_written: bool,
    /// A commit has failed: what is durable is not known.
    pub(crate) has_failed: bool,
}

/// The contents of a file.
#[derive(Default)]
pub(crate) struct Contents {
    pub extents: Extents,
    /// Bytes of the file.
    pub len: u64,
    /// The bytes of its last sector that are in use, or none if they were not read.
    pub tail: Vec<u8>,
    /// Open handles.
    handles: usize,
    /// It has no name: it goes with its last handle.
    is_removed: bool,
}

impl Contents {
    /// The contents of a file that is not open.
    pub fn new(extents: Extents, len: u64) -> Self {
        Self { extents, len, ..Self::default() }
    }

    /// Removes the blocks behind the end of the file, and returns them. No table has ever named
    /// them: a file is only cut by a commit.
    pub fn cut_reserve(&mut self) -> Vec<Extent> {
        self.extents.cut(blocks_for(self.len))
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_valid = (1..=255).contains(&name.len()) && !name.contains(['/', '\0']);
    if is_valid && name != "." && name != ".." { Ok(()) } else { Err(Error::InvalidName) }
}

impl<B: Blocks> Volume<B> {
    /// A volume without files.
    pub(crate) fn empty(device: B, blocks: u32) -> Self {
        Self {
            device,
            names: BTreeMap::new(),
            files: BTreeMap::new(),
            next_id: 0,
            free: FreeSpace::new(crate::FIRST_BLOCK, blocks),
            freed: Vec::new(),
            blocks,
            commit: 0,
            has_changed: true,
            has_written: false,
            has_failed: false,
        }
    }

    /// Adds a file. Returns false if the name is not valid, or used.
    pub(crate) fn add(&mut self, name: String, contents: Contents) -> bool {
        if check_name(&name).is_err() || self.names.contains_key(&name) {
            return false;
        }
        let id = FileId(self.next_id);
        self.next_id += 1;
        self.files.insert(id, contents);
        self.names.insert(name, id);
        true
    }

    /// Creates an empty file, and opens it.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](Error::AlreadyExists), [`InvalidName`](Error::InvalidName),
    /// [`Full`](Error::Full) or [`Failed`](Error::Failed).
    pub fn create(&mut self, name: &str) -> Result<FileId, Error> {
        self.check()?;
        check_name(name)?;
        if self.names.contains_key(name) {
            return Err(Error::AlreadyExists);
        }
        self.check_table(entry_bytes(name.len(), 0))?;
        self.add(name.to_owned(), Contents::default());
        self.has_changed = true;
        self.open_file(name)
    }

    /// Opens a file.
    ///
    /// # Errors
    ///
    /// [`NotFound`](Error::NotFound) if there is none of that name.
    pub fn open_file(&mut self, name: &str) -> Result<FileId, Error> {
        let id = *self.names.get(name).ok_or(Error::NotFound)?;
        self.contents_mut(id)?.handles += 1;
        Ok(id)
    }

    /// Closes a file: once for each time that it was opened.
    ///
    /// # Errors
    ///
    /// [`Closed`](Error::Closed) if it is not open.
    pub fn close(&mut self, id: FileId) -> Result<(), Error> {
        let contents = self.contents_mut(id)?;
        contents.handles -= 1;
        if contents.handles > 0 {
            return Ok(());
        }
        if contents.is_removed {
            self.forget(id);
            return Ok(());
        }
        contents.tail = Vec::new();
        let reserve = contents.cut_reserve();
        reserve.into_iter().for_each(|extent| self.free.give(extent));
        Ok(())
    }

    /// Renames a file. It replaces a file that has the new name, at once.
    ///
    /// # Errors
    ///
    /// [`NotFound`](Error::NotFound), [`InvalidName`](Error::InvalidName), [`Full`](Error::Full) or
    /// [`Failed`](Error::Failed).
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Error> {
        self.check()?;
        check_name(to)?;
        let id = *self.names.get(from).ok_or(Error::NotFound)?;
        if from == to {
            return Ok(());
        }
        self.check_table(to.len().saturating_sub(from.len()))?;
        self.names.remove(from);
        let replaced = self.names.insert(to.to_owned(), id);
        replaced.into_iter().for_each(|id| self.unname(id));
        self.has_changed = true;
        Ok(())
    }

    /// Removes a file. Its contents remain for those that have it open.
    ///
    /// # Errors
    ///
    /// [`NotFound`](Error::NotFound) or [`Failed`](Error::Failed).
    pub fn remove(&mut self, name: &str) -> Result<(), Error> {
        self.check()?;
        let id = self.names.remove(name).ok_or(Error::NotFound)?;
        self.unname(id);
        self.has_changed = true;
        Ok(())
    }

    /// Returns the names of all files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    fn unname(&mut self, id: FileId) {
        let Some(contents) = self.files.get_mut(&id) else { return };
        contents.is_removed = true;
        if contents.handles == 0 {
            self.forget(id);
        }
    }

    /// Drops the contents of a file without a name. Its blocks are free after the next commit.
    fn forget(&mut self, id: FileId) {
        if let Some(mut contents) = self.files.remove(&id) {
            self.freed.extend(contents.extents.cut(0));
            self.has_changed = true;
        }
    }

    /// Returns an open file.
    pub(crate) fn contents(&self, id: FileId) -> Result<&Contents, Error> {
        self.files.get(&id).filter(|contents| contents.handles > 0).ok_or(Error::Closed)
    }

    /// Returns a file that is open or about to be.
    pub(crate) fn contents_mut(&mut self, id: FileId) -> Result<&mut Contents, Error> {
        self.files.get_mut(&id).ok_or(Error::Closed)
    }

    /// Refuses changes after a commit that has failed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.has_failed { Err(Error::Failed) } else { Ok(()) }
    }

    /// Refuses what makes the table too long, by a number of bytes.
    pub(crate) fn check_table(&self, more: usize) -> Result<(), Error> {
        let runs = |id: &FileId| self.files.get(id).map_or(0, |contents| contents.extents.runs());
        let bytes = self.names.iter().map(|(name, id)| entry_bytes(name.len(), runs(id)));
        if bytes.sum::<usize>() + more <= ENTRIES { Ok(()) } else { Err(Error::Full) }
    }
}
