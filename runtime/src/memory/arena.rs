//! Objects of one size, allocated by the million: the nodes of a tree, say.
//!
//! The memory is cut into *slots*. Every worker has a *shard*: a magazine of free slots, linked through themselves, and
//! a run of slots never used yet, which it hands out in order. Shards exchange whole batches through a depot under one
//! lock, so a worker that only frees feeds one that only allocates; and who has no shard uses the depot directly.
//! Regions come in huge pages where there are any, since such objects are reached at random, and stay until the
//! whole is dropped.

use super::forbidden;
use super::lists::{LINKS, ListDepot, ListMagazine};
use super::pages::{HUGE_PAGE, PageSource, Pages, Span, pages_or_fewer};
use crate::sync::{AtomicUsize, Padded, Relaxed, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

/// Bytes of the first region; each further one is twice as large.
const FIRST_REGION: usize = HUGE_PAGE;
/// Bytes of a region at most.
const MOST_REGION: usize = 64 << 20;
/// The largest alignment of slots.
const MOST_ALIGN: usize = 4096;
/// Bytes that a shard takes at once, roughly.
const BATCH_BYTES: usize = 64 << 10;

/// What [`Slots`] has, at one moment. While shards are in use it is near the truth; else it is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotStats {
    /// Slots that are allocated.
    pub live: usize,
    /// Slots that were freed, or set aside for a shard, and can be allocated again.
    pub free: usize,
    /// Bytes of all regions.
    pub bytes: usize,
    /// How many of them are meant for huge pages.
    pub huge_bytes: usize,
}

/// One worker's part.
struct Shard {
    magazine: ListMagazine,
    /// The first slot of a run never used yet. Meaningless when there is none.
    fresh: Cell<NonNull<u8>>,
    /// How many slots the run has; atomic only so that others may look.
    fresh_left: AtomicUsize,
}

// SAFETY: the cells are only used by the thread that uses the shard, one at a time by the contract of `alloc_on` and
// `free_on`; others read the atomic fields alone.
unsafe impl Sync for Shard {}
// SAFETY: the shard owns its slots, and memory does not care which thread uses it.
unsafe impl Send for Shard {}

impl Shard {
    /// A slot that was never used, if the shard has one.
    #[inline(always)]
    fn bump(&self, stride: usize) -> Option<NonNull<u8>> {
        let left = self.fresh_left.load(Relaxed).checked_sub(1)?;
        let slot = self.fresh.get();
        self.fresh_left.store(left, Relaxed);
        // SAFETY: the run has at least this slot, so its end is in the region or one past.
        self.fresh.set(unsafe { slot.byte_add(stride) });
        Some(slot)
    }
}

/// What all shards share.
struct Shared {
    depot: ListDepot,
    /// Memory never used yet, in slots.
    spans: Vec<Span>,
    regions: Vec<Pages>,
    next_region: usize,
    /// Slots cut from regions so far.
    cut: usize,
    stats: SlotStats,
}

/// Memory for objects of one size. It neither initialises nor drops them; dropping it frees all of it.
///
/// The first 16 bytes of a slot are overwritten when it is freed.
///
/// Slots lie side by side, so their size says which sets of the processor's cache they fall into: with a power of two
/// the first lines of all slots crowd into a few sets, with an odd number of lines they spread over all.
pub struct Slots {
    shards: Box<[Padded<Shard>]>,
    stride: usize,
    batch: usize,
    layout: Layout,
    node: Option<u16>,
    source: Arc<dyn PageSource>,
    shared: Padded<SpinMutex<Shared>>,
}

