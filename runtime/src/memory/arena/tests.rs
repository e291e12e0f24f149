//! Tests of slots.

use super::super::pages::GlobalPages;
use super::*;
use std::sync::mpsc::sync_channel;
use std::thread;

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
    assert_eq!((slots.stats().live, slots.stats().free, slots.shared.0.lock().depot.len()), (0, 200, 200));
}

#[test]
fn partial_batches_of_flushed_shards_are_merged() {
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
        for me in 0..THREADS {
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
            });
        }
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
