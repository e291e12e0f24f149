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
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A disk in memory that fails by seed. Clones are the same disk.
#[derive(Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
    /// The start of the disk after which this handle is used.
    start: u64,
}

/// A lock of a [`SimulatedDisk`].
pub struct SimulatedLock {
    /// The handle that has locked the name.
    disk: SimulatedDisk,
    name: String,
}

/// A file of a [`SimulatedDisk`].
pub struct SimulatedFile {
    /// The handle that has opened the file.
    disk: SimulatedDisk,
    number: Number,
}

struct State {
    random: Random,
    faults: Faults,
    names: Names,
    files: BTreeMap<Number, Inode>,
    next_number: Number,
    locked: BTreeSet<String>,
    has_power: bool,
    /// The process that uses the disk was killed.
    is_killed: bool,
    /// Starts so far: handles from before the last one are unusable.
    starts: u64,
    operations: u64,
}

/// What a read or write does.
enum Transfer {
    /// Transfers at most this number of bytes.
    UpTo(usize),
    /// Fails after this number of bytes.
    Fails(usize, io::Error),
}

fn io_error() -> io::Error {
    io::Error::other("the simulated disk has failed")
}

fn no_power() -> io::Error {
    io::Error::other("the simulated disk has no power")
}

fn killed() -> io::Error {
    io::Error::other("the process that used the simulated disk was killed")
}

impl State {
    /// Returns true if operations fail, as nothing runs that could make them.
    fn is_stopped(&self) -> bool {
        !self.has_power || self.is_killed
    }

    /// Begins an operation of a handle from after `start`.
    fn begin(&mut self, start: u64) -> io::Result<()> {
        if !self.has_power {
            return Err(no_power());
        }
        if self.is_killed || start != self.starts {
            return Err(killed());
        }
        let number = self.operations;
        self.operations += 1;
        if self.faults.power_cut == Some(number) {
            self.has_power = false;
            return Err(no_power());
        }
        if self.faults.kill == Some(number) {
            self.is_killed = true;
            return Err(killed());
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
        let was_stopped = self.is_stopped();
        if let Err(error) = self.begin(start) {
            // Of the operation that is cut off, some was done.
            let is_cut_off = !was_stopped && self.is_stopped();
            return Transfer::Fails(if is_cut_off { self.random.up_to(len) } else { 0 }, error);
        }
        if self.random.percent(self.faults.interrupted) {
            return Transfer::Fails(0, io::ErrorKind::Interrupted.into());
        }
        if self.random.percent(self.faults.errors) {
            return Transfer::Fails(self.random.up_to(len), io_error());
        }
        let is_short = self.random.percent(self.faults.short);
        Transfer::UpTo(if is_short { 1 + self.random.up_to(len - 1) } else { len })
    }

    /// Returns the bytes that still fit on the disk.
    fn room(&self) -> usize {
        let Some(capacity) = self.faults.capacity else { return usize::MAX };
        let is_used = |number, file: &Inode| file.handles > 0 || self.names.lead_to(number);
        let used = self.files.iter().filter(|&(&number, file)| is_used(number, file));
        let used: usize = used.map(|(_, file)| file.len()).sum();
        (capacity as usize).saturating_sub(used)
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
        let state = State {
            random: Random::new(seed),
            faults: Faults::default(),
            names: Names::default(),
            files: BTreeMap::new(),
            next_number: 0,
            locked: BTreeSet::new(),
            has_power: true,
            is_killed: false,
            starts: 0,
            operations: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), start: 0 }
    }