impl Slots {
    /// No slots yet, each to be fit for `layout`; `shards` shards, and regions from `source`, of `node` if there is one.
    ///
    /// Slots are multiples of a cache line, and of their alignment.
    ///
    /// # Panics
    ///
    /// If the alignment is larger than 4096 bytes, or the size larger than 256 MiB.
    pub fn new(source: Arc<dyn PageSource>, layout: Layout, shards: usize, node: Option<u16>) -> Self {
        let layout = layout.align_to(64).map_or(layout, |layout| layout.pad_to_align());
        assert!(layout.align() <= MOST_ALIGN, "slots are aligned to at most {MOST_ALIGN} bytes");
        assert!(layout.size() <= 1 << 28, "slots are at most 256 MiB large");
        let stride = layout.size().max(layout.align());
        let batch = (BATCH_BYTES / stride).clamp(4, 64);
        let shard = |_| {
            let (fresh, fresh_left) = (Cell::new(NonNull::dangling()), AtomicUsize::new(0));
            Padded(Shard { magazine: ListMagazine::new(batch), fresh, fresh_left })
        };
        let shared = Padded(SpinMutex::new(Shared {
            depot: ListDepot::new(batch),
            spans: Vec::new(),
            regions: Vec::new(),
            next_region: FIRST_REGION.max(stride * batch),
            cut: 0,
            stats: SlotStats::default(),
        }));
        Self { shards: (0..shards).map(shard).collect(), stride, batch, layout, node, source, shared }
    }

    /// What slots are fit for.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Bytes from one slot to the next.
    pub fn slot_bytes(&self) -> usize {
        self.stride
    }

    /// A slot, by way of `shard`: the one freed last there, if there is one; `None` if there is no memory left. Its
    /// contents are arbitrary.
    ///
    /// # Safety
    ///
    /// No other thread uses the shard meanwhile, and if another did before, that happened before this.
    #[inline]
    pub unsafe fn alloc_on(&self, shard: usize) -> Option<NonNull<u8>> {
        let shard = &self.shards[shard].0;
        let slot = match shard.magazine.pop().or_else(|| shard.bump(self.stride)) {
            Some(slot) => Some(slot),
            None => self.refill(shard),
        };
        slot.inspect(|slot| self.allow(*slot))
    }

    /// Frees a slot, wherever it was allocated, by way of `shard`.
    ///
    /// # Safety
    ///
    /// The slot comes from here, was not freed yet, and is no longer used. No other thread uses the shard meanwhile,
    /// and if another did before, that happened before this.
    #[inline]
    pub unsafe fn free_on(&self, shard: usize, slot: NonNull<u8>) {
        let shard = &self.shards[shard].0;
        self.forbid(slot);
        // SAFETY: the caller's promise.
        if !unsafe { shard.magazine.push(slot) } {
            // SAFETY: the same promise; the slot was not taken.
            unsafe { self.overflow(shard, slot) }
        }
    }

