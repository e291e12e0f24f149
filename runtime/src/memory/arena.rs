//! Bulk memory for objects of one size, such as the nodes of a tree.
//!
//! The memory is cut into *slots*. Every worker has a *shard*: a magazine of free slots, linked
//! through themselves, and a run of slots that were never used, which it hands out in order. Shards
//! exchange whole batches through a depot under one lock. So a worker that only frees supplies one
//! that only allocates. Threads without a shard use the depot directly. Regions are on huge pages
//! where there are any, since such objects are accessed at random. They stay until the whole is
//! dropped.

use super::forbidden;
use super::lists::{LINK_BYTES, ListDepot, ListMagazine};
use super::pages::{HUGE_PAGE, PageSource, Pages, Span, pages_or_fewer};
use crate::sync::{AtomicUsize, Padded, Relaxed, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

/// Bytes of the first region; each further one is twice as large.
const FIRST_REGION_BYTES: usize = HUGE_PAGE;
/// The largest size of a region in bytes.
const MAX_REGION_BYTES: usize = 64 << 20;
/// The largest alignment of slots in bytes.
const MAX_ALIGN: usize = 4096;
/// About how many bytes a shard takes from the depot at once.
const BATCH_BYTES: usize = 64 << 10;

/// The slots and memory of [`Slots`] at one moment; approximate while shards are in use, else
/// exact.
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
}

/// The part of one worker.
struct Shard {
    magazine: ListMagazine,
    /// The first slot of a run that was never used. Meaningless when there is none.
    fresh: Cell<NonNull<u8>>,
    /// The number of slots in the run. Atomic only so that other threads can read it.
    fresh_left: AtomicUsize,
}

// SAFETY: the cells are used only by the thread that uses the shard, one at a time by the contract
// of `alloc_on` and `free_on`. Other threads read only the atomic fields.
unsafe impl Sync for Shard {}
// SAFETY: the shard owns its slots, and memory may be used by any thread.
unsafe impl Send for Shard {}

impl Shard {
    /// Takes a slot that was never used, if the shard has one.
    #[inline(always)]
    fn bump(&self, stride: usize) -> Option<NonNull<u8>> {
        let left = self.fresh_left.load(Relaxed).checked_sub(1)?;
        let slot = self.fresh.get();
        self.fresh_left.store(left, Relaxed);
        // SAFETY: the run has at least this slot, so its end is in the region or one past it.
        self.fresh.set(unsafe { slot.byte_add(stride) });
        Some(slot)
    }
}

/// What all shards share, under the lock.
struct SharedSlots {
    depot: ListDepot,
    /// Memory that was never used, in slots.
    spans: Vec<Span>,
    regions: Vec<Pages>,
    next_region: usize,
    /// Slots cut from regions so far.
    slots_cut: usize,
    stats: SlotStats,
}

/// Memory for objects of one size. Neither initialises nor drops them; dropping it frees all of it.
///
/// Freeing a slot overwrites its first 16 bytes.
///
/// Slots are adjacent, so their size decides which cache sets they map to. With a power of two the
/// first lines of all slots share a few sets; with an odd number of lines they spread over all
/// sets.
pub struct Slots {
    shards: Box<[Padded<Shard>]>,
    stride: usize,
    batch: usize,
    layout: Layout,
    node: Option<u16>,
    source: Arc<dyn PageSource>,
    shared: Padded<SpinMutex<SharedSlots>>,
}

