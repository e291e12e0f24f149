//! A disk in memory that fails by seed.

mod faults;
mod inode;
mod names;
mod random;

pub use faults::Faults;

use super::{Disk, File};
use inode::Inode;
use names::{Names, Number};
use random::Random;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A disk in memory that fails by seed. Clones are the same disk.
#[derive(Clone)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

/// A file of a [`SimulatedDisk`].
pub struct SimulatedFile {
    disk: SimulatedDisk,
    number: Number,
    /// The start of the disk after which the file was opened.
    start: u64,
}

struct State {
    random: Random,
    faults: Faults,
    names: Names,
    files: BTreeMap<Number, Inode>,
    next_number: Number,
    has_power: bool,
    /// Starts so far: files that were opened before the last one are closed.
    starts: u64,
    operations: u64,
}

/// What a read or write does.
enum Transfer {
    /// At most so many bytes are transferred.
    Some(usize),
    /// It fails after so many bytes.
    Fails(usize, io::Error),
}

fn io_error() -> io::Error {
    io::Error::other("the simulated disk has failed")
}

fn no_power() -> io::Error {
    io::Error::other("the simulated disk has no power")
}

impl State {
    /// Begins an operation, of a file that was opened after `start`.
    fn begin(&mut self, start: u64) -> io::Result<()> {
        if !self.has_power || start != self.starts {
            return Err(no_power());
        }
        let number = self.operations;
        self.operations += 1;
        if self.faults.power_cut == Some(number) {
            self.has_power = false;
            return Err(no_power());
        }
        Ok(())
    }

    /// Begins an operation that does not transfer data.
    fn begin_whole(&mut self, start: u64) -> io::Result<()> {
        self.begin(start)?;
        if self.random.percent(self.faults.errors) { Err(io_error()) } else { Ok(()) }
    }

    /// Begins a transfer of `len` bytes, more than 0.
    fn begin_transfer(&mut self, start: u64, len: usize) -> Transfer {
        let had_power = self.has_power;
        if let Err(error) = self.begin(start) {
            // Of the operation in which the power is cut, some was done.
            let is_cut_now = had_power && !self.has_power;
            return Transfer::Fails(if is_cut_now { self.random.up_to(len) } else { 0 }, error);
        }
        if self.random.percent(self.faults.interrupted) {
            return Transfer::Fails(0, io::ErrorKind::Interrupted.into());
        }
        if self.random.percent(self.faults.errors) {
            return Transfer::Fails(self.random.up_to(len), io_error());
        }
        let is_short = self.random.percent(self.faults.short);
        Transfer::Some(if is_short { 1 + self.random.up_to(len - 1) } else { len })
    }

    /// Returns the bytes that still fit on the disk.
    fn room(&self) -> usize {
        let used: usize = self.files.values().map(|file| file.contents().len()).sum();
        self.faults.capacity.map_or(usize::MAX, |most| (most as usize).saturating_sub(used))
    }

    /// Removes the contents that no name leads to, and no program: all files are closed.
    fn forget_unnamed(&mut self) {
        let names = &self.names;
        self.files.retain(|&number, _| names.mention(number));
    }

    fn named(&self, name: &str) -> io::Result<Number> {
        self.names.get(name).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl SimulatedDisk {
    /// Creates an empty disk without [faults](Self::set_faults). The seed decides all that happens
    /// to it.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            random: Random::new(seed),
            faults: Faults::default(),
            names: Names::default(),
            files: BTreeMap::new(),
            next_number: 0,
            has_power: true,
            starts: 0,
            operations: 0,
        })))
    }

    /// Sets the faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        let mut state = self.lock();
        state.faults = faults;
        state.operations = 0;
    }

    /// Returns the number of operations since the faults were set.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Cuts the power: all operations fail until the disk is [started](Self::restart) again.
    pub fn cut_power(&self) {
        self.lock().has_power = false;
    }

    /// Returns false after a power cut.
    pub fn has_power(&self) -> bool {
        self.lock().has_power
    }

    /// Starts the disk again, with power and without faults. After a power cut, what was not synced
    /// is lost, or there in any part. Otherwise the program has been killed and the system has not:
    /// all that it wrote is there. Files that were opened before stay unusable.
    pub fn restart(&self) {
        let mut state = self.lock();
        let State { random, names, files, has_power, .. } = &mut *state;
        if !*has_power {
            names.lose_power(random);
            files.values_mut().for_each(|file| file.lose_power(random));
        }
        state.has_power = true;
        state.starts += 1;
        state.faults = Faults::default();
        state.forget_unnamed();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation on names.
    fn begin(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        let start = state.starts;
        state.begin_whole(start)?;
        Ok(state)
    }

    fn file(&self, number: Number, start: u64) -> SimulatedFile {
        SimulatedFile { disk: self.clone(), number, start }
    }
}