    /// Sets the faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        let mut state = self.state();
        state.faults = faults;
        state.operations = 0;
    }

    /// Returns the number of operations since the faults were set.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Cuts the power: all operations fail until the disk is [started](Self::restart) again.
    pub fn cut_power(&self) {
        self.state().has_power = false;
    }

    /// Returns false after a power cut.
    pub fn has_power(&self) -> bool {
        self.state().has_power
    }

    /// Starts the disk again, with power and without faults. After a power cut, what was not synced
    /// is lost, or there in any part. Otherwise the program has been killed and the system has not:
    /// all that it wrote is there. Other clones, and files that were opened before, stay unusable.
    pub fn restart(&mut self) {
        let mut state = self.state();
        let State { random, names, files, has_power, .. } = &mut *state;
        if !*has_power {
            names.lose_power(random);
            files.values_mut().for_each(|file| file.lose_power(random));
        }
        state.has_power = true;
        state.is_killed = false;
        state.locked.clear();
        state.starts += 1;
        state.faults = Faults::default();
        state.files.values_mut().for_each(|file| file.handles = 0);
        state.forget_unnamed();
        let start = state.starts;
        drop(state);
        self.start = start;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation on names.
    fn begin(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        state.begin_whole(self.start)?;
        Ok(state)
    }

    /// Opens the contents of a file.
    fn file(&self, number: Number, mut state: MutexGuard<'_, State>) -> SimulatedFile {
        state.inode(number).handles += 1;
        SimulatedFile { disk: self.clone(), number }
    }
}

impl Disk for SimulatedDisk {
    type File = SimulatedFile;
    type Lock = SimulatedLock;

    fn lock(&self, name: &str) -> io::Result<SimulatedLock> {
        if self.begin()?.locked.insert(name.to_owned()) {
            return Ok(SimulatedLock { disk: self.clone(), name: name.to_owned() });
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn open(&self, name: &str) -> io::Result<SimulatedFile> {
        let state = self.begin()?;
        Ok(self.file(state.named(name)?, state))
    }

    fn create(&self, name: &str) -> io::Result<SimulatedFile> {
        let mut state = self.begin()?;
        if state.names.get(name).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if state.room() == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let number = state.next_number;
        state.next_number += 1;
        state.files.insert(number, Inode::default());
        state.names.change(vec![(name.to_owned(), Some(number))]);
        Ok(self.file(number, state))
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

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        // A restart has opened all locks of handles from before.
        if self.disk.start == state.starts {
            state.locked.remove(&self.name);
        }
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        // A restart has closed all files of handles from before.
        if self.disk.start == state.starts {
            state.inode(self.number).handles -= 1;
        }
    }
}

impl State {
    /// Returns the contents of an open file. They exist until the disk is started again.
    fn inode(&mut self, number: Number) -> &mut Inode {
        self.files.get_mut(&number).expect("an open file has contents")
    }
}

impl File for SimulatedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        if bytes.is_empty() {
            return Ok(0);
        }
        let room = state.room();
        let transfer = match state.begin_transfer(self.disk.start, bytes.len()) {
            Transfer::UpTo(_) if room == 0 => Transfer::Fails(0, io::ErrorKind::StorageFull.into()),
            transfer => transfer,
        };
        let (Transfer::UpTo(count) | Transfer::Fails(count, _)) = &transfer;
        let count = (*count).min(room);
        if count > 0 {
            state.inode(self.number).append(&bytes[..count]);
        }
        match transfer {
            Transfer::UpTo(_) => Ok(count),
            Transfer::Fails(_, error) => Err(error),
        }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        if buffer.is_empty() {
            return Ok(0);
        }
        match state.begin_transfer(self.disk.start, buffer.len()) {
            Transfer::Fails(_, error) => Err(error),
            Transfer::UpTo(most) => {
                let State { random, files, .. } = &mut *state;
                let inode = files.get_mut(&self.number).expect("an open file has contents");
                let contents = inode.read(random);
                let rest = usize::try_from(offset).ok().and_then(|offset| contents.get(offset..));
                let rest = rest.unwrap_or_default();
                let count = rest.len().min(most);
                buffer[..count].copy_from_slice(&rest[..count]);
                Ok(count)
            }
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.begin()?.inode(self.number).len() as u64)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut state = self.disk.begin()?;
        let inode = state.inode(self.number);
        match usize::try_from(len).ok().filter(|&len| len <= inode.len()) {
            Some(len) => {
                inode.truncate(len);
                Ok(())
            }
            None => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.begin()?;
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