impl Slots {
    /// Creates an allocator without slots; each slot will be fit for `layout`. It has `shards`
    /// shards, and takes regions from `source`, on `node` if there is one.
    ///
    /// The size of a slot is a multiple of a cache line and of the alignment.
    ///
    /// # Panics
    ///
    /// Panics if the alignment is larger than 4096 bytes, or the size larger than 256 MiB.
    pub fn new(source: Arc<dyn PageSource>, layout: Layout, shards: usize, node: Option<u16>) -> Self {
        let layout = layout.align_to(64).map_or(layout, |layout| layout.pad_to_align());
        assert!(layout.align() <= MAX_ALIGN, "slots are aligned to at most {MAX_ALIGN} bytes");
        assert!(layout.size() <= 1 << 28, "slots are at most 256 MiB large");
        let stride = layout.size().max(layout.align());
        let batch = (BATCH_BYTES / stride).clamp(4, 64);
        let shard = |_| {
            let (fresh, fresh_left) = (Cell::new(NonNull::dangling()), AtomicUsize::new(0));
            Padded(Shard { magazine: ListMagazine::new(batch), fresh, fresh_left })
        };
        let shared = Padded(SpinMutex::new(SharedSlots {
            depot: ListDepot::new(batch),
            spans: Vec::new(),
            regions: Vec::new(),
            next_region: FIRST_REGION_BYTES.max(stride * batch),
            slots_cut: 0,
            stats: SlotStats::default(),
        }));
        Self { shards: (0..shards).map(shard).collect(), stride, batch, layout, node, source, shared }
    }

    /// Returns the layout that slots are fit for.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the number of bytes from one slot to the next.
    pub fn slot_bytes(&self) -> usize {
        self.stride
    }

    /// Allocates a slot through `shard`: the one freed last there, if there is one. Its contents
    /// are arbitrary. Returns `None` if there is no memory left.
    ///
    /// # Safety
    ///
    /// No other thread uses the shard meanwhile, and earlier uses by other threads happened before
    /// this.
    #[inline]
    pub unsafe fn alloc_on(&self, shard: usize) -> Option<NonNull<u8>> {
        let shard = &self.shards[shard].0;
        let slot = match shard.magazine.pop().or_else(|| shard.bump(self.stride)) {
            Some(slot) => Some(slot),
            None => self.refill(shard),
        };
        slot.inspect(|slot| self.allow(*slot))
    }

    /// Frees a slot through `shard`, wherever it was allocated.
    ///
    /// # Safety
    ///
    /// The slot comes from this allocator, was not freed yet, and is no longer used. No other
    /// thread uses the shard meanwhile, and earlier uses by other threads happened before this.
    #[inline]
    pub unsafe fn free_on(&self, shard: usize, slot: NonNull<u8>) {
        let shard = &self.shards[shard].0;
        self.forbid(slot);
        // SAFETY: this function's contract: the slot is free, and only this thread uses the shard.
        if !unsafe { shard.magazine.push(slot) } {
            // SAFETY: this function's contract; the slot was not taken.
            unsafe { self.overflow(shard, slot) }
        }
    }

    /// Allocates a slot for a thread without a shard. Its contents are arbitrary. Returns `None` if
    /// there is no memory left.
    pub fn alloc_shared(&self) -> Option<NonNull<u8>> {
        self.take_shared().inspect(|slot| self.allow(*slot))
    }

    fn take_shared(&self) -> Option<NonNull<u8>> {
        loop {
            {
                let mut shared = self.shared.0.lock();
                if let Some(slot) = shared.depot.take_one() {
                    return Some(slot);
                }
                if let Some(span) = Span::cut(&mut shared.spans, self.stride, 1) {
                    shared.slots_cut += 1;
                    return Some(span.into_parts().0);
                }
            }
            if !self.grow() {
                return None;
            }
        }
    }

    /// Frees a slot for a thread without a shard.
    ///
    /// # Safety
    ///
    /// The slot comes from this allocator, was not freed yet, and is no longer used.
    pub unsafe fn free_shared(&self, slot: NonNull<u8>) {
        self.forbid(slot);
        // SAFETY: this function's contract: the slot is free and of the depot's size.
        unsafe { self.shared.0.lock().depot.put_one(slot) };
    }

    /// Marks a slot as free: nothing but its links may be accessed.
    #[inline(always)]
    fn forbid(&self, slot: NonNull<u8>) {
        // SAFETY: a slot is longer than its links.
        forbidden::forbid(unsafe { slot.byte_add(LINK_BYTES) }, self.stride - LINK_BYTES);
    }

    /// Marks a slot as allocated.
    #[inline(always)]
    fn allow(&self, slot: NonNull<u8>) {
        forbidden::allow(slot, self.stride);
    }

