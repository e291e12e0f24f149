//! The slots that no shard has, and when memory goes back to the system.
//!
//! A few batches of free slots move between shards as they are, by one pointer each. Further ones
//! are *sorted*: each slot goes to its [extent](super::extents), and memory without slots in use is
//! given back. While many slots are free, the pool is *sorting*: no batches are kept, and shards
//! keep no free slots, as one of them keeps a whole extent.

use super::extents::{Extents, Handful, Surplus, Usage};
use super::lists::{List, ListDepot};
use super::pages::Pages;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Below this number of free bytes memory is not given back.
const KEPT_BYTES: usize = 512 << 10;
/// Of the slots in use, the part of which as many free ones are kept: a quotient.
const KEPT_PART: usize = 8;
/// The pool is sorting, and a compaction pays, if the free slots are more than this part of those
/// in use.
const SPARSE_PART: usize = 4;

/// The slots and memory of [`Slots`](super::Slots) at one moment; approximate while shards are in
/// use, else exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotStats {
    /// Slots that are allocated.
    pub live: usize,
    /// Slots that were freed, or set aside for a shard, and can be allocated again.
    pub free: usize,
    /// Bytes of all regions.
    pub bytes: usize,
    /// Those of them that are intended for huge pages.
    pub huge_bytes: usize,
    /// Bytes of slots that were used and not given back to the system since.
    pub resident_bytes: usize,
}

/// What a shard gets.
pub(super) enum Supply {
    /// Linked slots.
    Batch(List),
    /// Slots of one word of bits, not linked yet.
    Handful(Handful),
    /// The first one and the number of slots that follow each other and were never used.
    Run(NonNull<u8>, usize),
}

/// The slots that no shard has.
pub(super) struct SlotPool {
    depot: ListDepot,
    extents: Extents,
    batch: usize,
    /// The most batches that are not sorted.
    unsorted_batches: usize,
    /// Free slots that are not given back, however few are in use.
    kept: usize,
    is_sorting: bool,
    is_compacting: bool,
    /// Slots sorted since the last compaction began.
    sorted: usize,
}

impl SlotPool {
    pub fn new(stride: usize, batch: usize, shards: usize) -> Self {
        Self {
            depot: ListDepot::new(batch),
            extents: Extents::new(stride),
            batch,
            unsorted_batches: 2 * shards,
            kept: KEPT_BYTES / stride,
            is_sorting: false,
            is_compacting: false,
            sorted: 0,
        }
    }

    /// Returns true if slots should not be kept at shards, but be put here.
    pub fn is_sorting(&self) -> bool {
        self.is_sorting
    }

    /// Returns the number of slots that were cut, and how many of them are free here.
    pub fn slots(&self) -> (usize, usize) {
        (self.extents.cut_slots(), self.depot.len() + self.extents.free_slots())
    }

    /// Returns the number of slots whose memory may be in use by the process.
    pub fn touched_slots(&self) -> usize {
        self.extents.touched_slots()
    }

    /// Slots in use, or set aside by shards.
    fn used(&self) -> usize {
        let (cut, free) = self.slots();
        cut - free
    }

    fn is_sparse(&self) -> bool {
        self.extents.free_slots() > self.used() / SPARSE_PART + 2 * self.kept
    }

    /// Begins or ends sorting.
    fn update_mode(&mut self) {
        if self.is_sorting {
            let few = self.used() / (2 * SPARSE_PART) + self.kept;
            self.is_sorting = self.extents.has_closed() || self.extents.free_slots() > few;
        } else if self.is_sparse() {
            self.is_sorting = true;
            while let Some(mut list) = self.depot.take() {
                while let Some(slot) = list.pop() {
                    self.extents.put(slot);
                }
            }
        }
    }

    /// Adds the slots of a region.
    pub fn add(&mut self, pages: Pages) {
        self.extents.add(pages);
    }

    /// Takes all regions out, each with the number of slots from its start on that may be in use.
    /// No slot is allocated or freed any more.
    pub fn take_regions(&mut self) -> impl Iterator<Item = (Pages, usize)> {
        self.extents.take_regions()
    }