impl Disk for SimulatedDisk {
    type File = SimulatedFile;

    fn open(&self, name: &str) -> io::Result<SimulatedFile> {
        let state = self.begin()?;
        Ok(self.file(state.named(name)?, state.starts))
    }

    fn create(&self, name: &str) -> io::Result<SimulatedFile> {
        let mut state = self.begin()?;
        if state.names.get(name).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let number = state.next_number;
        state.next_number += 1;
        state.files.insert(number, Inode::default());
        state.names.change(vec![(name.to_owned(), Some(number))]);
        Ok(self.file(number, state.starts))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.begin()?;
        let number = state.named(from)?;
        if from != to {
            state.names.change(vec![(from.to_owned(), None), (to.to_owned(), Some(number))]);
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.begin()?;
        state.named(name)?;
        state.names.change(vec![(name.to_owned(), None)]);
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.begin()?.names.list())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.begin()?;
        let State { random, faults, names, .. } = &mut *state;
        if random.percent(faults.failed_syncs) {
            names.fail_to_sync(random);
            return Err(io_error());
        }
        names.sync();
        Ok(())
    }
}

impl SimulatedFile {
    /// Begins an operation that does not transfer data.
    fn begin(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.disk.lock();
        state.begin_whole(self.start)?;
        Ok(state)
    }
}

impl State {
    /// Returns the contents of an open file. They exist until all files are closed.
    fn inode(&mut self, number: Number) -> &mut Inode {
        self.files.get_mut(&number).expect("an open file has contents")
    }
}

impl File for SimulatedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.lock();
        if bytes.is_empty() {
            return Ok(0);
        }
        let room = state.room();
        let transfer = match state.begin_transfer(self.start, bytes.len()) {
            Transfer::Some(_) if room == 0 => Transfer::Fails(0, io::ErrorKind::StorageFull.into()),
            transfer => transfer,
        };
        let (Transfer::Some(count) | Transfer::Fails(count, _)) = &transfer;
        let count = (*count).min(room);
        if count > 0 {
            state.inode(self.number).append(&bytes[..count]);
        }
        match transfer {
            Transfer::Some(_) => Ok(count),
            Transfer::Fails(_, error) => Err(error),
        }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.disk.lock();
        if buffer.is_empty() {
            return Ok(0);
        }
        match state.begin_transfer(self.start, buffer.len()) {
            Transfer::Fails(_, error) => Err(error),
            Transfer::Some(most) => {
                let contents = state.inode(self.number).contents();
                let rest = usize::try_from(offset).ok().and_then(|offset| contents.get(offset..));
                let rest = rest.unwrap_or_default();
                let count = rest.len().min(most);
                buffer[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.begin()?.inode(self.number).contents().len() as u64)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut state = self.begin()?;
        let inode = state.inode(self.number);
        match usize::try_from(len).ok().filter(|&len| len <= inode.contents().len()) {
            Some(len) => {
                inode.truncate(len);
                Ok(())
            }
            None => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.begin()?;
        let State { random, faults, files, .. } = &mut *state;
        let inode = files.get_mut(&self.number).expect("an open file has contents");
        if random.percent(faults.failed_syncs) {
            inode.fail_to_sync(random);
            return Err(io_error());
        }
        inode.sync();
        Ok(())
    }
}