    #[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
    /// Gives all slots that a shard has set aside to the other shards, as when its worker retires.
    ///
    /// # Safety
    ///
    /// No other thread uses the shard meanwhile, and earlier uses by other threads happened before
    /// this.
    pub unsafe fn flush(&self, shard: usize) {
        let shard = &self.shards[shard].0;
        let fresh = Span::new(shard.fresh.get(), shard.fresh_left.load(Relaxed));
        let mut shared = self.shared.0.lock();
        for list in shard.magazine.drain(self.batch).into_iter().flatten() {
            // SAFETY: the slots are free and were drained from this shard; a list is at most a
            // batch.
            unsafe { shared.depot.put(list) };
        }
        if shard.fresh_left.load(Relaxed) != 0 {
            shared.slots_cut -= shard.fresh_left.load(Relaxed);
            shared.spans.push(fresh);
            shard.fresh_left.store(0, Relaxed);
        }
    }

    /// Allocates a slot for a shard whose list is empty and whose run is used up.
    #[cold]
    #[inline(never)]
    fn refill(&self, shard: &Shard) -> Option<NonNull<u8>> {
        loop {
            if let Some(slot) = shard.magazine.pop().or_else(|| shard.bump(self.stride)) {
                return Some(slot);
            }
            if shard.magazine.use_spare() {
                continue;
            }
            let mut shared = self.shared.0.lock();
            if let Some(list) = shared.depot.take() {
                shard.magazine.load(list, self.batch);
            } else if let Some(span) = Span::cut(&mut shared.spans, self.stride, self.batch) {
                let (start, slots) = span.into_parts();
                shared.slots_cut += slots;
                shard.fresh.set(start);
                shard.fresh_left.store(slots, Relaxed);
            } else {
                drop(shared);
                if !self.grow() {
                    return None;
                }
            }
        }
    }

    /// Frees a slot when its shard's magazine is full.
    ///
    /// # Safety
    ///
    /// As for [`free_on`](Self::free_on).
    #[cold]
    #[inline(never)]
    unsafe fn overflow(&self, shard: &Shard, slot: NonNull<u8>) {
        if let Some(batch) = shard.magazine.store(self.batch) {
            // SAFETY: only slots of this allocator are freed here.
            unsafe { self.shared.0.lock().depot.put(batch) };
        }
        // SAFETY: this function's contract: the slot is free, and only this thread uses the shard.
        let taken = unsafe { shard.magazine.push(slot) };
        debug_assert!(taken, "the list was just emptied");
    }

    /// Takes a new region from the source, outside of the lock, as this may enter the kernel.
    /// Returns false if there is no memory for a single slot. If another thread does the same
    /// meanwhile, there is more than needed, which is harmless.
    #[cold]
    fn grow(&self) -> bool {
        let wanted = self.shared.0.lock().next_region;
        let least = self.stride.next_multiple_of(MAX_ALIGN);
        let Some(pages) = pages_or_fewer(&*self.source, wanted, least, MAX_ALIGN, self.node) else {
            return false;
        };
        let mut shared = self.shared.0.lock();
        shared.next_region = (pages.bytes * 2).min(MAX_REGION_BYTES).max(self.stride * self.batch);
        shared.stats.bytes += pages.bytes;
        shared.stats.huge_bytes += if pages.huge { pages.bytes } else { 0 };
        shared.spans.push(Span::new(pages.ptr, pages.bytes / self.stride));
        shared.regions.push(pages);
        true
    }

    /// Returns the slots and memory at this moment.
    pub fn stats(&self) -> SlotStats {
        let shared = self.shared.0.lock();
        let set_aside: usize = self
            .shards
            .iter()
            .map(|shard| shard.0.magazine.len(self.batch) + shard.0.fresh_left.load(Relaxed))
            .sum();
        let free = shared.depot.len() + set_aside;
        SlotStats { live: shared.slots_cut.saturating_sub(free), free, ..shared.stats }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for pages in self.shared.0.lock().regions.drain(..) {
            forbidden::allow(pages.ptr, pages.bytes);
            // SAFETY: the pages came from this source. Slots must not be used after this value is
            // dropped, by the contract of its users.
            unsafe { self.source.release(pages) };
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests;