    /// A slot for a thread that has no shard; `None` if there is no memory left. Its contents are arbitrary.
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
                    shared.cut += 1;
                    return Some(span.into_parts().0);
                }
            }
            if !self.grow() {
                return None;
            }
        }
    }

    /// Frees a slot for a thread that has no shard.
    ///
    /// # Safety
    ///
    /// The slot comes from here, was not freed yet, and is no longer used.
    pub unsafe fn free_shared(&self, slot: NonNull<u8>) {
        self.forbid(slot);
        // SAFETY: the caller's promise.
        unsafe { self.shared.0.lock().depot.put_one(slot) };
    }

    /// The slot is free, and nobody touches it but for its links.
    #[inline(always)]
    fn forbid(&self, slot: NonNull<u8>) {
        // SAFETY: a slot is longer than its links.
        forbidden::forbid(unsafe { slot.byte_add(LINKS) }, self.stride - LINKS);
    }

    /// The slot is no longer free.
    #[inline(always)]
    fn allow(&self, slot: NonNull<u8>) {
        forbidden::allow(slot, self.stride);
    }

    #[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
    /// Gives all that a shard has set aside to the others, as when its worker retires.
    ///
    /// # Safety
    ///
    /// No other thread uses the shard meanwhile, and if another did before, that happened before this.
    pub unsafe fn flush(&self, shard: usize) {
        let shard = &self.shards[shard].0;
        let fresh = Span::new(shard.fresh.get(), shard.fresh_left.load(Relaxed));
        let mut shared = self.shared.0.lock();
        for list in shard.magazine.drain(self.batch).into_iter().flatten() {
            // SAFETY: the slots are free and ours; a list is at most a batch.
            unsafe { shared.depot.put(list) };
        }
        if shard.fresh_left.load(Relaxed) != 0 {
            shared.cut -= shard.fresh_left.load(Relaxed);
            shared.spans.push(fresh);
            shard.fresh_left.store(0, Relaxed);
        }
    }

    /// A slot for a shard with neither list nor run.
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
                shared.cut += slots;
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

    /// Frees a slot that found its shard's magazine full.
    ///
    /// # Safety
    ///
    /// As for [`free_on`](Self::free_on).
    #[cold]
    #[inline(never)]
    unsafe fn overflow(&self, shard: &Shard, slot: NonNull<u8>) {
        if let Some(batch) = shard.magazine.store(self.batch) {
            // SAFETY: whatever was freed here is one of these slots.
            unsafe { self.shared.0.lock().depot.put(batch) };
        }
        // SAFETY: the caller's promise.
        let taken = unsafe { shard.magazine.push(slot) };
        debug_assert!(taken, "the list was just emptied");
    }

    /// Gets a region, outside of the lock as it enters the kernel; `false` if there is none for a single slot. Should
    /// another thread do so meanwhile, there is more than needed, which is no harm.
    #[cold]
    fn grow(&self) -> bool {
        let wanted = self.shared.0.lock().next_region;
        let least = self.stride.next_multiple_of(MOST_ALIGN);
        let Some(pages) = pages_or_fewer(&*self.source, wanted, least, MOST_ALIGN, self.node) else {
            return false;
        };
        let mut shared = self.shared.0.lock();
        shared.next_region = (pages.bytes * 2).min(MOST_REGION).max(self.stride * self.batch);
        shared.stats.bytes += pages.bytes;
        shared.stats.huge_bytes += if pages.huge { pages.bytes } else { 0 };
        shared.spans.push(Span::new(pages.ptr, pages.bytes / self.stride));
        shared.regions.push(pages);
        true
    }

    /// What is here.
    pub fn stats(&self) -> SlotStats {
        let shared = self.shared.0.lock();
        let set_aside: usize = self
            .shards
            .iter()
            .map(|shard| shard.0.magazine.len(self.batch) + shard.0.fresh_left.load(Relaxed))
            .sum();
        let free = shared.depot.len() + set_aside;
        SlotStats { live: shared.cut.saturating_sub(free), free, ..shared.stats }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for pages in self.shared.0.lock().regions.drain(..) {
            forbidden::allow(pages.ptr, pages.bytes);
            // SAFETY: the pages came from this source; their slots may be used no longer than this value lives.
            unsafe { self.source.release(pages) };
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::super::pages::GlobalPages;
    use super::*;
    use std::sync::mpsc::sync_channel;
    use std::thread;

    /// Miri is a thousand times slower.
    const SCALE: usize = if cfg!(miri) { 500 } else { 1 };

    fn slots(bytes: usize, align: usize, shards: usize) -> Slots {
        Slots::new(Arc::new(GlobalPages), Layout::from_size_align(bytes, align).unwrap(), shards, None)
    }

    /// A slot that may go to another thread.
    struct Sent(NonNull<u8>);
    // SAFETY: a slot may be used and freed by any thread.
    unsafe impl Send for Sent {}

    #[test]
    fn strides() {
        for (bytes, align, stride) in [
            (0, 1, 64),
            (1, 1, 64),
            (64, 64, 64),
            (65, 8, 128),
            (1000, 1024, 1024),
            (1088, 64, 1088),
            (100, 4096, 4096),
        ] {
            assert_eq!(slots(bytes, align, 1).slot_bytes(), stride, "{bytes} {align}");
        }
    }

    #[test]
    fn slots_are_disjoint_and_reused() {
        for (bytes, align) in [(64, 64), (1024, 1024), (1088, 64), (5000, 4096), (3 << 20, 64)] {
            if cfg!(miri) && bytes > 8192 {
                continue;
            }
            let slots = slots(bytes, align, 2);
            let count = ((6 << 20) / bytes / SCALE).max(9);
            let mut all = Vec::new();
            for _ in 0..2 {
                for index in 0..count {
                    let slot = if index % 7 == 0 {
                        slots.alloc_shared().unwrap()
                    } else {
                        // SAFETY: there is only this thread.
                        unsafe { slots.alloc_on(0).unwrap() }
                    };
                    assert!(slot.addr().get().is_multiple_of(align));
                    // SAFETY: the slot is ours and that long.
                    unsafe { slot.write_bytes(index as u8, bytes) };
                    all.push((slot, index as u8));
                }
                assert_eq!(slots.stats().live, count);
                for (index, (slot, byte)) in all.drain(..).enumerate() {
                    // SAFETY: the slot is ours, wholly written, and freed once; there is only this thread.
                    unsafe {
                        let bytes = core::slice::from_raw_parts(slot.as_ptr(), bytes);
                        assert!(bytes.iter().all(|other| *other == byte));
                        if index % 5 == 0 { slots.free_shared(slot) } else { slots.free_on(1, slot) }
                    }
                }
                assert_eq!(slots.stats().live, 0);
            }
            let (stats, needed) = (slots.stats(), count * slots.slot_bytes());
            assert!(stats.free * slots.slot_bytes() <= stats.bytes);
            assert!(stats.bytes <= 2 * needed + (64 << 20), "{stats:?}");
        }
    }

    #[test]
    fn last_in_first_out() {
        let slots = slots(1024, 64, 1);
        // SAFETY: there is only this thread, and every slot is freed once.
        unsafe {
            let (a, b) = (slots.alloc_on(0).unwrap(), slots.alloc_on(0).unwrap());
            assert_eq!(a.byte_add(1024), b);
            slots.free_on(0, a);
            slots.free_on(0, b);
            assert_eq!((slots.alloc_on(0).unwrap(), slots.alloc_on(0).unwrap()), (b, a));
        }
        assert_eq!(slots.stats().live, 2);
    }

    #[test]
    fn regions_double() {
        let slots = slots(1024, 64, 1);
        // SAFETY: there is only this thread.
        let alloc = |count: usize| (0..count).for_each(|_| _ = unsafe { slots.alloc_on(0).unwrap() });
        for (count, megabytes) in [(1, 2), (2047, 2), (1, 6), (4095, 6), (1, 14)] {
            alloc(count);
            assert_eq!(slots.stats().bytes, megabytes << 20);
        }
        assert_eq!(slots.stats().live, 6145);
    }

    #[test]
    fn a_flushed_shard_is_empty() {
        let slots = slots(1024, 64, 2);
        // SAFETY: there is only this thread, and every slot is freed once.
        unsafe {
            let all: Vec<_> = (0..200).map(|_| slots.alloc_on(0).unwrap()).collect();
            all.into_iter().for_each(|slot| slots.free_on(1, slot));
            assert_eq!(slots.stats().free, 256);
            slots.flush(0);
            slots.flush(1);
        }
        assert_eq!(
            (slots.stats().live, slots.stats().free, slots.shared.0.lock().depot.len()),
            (0, 200, 200)
        );
    }

    #[test]
    fn what_shards_leave_in_part_is_joined() {
        let slots = slots(1024, 64, 2);
        // SAFETY: there is only this thread, and every slot is freed once.
        unsafe {
            let all: Vec<_> = (0..50).map(|_| slots.alloc_on(0).unwrap()).collect();
            all.into_iter().enumerate().for_each(|(index, slot)| slots.free_on(index % 2, slot));
            slots.flush(0);
            slots.flush(1);
        }
        assert_eq!((slots.stats().live, slots.shared.0.lock().depot.len()), (0, 50));
    }

    #[test]
    fn one_allocates_another_frees() {
        let slots = slots(1024, 64, 2);
        let (sender, receiver) = sync_channel::<Vec<Sent>>(4);
        thread::scope(|scope| {
            let allocating = scope.spawn(|| {
                let sender = sender;
                for round in 0..20_000 / SCALE {
                    let all = (0..100).map(|index| {
                        // SAFETY: this thread alone uses shard 0; the slot is ours and holds two words.
                        unsafe {
                            let slot = slots.alloc_on(0).unwrap();
                            slot.cast::<[usize; 2]>().write([round, index]);
                            Sent(slot)
                        }
                    });
                    sender.send(all.collect()).unwrap();
                }
            });
            let freeing = scope.spawn(|| {
                for (round, all) in receiver.into_iter().enumerate() {
                    for (index, Sent(slot)) in all.into_iter().enumerate() {
                        // SAFETY: the slot was sent to us alone and is freed once; only this thread uses shard 1.
                        unsafe {
                            assert_eq!(slot.cast::<[usize; 2]>().read(), [round, index]);
                            slots.free_on(1, slot);
                        }
                    }
                }
            });
            // ThreadSanitizer does not see that a scope waits.
            [allocating, freeing].into_iter().for_each(|thread| thread.join().unwrap());
        });
        // 700 slots under way and less than five batches in shards: the first region is enough.
        assert_eq!((slots.stats().live, slots.stats().bytes), (0, FIRST_REGION));
    }

    #[test]
    fn everybody_frees_what_everybody_allocates() {
        const THREADS: usize = 4;
        let slots = slots(192, 64, THREADS);
        let inboxes: [SpinMutex<Vec<Sent>>; THREADS] = Default::default();
        thread::scope(|scope| {
            for me in 0..THREADS {
                let (slots, inboxes) = (&slots, &inboxes);
                scope.spawn(move || {
                    let mut random = me as u64 + 1;
                    for round in 0..100_000 / SCALE {
                        random =
                            random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                        let bits = (random >> 33) as usize;
                        let external = bits & 7 == 0;
                        let slot = if external {
                            slots.alloc_shared().unwrap()
                        } else {
                            // SAFETY: this thread alone uses shard `me`.
                            unsafe { slots.alloc_on(me).unwrap() }
                        };
                        let mark = slot.addr().get() as u8 ^ (slot.addr().get() >> 8) as u8;
                        // SAFETY: the slot is ours and that long.
                        unsafe { slot.write_bytes(mark, 192) };
                        inboxes[(bits >> 8) % THREADS].lock().push(Sent(slot));
                        if round % 16 != 0 {
                            continue;
                        }
                        let got = core::mem::take(&mut *inboxes[me].lock());
                        for Sent(slot) in got {
                            let mark = slot.addr().get() as u8 ^ (slot.addr().get() >> 8) as u8;
                            // SAFETY: the slot was sent to us alone, wholly written, and is freed once; this thread
                            // alone uses shard `me`.
                            unsafe {
                                let bytes = core::slice::from_raw_parts(slot.as_ptr(), 192);
                                assert!(bytes.iter().all(|byte| *byte == mark));
                                if external { slots.free_shared(slot) } else { slots.free_on(me, slot) }
                            }
                        }
                    }
                });
            }
        });
        let rest: usize = inboxes.iter().map(|inbox| inbox.lock().len()).sum();
        assert_eq!(slots.stats().live, rest);
        for inbox in &inboxes {
            for Sent(slot) in inbox.lock().drain(..) {
                // SAFETY: nobody else has the slot; it is freed once.
                unsafe { slots.free_shared(slot) };
            }
        }
        assert_eq!(slots.stats().live, 0);
    }
}
