//! The requests of a block device, and the cores that wait for them.

use super::queue::{Queue, REQUESTS, Request};
use crate::cores::{self, Core};
use crate::devices::{Buffers, Counters};
use alloc::sync::Arc;
use core::mem;
use xkernel_files::BlockError;

/// How a request and its buffer stand.
#[derive(Clone, Copy)]
enum Slot {
    /// Nothing uses the buffer.
    Free,
    /// A call uses the buffer.
    Claimed,
    /// The device uses the buffer. The number is that of its queue.
    Begun(u16, Request),
    /// The device is done, and the call uses the buffer again.
    Done(Result<(), BlockError>),
}

/// The slots of a device.
pub(super) struct Slots {
    queue: Queue,
    counters: Arc<Counters>,
    slots: [Slot; REQUESTS],
    /// The cores that wait, a bit each, without those that were woken.
    waiting: u64,
    /// The core that the device interrupts.
    receiver: Option<usize>,
    /// The device does not answer, or answers what it was not asked.
    is_broken: bool,
}

impl Slots {
    pub fn new(queue: Queue) -> Self {
        let counters = queue.counters();
        let slots = [Slot::Free; REQUESTS];
        Self { queue, counters, slots, waiting: 0, receiver: None, is_broken: false }
    }

    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    pub fn set_broken(&mut self) {
        self.is_broken = true;
    }

    /// Claims a free slot.
    pub fn claim(&mut self) -> Option<usize> {
        let slot = self.slots.iter().position(|slot| matches!(slot, Slot::Free))?;
        self.slots[slot] = Slot::Claimed;
        Some(slot)
    }

    /// Hands the request of a claimed slot to the device.
    ///
    /// # Safety
    ///
    /// The buffer is that of the slot. It is not accessed until the slot is [`done`](Self::done).
    pub unsafe fn begin(&mut self, slot: usize, request: Request, buffer: &mut [u8]) {
        // SAFETY: the caller's promise; `poll` accesses the buffer when the device is done.
        let number = unsafe { self.queue.begin(request, buffer) };
        self.slots[slot] = Slot::Begun(number, request);
    }

    /// Returns how the request of a slot went, if the device is done.
    pub fn done(&self, slot: usize) -> Option<Result<(), BlockError>> {
        if let Slot::Done(result) = self.slots[slot] { Some(result) } else { None }
    }

    /// Frees a slot.
    pub fn free(&mut self, slot: usize) {
        self.slots[slot] = Slot::Free;
    }

    /// Notes what the device has done. Returns true if there was something.
    pub fn poll(&mut self, buffers: &Buffers) -> bool {
        let mut has_news = false;
        while let Some(number) = self.queue.done()
            && !self.is_broken
        {
            has_news = true;
            let begun = |(at, slot): (usize, &Slot)| match *slot {
                Slot::Begun(begun, request) if begun == number => Some((at, request)),
                _ => None,
            };
            let Some((at, request)) = self.slots.iter().enumerate().find_map(begun) else {
                self.is_broken = true;
                break;
            };
            // SAFETY: the device is done with the buffer, and no call uses it while the slot is
            // begun.
            let buffer = unsafe { buffers.buffer(at) };
            // SAFETY: the slot has kept the request, whose buffer this is.
            self.slots[at] = Slot::Done(unsafe { self.queue.end(number, request, buffer) });
        }
        has_news
    }
}

/// Which cores wait. The device interrupts one of them, the receiver.
impl Slots {
    /// Makes a core one of those that wait. It must look once more before it halts.
    pub fn enter(&mut self, core: &Core) {
        self.waiting |= 1 << core.index();
        if self.receiver.is_none() {
            self.receiver = Some(core.index());
            self.counters.interrupt_core(core.index());
        }
    }

    /// Makes a core none of those that wait. Returns true if it was the receiver: another one must
    /// be woken to become it.
    pub fn leave(&mut self, core: &Core) -> bool {
        self.waiting &= !(1 << core.index());
        self.receiver.take_if(|receiver| *receiver == core.index()).is_some()
    }

    /// Returns true if a core that waits must look: it was woken, or the device is done with
    /// something.
    pub fn has_news(&self, core: &Core) -> bool {
        self.waiting & 1 << core.index() == 0 || self.queue.done().is_some()
    }

    /// Returns the cores that wait, and are to be woken now.
    pub fn take_waiting(&mut self, without: &Core) -> Woken {
        let own = self.waiting & 1 << without.index();
        Woken(mem::replace(&mut self.waiting, own) & !own)
    }
}

/// Cores that are to be woken, a bit each.
#[must_use]
pub(super) struct Woken(u64);

impl Woken {
    pub const NONE: Self = Self(0);

    pub fn wake(self) {
        cores::all().iter().filter(|core| self.0 & 1 << core.index() != 0).for_each(Core::wake);
    }
}