    /// Takes up to `count` slots.
    pub fn take(&mut self, count: usize) -> Option<Supply> {
        if count == self.batch
            && let Some(list) = self.depot.take()
        {
            return Some(Supply::Batch(list));
        }
        if let Some(handful) = self.extents.take(count) {
            self.update_mode();
            return Some(Supply::Handful(handful));
        }
        if let Some((start, count)) = self.extents.cut(count) {
            return Some(Supply::Run(start, count));
        }
        // Closed extents are better used than more memory.
        self.extents.reopen_all();
        let handful = self.extents.take(count).map(Supply::Handful);
        self.update_mode();
        handful
    }

    /// Takes a single slot.
    pub fn take_one(&mut self) -> Option<NonNull<u8>> {
        match self.depot.take_one() {
            Some(slot) => Some(slot),
            None => match self.take(1)? {
                Supply::Batch(_) => unreachable!("the depot was empty"),
                Supply::Handful(handful) => handful.slots(self.extents.stride()).next(),
                Supply::Run(slot, _) => Some(slot),
            },
        }
    }

    /// Takes back linked slots, at most a batch.
    ///
    /// # Safety
    ///
    /// They are free, and of this pool.
    pub unsafe fn put(&mut self, mut list: List) {
        if !self.is_sorting && self.depot.len() < self.unsorted_batches * self.batch {
            // SAFETY: this function's contract.
            return unsafe { self.depot.put(list) };
        }
        while let Some(slot) = list.pop() {
            self.put_one(slot);
        }
    }

    /// Takes back a slot, which is free, and sorts it.
    pub fn put_one(&mut self, slot: NonNull<u8>) {
        self.extents.put(slot);
        self.sorted += 1;
        self.update_mode();
    }

    /// Takes out memory that has no slot in use, if enough other slots are free.
    pub fn take_surplus(&mut self) -> Option<Surplus> {
        self.extents.take_surplus(self.used() / KEPT_PART + self.kept)
    }

    /// Takes back memory that was taken out; `discarded` says whether it was given back.
    pub fn renew(&mut self, surplus: Surplus, discarded: bool) {
        self.extents.renew(surplus, discarded);
        self.update_mode();
    }

    /// Begins a compaction if it is worth while: many slots are free, and many were freed since the
    /// last one began. Returns false if not, or if one is under way.
    pub fn begin_compaction(&mut self) -> bool {
        let least = self.used() / KEPT_PART + self.kept;
        if self.is_compacting || !self.is_sorting || !self.is_sparse() || self.sorted < least {
            return false;
        }
        self.extents.reopen_all();
        (self.is_compacting, self.sorted) = (true, 0);
        true
    }

    /// Returns how the extents are used.
    pub fn usage(&self) -> Vec<Usage> {
        self.extents.usage()
    }

    /// Closes extents, so that a compaction can empty them. Returns true if any is closed then.
    pub fn close(&mut self, extents: impl Iterator<Item = Usage>) -> bool {
        self.extents.close(extents);
        self.update_mode();
        self.extents.has_closed()
    }

    /// Returns true if a compaction should empty the memory at this address.
    pub fn is_closed(&self, address: usize) -> bool {
        self.extents.is_closed(address)
    }

    /// Ends the compaction. What it has not emptied yet stays closed, as long as there is other
    /// memory.
    pub fn end_compaction(&mut self) {
        self.is_compacting = false;
    }
}

/// Chooses the extents that are worth emptying: all but the fullest, in which everything has room.
pub(super) fn sparse_extents(mut usage: Vec<Usage>, batch: usize) -> impl Iterator<Item = Usage> {
    usage.sort_unstable_by_key(|usage| core::cmp::Reverse(usage.used));
    let used: usize = usage.iter().map(|usage| usage.used as usize).sum();
    // Some are allocated meanwhile.
    let needed = used + used / 16 + 2 * batch;
    let mut room = 0;
    usage.into_iter().skip_while(move |usage| {
        let is_needed = room < needed;
        room += usage.len as usize;
        is_needed
    })
}
