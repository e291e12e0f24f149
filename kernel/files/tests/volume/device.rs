//! A block device in memory that fails by seed.

use crate::random::Random;
use std::sync::{Arc, Mutex, MutexGuard};
use xkernel_files::{BlockError, Blocks, SECTOR};

type Sector = [u8; SECTOR];

/// How often the device fails. The default is never.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// Requests that fail, in percent. A write may have been made in part.
    pub errors: u8,
    /// Flushes that fail, in percent. They lose some of the sectors.
    pub failed_flushes: u8,
    /// The request in which the power is cut, counted from now on.
    pub power_cut: Option<u64>,
}

/// A block device in memory. Clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Mutex<State>>);

struct State {
    random: Random,
    faults: Faults,
    requests: u64,
    has_power: bool,
    /// What is read.
    cached: Vec<Sector>,
    durable: Vec<Sector>,
    /// Written since the last flush, in order.
    pending: Vec<(usize, Sector)>,
    /// A flush has failed to write these, which are read until the cache drops them.
    lost: Vec<usize>,
}

impl Device {
    /// A device full of zeros.
    pub fn new(seed: u64, sectors: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            random: Random::new(seed),
            faults: Faults::default(),
            requests: 0,
            has_power: true,
            cached: vec![[0; SECTOR]; sectors],
            durable: vec![[0; SECTOR]; sectors],
            pending: Vec::new(),
            lost: Vec::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panics within")
    }

    /// Sets the faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        let mut state = self.state();
        state.faults = faults;
        state.requests = 0;
    }

    pub fn cut_power(&self) {
        self.state().has_power = false;
    }

    pub fn has_power(&self) -> bool {
        self.state().has_power
    }

    /// Begins again, without faults. After a power cut, any part of what was not flushed is lost.
    pub fn restart(&self) {
        let mut state = self.state();
        if !state.has_power {
            state.write_some();
            state.cached = state.durable.clone();
            state.lost.clear();
        }
        state.has_power = true;
        state.faults = Faults::default();
    }

    /// Changes a byte, as a fault of the medium does.
    pub fn damage(&self, sector: usize, byte: usize) {
        let mut state = self.state();
        state.durable[sector][byte] ^= 0x40;
        state.cached[sector][byte] ^= 0x40;
    }

    /// Adds sectors.
    pub fn enlarge(&self, sectors: usize) {
        let mut state = self.state();
        state.cached.resize(sectors, [0; SECTOR]);
        state.durable.resize(sectors, [0; SECTOR]);
    }
}

impl State {
    /// Begins a request. Returns true if the power is cut in its midst.
    fn begin(&mut self, sector: u64, bytes: usize) -> Result<bool, BlockError> {
        if !self.has_power {
            return Err(BlockError::NoAnswer);
        }
        let end = sector as usize + bytes / SECTOR;
        if !bytes.is_multiple_of(SECTOR) || end > self.cached.len() {
            return Err(BlockError::OutOfRange);
        }
        let number = self.requests;
        self.requests += 1;
        self.has_power = self.faults.power_cut != Some(number);
        Ok(!self.has_power)
    }

    fn fails(&mut self) -> bool {
        let percent = self.faults.errors;
        self.random.percent(percent)
    }

    /// Writes some of the pending sectors, in any order, and some of these in part.
    fn write_some(&mut self) {
        let kept = [0, 50, 90, 100][self.random.up_to(3)];
        let mut pending = std::mem::take(&mut self.pending);
        while !pending.is_empty() {
            let (sector, bytes) = pending.swap_remove(self.random.up_to(pending.len() - 1));
            if !self.random.percent(kept) {
                continue;
            }
            let (from, to) = match self.random.percent(20) {
                true => (self.random.up_to(SECTOR), self.random.up_to(SECTOR)),
                false => (0, SECTOR),
            };
            let part = from.min(to)..from.max(to);
            self.durable[sector][part.clone()].copy_from_slice(&bytes[part]);
        }
    }

    fn drop_lost(&mut self) {
        for sector in std::mem::take(&mut self.lost) {
            if self.pending.iter().any(|&(pending, _)| pending == sector) {
                continue;
            }
            if self.random.percent(25) {
                self.cached[sector] = self.durable[sector];
            } else {
                self.lost.push(sector);
            }
        }
    }
}

impl Blocks for Device {
    fn sectors(&self) -> u64 {
        self.state().cached.len() as u64
    }

    fn read(&self, sector: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        let mut state = self.state();
        if state.begin(sector, buffer.len())? || state.fails() {
            return Err(BlockError::Failed);
        }
        state.drop_lost();
        for (at, bytes) in buffer.chunks_exact_mut(SECTOR).enumerate() {
            bytes.copy_from_slice(&state.cached[sector as usize + at]);
        }
        Ok(())
    }

    fn write(&self, sector: u64, bytes: &[u8]) -> Result<(), BlockError> {
        let mut state = self.state();
        let fails = state.begin(sector, bytes.len())? || state.fails();
        for (at, bytes) in bytes.chunks_exact(SECTOR).enumerate() {
            if fails && state.random.percent(50) {
                continue;
            }
            let at = sector as usize + at;
            let bytes = bytes.try_into().expect("a whole sector");
            state.cached[at] = bytes;
            state.pending.push((at, bytes));
        }
        if fails { Err(BlockError::Failed) } else { Ok(()) }
    }

    fn flush(&self) -> Result<(), BlockError> {
        let mut state = self.state();
        let is_cut = state.begin(0, 0)?;
        let percent = state.faults.failed_flushes;
        if is_cut || state.random.percent(percent) {
            let mut lost = state.pending.iter().map(|&(sector, _)| sector).collect();
            state.lost.append(&mut lost);
            state.write_some();
            return Err(BlockError::Failed);
        }
        let state = &mut *state;
        for (sector, bytes) in state.pending.drain(..) {
            state.durable[sector] = bytes;
        }
        Ok(())
    }
}
