//! The machine's block device, by calls that wait.

use super::queue::{BUFFER, DATA, Queue, REQUESTS, Request};
use super::slots::{Slots, Woken};
use super::transfer::{Part, Transfer};
use crate::devices::{self, Buffers, DeviceError, DeviceKind, Doorbells};
use crate::lock::SpinLock;
use crate::{Machine, clock, cores};
use alloc::sync::Arc;
use core::fmt;
use xkernel_files::{BlockError, Blocks, SECTOR};

/// Nanoseconds after which a device that does not answer counts as broken.
const ANSWER_TIME: u64 = 120_000_000_000;

/// The machine's block device.
///
/// A call halts its core until the device has done what was asked. Several cores may call at a
/// time. Dropping it resets the device, and [`take`](Self::take) returns it again.
pub struct BlockDevice {
    /// Dropped first: the device then no longer uses the buffers.
    slots: SpinLock<Slots>,
    /// One for each slot.
    buffers: Buffers,
    doorbells: Arc<Doorbells>,
    sectors: u64,
    is_read_only: bool,
    has_cache: bool,
}

impl BlockDevice {
    /// Finds the machine's block device, and starts it.
    ///
    /// # Errors
    ///
    /// If the machine has none, it is taken already, or it does not work as it should.
    pub fn take(_: &Machine) -> Result<Self, DeviceError> {
        let queue = Queue::new(devices::take(DeviceKind::Block)?)?;
        Ok(Self {
            buffers: Buffers::new(REQUESTS, BUFFER),
            doorbells: queue.doorbells(),
            sectors: queue.sectors()?,
            is_read_only: queue.is_read_only(),
            has_cache: queue.has_cache(),
            slots: SpinLock::new(Slots::new(queue)),
        })
    }

    fn check(&self, sector: u64, bytes: usize) -> Result<(), BlockError> {
        let end = sector.checked_add((bytes / SECTOR) as u64);
        let is_inside = end.is_some_and(|end| end <= self.sectors);
        if is_inside && bytes.is_multiple_of(SECTOR) { Ok(()) } else { Err(BlockError::OutOfRange) }
    }

    /// Makes all parts of a transfer, which follow each other on the device.
    fn transfer<'a>(&self, mut sector: u64, parts: impl Iterator<Item = Part<'a>>) -> Result<(), BlockError> {
        let mut transfer = Transfer::new(self);
        for part in parts {
            let sectors = part.bytes() / SECTOR;
            transfer.add(sector, part)?;
            sector += sectors as u64;
        }
        transfer.end()
    }

    /// Claims a slot, and waits for one if need be.
    pub(super) fn claim(&self) -> Result<usize, BlockError> {
        self.wait(|slots| if slots.is_broken() { None } else { slots.claim() })
    }

    /// Claims a slot if one is free.
    pub(super) fn try_claim(&self) -> Option<usize> {
        self.slots.with(Slots::claim)
    }

    /// Hands a part of a transfer to the device, in a slot that the caller has claimed.
    pub(super) fn begin(&self, slot: usize, sector: u64, part: &Part<'_>) {
        let (kind, bytes) = (part.kind(), part.bytes());
        // SAFETY: the slot is claimed for this call, so neither the device nor another call uses
        // its buffer.
        let buffer = unsafe { self.buffers.buffer(slot) };
        if let Part::Write(data) = part {
            buffer[..bytes].copy_from_slice(data);
        }
        self.slots.with(|slots| {
            // SAFETY: this call does not access the buffer before `finish` has seen the slot done.
            unsafe { slots.begin(slot, Request { kind, sector, bytes }, buffer) };
            // Within the lock, so that what other cores have prepared is complete.
            self.doorbells.ring();
        });
    }

    /// Waits for a part of a transfer that has begun, and frees its slot.
    pub(super) fn finish(&self, slot: usize, part: Part<'_>) -> Result<(), BlockError> {
        let result = self.wait(|slots| slots.done(slot))?;
        if let (Part::Read(data), Ok(())) = (part, result) {
            // SAFETY: the device is done, and the slot is still that of this call.
            let buffer = unsafe { self.buffers.buffer(slot) };
            data.copy_from_slice(&buffer[..data.len()]);
        }
        let woken = self.slots.with(|slots| {
            slots.free(slot);
            slots.take_waiting(cores::own())
        });
        woken.wake();
        result
    }

    /// Halts this core until `look` returns something. It looks after each request that is done,
    /// and each slot that is freed.
    fn wait<R>(&self, mut look: impl FnMut(&mut Slots) -> Option<R>) -> Result<R, BlockError> {
        let core = cores::own();
        let limit = clock::now().saturating_add(ANSWER_TIME);
        loop {
            let (found, woken) = self.slots.with(|slots| {
                let has_news = slots.poll(&self.buffers);
                let found = look(slots).map(Ok).or_else(|| no_answer(slots, limit));
                let hands_over = if found.is_some() {
                    slots.leave(core)
                } else {
                    slots.enter(core);
                    false
                };
                (found, if has_news || hands_over { slots.take_waiting(core) } else { Woken::NONE })
            });
            woken.wake();
            if let Some(found) = found {
                return found;
            }
            // It may take a wake-up for a worker of this core. The worker does not sleep while its
            // task waits here, and looks at all that it has before it does.
            core.sleep_unless(Some(limit), || self.slots.with(|slots| slots.has_news(core)));
        }
    }
}

/// Returns an error if the device does not answer, and notes so.
fn no_answer<R>(slots: &mut Slots, limit: u64) -> Option<Result<R, BlockError>> {
    if clock::now() >= limit {
        slots.set_broken();
    }
    slots.is_broken().then_some(Err(BlockError::NoAnswer))
}

impl Blocks for BlockDevice {
    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn read(&self, sector: u64, buffer: &mut [u8]) -> Result<(), BlockError> {
        self.check(sector, buffer.len())?;
        self.transfer(sector, buffer.chunks_mut(DATA).map(Part::Read))
    }

    fn write(&self, sector: u64, bytes: &[u8]) -> Result<(), BlockError> {
        self.check(sector, bytes.len())?;
        if self.is_read_only {
            return Err(BlockError::ReadOnly);
        }
        self.transfer(sector, bytes.chunks(DATA).map(Part::Write))
    }

    /// Does nothing if the device has no cache: what it has written is durable.
    fn flush(&self) -> Result<(), BlockError> {
        self.transfer(0, self.has_cache.then_some(Part::Flush).into_iter())
    }
}

impl fmt::Debug for BlockDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockDevice").field("sectors", &self.sectors).finish_non_exhaustive()
    }
}
