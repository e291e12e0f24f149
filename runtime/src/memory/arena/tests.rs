//! Tests of slots.

use super::super::pages::{GlobalPages, Pages};
use super::*;
use crate::sync::AtomicUsize;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::vec::Vec;

/// Miri is a thousand times slower.
const SCALE: usize = if cfg!(miri) { 500 } else { 1 };

fn slots(bytes: usize, align: usize, shards: usize) -> Slots {
    Slots::new(Arc::new(GlobalPages), Layout::from_size_align(bytes, align).unwrap(), shards, None)
}

/// A slot that may be sent to another thread.
struct Sent(NonNull<u8>);
// SAFETY: a slot may be used and freed by any thread.
unsafe impl Send for Sent {}

#[test]
fn slots_are_multiples_of_cache_line_and_alignment() {
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
                // SAFETY: the slot is this test's, and that long.
                unsafe { slot.write_bytes(index as u8, bytes) };
                all.push((slot, index as u8));
            }
            assert_eq!(slots.stats().live, count);
            for (index, (slot, byte)) in all.drain(..).enumerate() {
                // SAFETY: the slot is this test's, wholly written, and freed once; there is
                // only this thread.
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
fn the_block_freed_last_is_allocated_first() {
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
fn each_region_is_twice_as_large() {
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
    // All that were cut: what the shard had not used yet is free as well.
    assert_eq!((slots.stats().live, slots.stats().free, slots.shared.0.lock().pool.slots().1), (0, 256, 256));
}

#[test]
fn partial_batches_of_flushed_shards_are_sorted() {
    let slots = slots(1024, 64, 2);
    // SAFETY: there is only this thread, and every slot is freed once.
    unsafe {
        let all: Vec<_> = (0..50).map(|_| slots.alloc_on(0).unwrap()).collect();
        all.into_iter().enumerate().for_each(|(index, slot)| slots.free_on(index % 2, slot));
        slots.flush(0);
        slots.flush(1);
    }
    assert_eq!((slots.stats().live, slots.shared.0.lock().pool.slots().1), (0, 64));
}

#[test]
fn one_thread_frees_what_another_allocates() {
    let slots = slots(1024, 64, 2);
    let (sender, receiver) = sync_channel::<Vec<Sent>>(4);
    thread::scope(|scope| {
        let allocating = scope.spawn(|| {
            let sender = sender;
            for round in 0..20_000 / SCALE {
                let all = (0..100).map(|index| {
                    // SAFETY: only this thread uses shard 0; the slot is its own and holds two
                    // words.
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
                    // SAFETY: the slot was sent to this thread alone and is freed once; only
                    // this thread uses shard 1.
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
    // At most 700 slots in transit, and less than five batches in shards: the first region is
    // enough.
    assert_eq!((slots.stats().live, slots.stats().bytes), (0, FIRST_REGION_BYTES));
}

#[test]
fn each_thread_frees_what_others_allocate() {
    const THREADS: usize = 4;
    let slots = slots(192, 64, THREADS);
    let inboxes: [SpinMutex<Vec<Sent>>; THREADS] = Default::default();
    thread::scope(|scope| {
        let threads = std::array::from_fn::<_, THREADS, _>(|me| {
            let (slots, inboxes) = (&slots, &inboxes);
            scope.spawn(move || {
                let mut random = me as u64 + 1;
                for round in 0..100_000 / SCALE {
                    random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                    let bits = (random >> 33) as usize;
                    let external = bits & 7 == 0;
                    let slot = if external {
                        slots.alloc_shared().unwrap()
                    } else {
                        // SAFETY: only this thread uses shard `me`.
                        unsafe { slots.alloc_on(me).unwrap() }
                    };
                    let mark = slot.addr().get() as u8 ^ (slot.addr().get() >> 8) as u8;
                    // SAFETY: the slot is this thread's, and that long.
                    unsafe { slot.write_bytes(mark, 192) };
                    inboxes[(bits >> 8) % THREADS].lock().push(Sent(slot));
                    if round % 16 != 0 {
                        continue;
                    }
                    let got = core::mem::take(&mut *inboxes[me].lock());
                    for Sent(slot) in got {
                        let mark = slot.addr().get() as u8 ^ (slot.addr().get() >> 8) as u8;
                        // SAFETY: the slot was sent to this thread alone, is wholly written,
                        // and is freed once; only this thread uses shard `me`.
                        unsafe {
                            let bytes = core::slice::from_raw_parts(slot.as_ptr(), 192);
                            assert!(bytes.iter().all(|byte| *byte == mark));
                            if external { slots.free_shared(slot) } else { slots.free_on(me, slot) }
                        }
                    }
                }
            })
        });
        // ThreadSanitizer does not see that a scope waits.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let rest: usize = inboxes.iter().map(|inbox| inbox.lock().len()).sum();
    assert_eq!(slots.stats().live, rest);
    for inbox in &inboxes {
        for Sent(slot) in inbox.lock().drain(..) {
            // SAFETY: no other thread has the slot; it is freed once.
            unsafe { slots.free_shared(slot) };
        }
    }
    assert_eq!(slots.stats().live, 0);
}

/// Pages that count what is discarded, and fill it.
struct DiscardedPages {
    bytes: AtomicUsize,
    huge: bool,
}

// SAFETY: every run is one of `GlobalPages`, which keeps the contract.
unsafe impl PageSource for DiscardedPages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        let pages = GlobalPages.pages(bytes, align, node, huge)?;
        Some(Pages { huge: huge && self.huge, ..pages })
    }

    unsafe fn discard(&self, start: NonNull<u8>, bytes: usize) -> bool {
        self.bytes.fetch_add(bytes, Relaxed);
        // Whatever uses the memory now would notice.
        forbidden::allow(start, bytes);
        // SAFETY: this function's contract: the memory is in a run of this source, and not in use.
        unsafe { start.write_bytes(0, bytes) };
        true
    }

    unsafe fn release(&self, pages: Pages) {
        // SAFETY: the caller returns what came from `GlobalPages`.
        unsafe { GlobalPages.release(Pages { huge: false, ..pages }) };
    }
}

/// Allocates `count` slots with one shard, each filled with a byte of its own.
fn filled(slots: &Slots, count: usize) -> Vec<(NonNull<u8>, u8)> {
    (0..count)
        .map(|index| {
            // SAFETY: there is only this thread; the slot is the test's.
            let slot = unsafe { slots.alloc_on(0).unwrap() };
            // SAFETY: the slot is this test's, and that long.
            unsafe { slot.write_bytes(index as u8, slots.slot_bytes()) };
            (slot, index as u8)
        })
        .collect()
}

/// Asserts that slots have kept their bytes.
fn assert_filled(slots: &Slots, all: &[(NonNull<u8>, u8)]) {
    for &(slot, byte) in all {
        // SAFETY: the slot is this test's, and wholly written.
        let bytes = unsafe { core::slice::from_raw_parts(slot.as_ptr(), slots.slot_bytes()) };
        assert!(bytes.iter().all(|other| *other == byte), "memory in use was discarded");
    }
}

fn discarding(bytes: usize, huge: bool) -> (Slots, Arc<DiscardedPages>) {
    let pages = Arc::new(DiscardedPages { bytes: AtomicUsize::new(0), huge });
    (Slots::new(pages.clone(), Layout::from_size_align(bytes, 64).unwrap(), 1, None), pages)
}

#[test]
fn memory_without_slots_in_use_goes_back() {
    for bytes in [64, 1024, 1088, 40_000] {
        if cfg!(miri) && bytes != 1024 {
            continue;
        }
        let (slots, pages) = discarding(bytes, true);
        let count = (24 << 20) / slots.slot_bytes() / if cfg!(miri) { 4 } else { 1 };
        let mut discarded = 0;
        for round in 0..3 {
            let all = filled(&slots, count);
            let full = slots.stats();
            assert!(full.resident_bytes >= count * slots.slot_bytes() && full.resident_bytes <= full.bytes);
            let (rest, freed) = all.split_at(100);
            for &(slot, _) in freed {
                // SAFETY: the slot is this test's, and freed once; there is only this thread.
                unsafe { slots.free_on(0, slot) };
            }
            // SAFETY: there is only this thread.
            unsafe { slots.flush_if_sorting(0) };
            let stats = slots.stats();
            assert_eq!((stats.live, stats.bytes), (100, full.bytes), "{bytes}, round {round}");
            // Little more stays than the memory around the slots in use.
            let around = (HUGE_PAGE + 64 * slots.slot_bytes()).max(200 * slots.slot_bytes());
            let most = around + (1 << 20) + 64 * slots.slot_bytes();
            assert!(stats.resident_bytes <= most, "{bytes}, round {round}: {stats:?}");
            assert!(pages.bytes.load(Relaxed) - discarded >= full.resident_bytes - most);
            discarded = pages.bytes.load(Relaxed);
            assert_filled(&slots, rest);
            // SAFETY: as above.
            rest.iter().for_each(|&(slot, _)| unsafe { slots.free_on(0, slot) });
        }
    }
}

#[test]
fn a_population_that_varies_a_little_discards_nothing() {
    let (slots, pages) = discarding(1024, false);
    let mut all = filled(&slots, 20_000 / SCALE.min(10));
    let mut random = 1_u64;
    for _ in 0..200 / SCALE.min(50) {
        let part = all.len() / 10;
        for _ in 0..part {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let (slot, _) = all.swap_remove((random >> 33) as usize % all.len());
            // SAFETY: the slot is this test's, and freed once; there is only this thread.
            unsafe { slots.free_on(0, slot) };
        }
        all.extend(filled(&slots, part));
    }
    assert_eq!(pages.bytes.load(Relaxed), 0);
    assert_filled(&slots, &all[..1]);
}

/// Frees 9 of 10 slots at random, and moves those that a compaction names.
#[test]
fn a_compaction_empties_memory() {
    for huge in [false, true] {
        let (slots, pages) = discarding(1024, huge);
        let count = if cfg!(miri) { 8_000 } else { 40_000 };
        let mut all = filled(&slots, count);
        let mut random = 7_u64;
        while all.len() > count / 10 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let (slot, _) = all.swap_remove((random >> 33) as usize % all.len());
            // SAFETY: the slot is this test's, and freed once; there is only this thread.
            unsafe {
                slots.free_on(0, slot);
                slots.flush_if_sorting(0);
            }
        }
        let before = slots.stats();
        assert!(slots.begin_compaction(), "{before:?}");
        assert!(!slots.begin_compaction(), "one is under way");
        // SAFETY: there is only this thread.
        unsafe { slots.flush(0) };
        assert!(slots.close_sparse());
        let mut moved = 0;
        for (slot, _) in &mut all {
            if slots.should_move(slot.addr().get()) {
                let copy = filled(&slots, 1)[0].0;
                assert!(!slots.should_move(copy.addr().get()), "a copy is in memory that is emptied");
                // SAFETY: both slots are this test's; the old one is freed once.
                unsafe {
                    copy.copy_from_nonoverlapping(*slot, slots.slot_bytes());
                    slots.free_on(0, core::mem::replace(slot, copy));
                    slots.flush_if_sorting(0);
                }
                moved += 1;
            }
        }
        slots.end_compaction();
        assert!(moved > 0 && moved < all.len(), "the fullest memory stays");
        let stats = slots.stats();
        assert_eq!(stats.live, all.len());
        let most = all.len() * 1024 * 5 / 4 + if huge { 2 * HUGE_PAGE } else { 1 << 20 };
        assert!(stats.resident_bytes <= most, "{stats:?} after {before:?}");
        assert!(pages.bytes.load(Relaxed) > 0);
        assert_filled(&slots, &all);
        // A huge page can be little used, and nothing can be done about it.
        if slots.begin_compaction() {
            // SAFETY: there is only this thread.
            unsafe { slots.flush(0) };
            assert!(huge && !slots.close_sparse(), "there is nothing left to be done");
        }
    }
}

#[test]
fn what_a_compaction_left_is_used_before_more_memory() {
    let (slots, _) = discarding(1024, false);
    let mut all = filled(&slots, 16_000);
    let mut freed = 0;
    // Every second slot is freed.
    for index in (0..all.len()).rev().step_by(2) {
        let (slot, _) = all.swap_remove(index);
        freed += 1;
        // SAFETY: the slot is this test's, and freed once; there is only this thread.
        unsafe { slots.free_on(0, slot) };
    }
    // SAFETY: there is only this thread.
    unsafe { slots.flush_if_sorting(0) };
    assert!(slots.begin_compaction());
    // SAFETY: as above.
    unsafe { slots.flush(0) };
    assert!(slots.close_sparse());
    slots.end_compaction();
    let bytes = slots.stats().bytes;
    all.extend(filled(&slots, freed));
    assert_eq!(slots.stats().bytes, bytes, "memory was taken while half of the slots were free");
    assert_filled(&slots, &all);
}
