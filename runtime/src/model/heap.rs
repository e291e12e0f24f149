//! Blocks that move between two cores by way of their node are never held twice.

use super::{Watched, model};
use crate::memory::{CoreHeap, GlobalPages, Heaps, SizeClass};
use crate::sync::SpinMutex;
use core::ptr::NonNull;
use loom::thread;
use std::sync::Arc;

/// The class with the smallest batches.
const CLASS: SizeClass = SizeClass::B512;
const BATCH: usize = 16;

/// A block into which its holder has written a number.
struct Held(NonNull<Watched>);
// SAFETY: blocks may be used and freed by any thread.
unsafe impl Send for Held {}

impl Held {
    fn new(heap: &mut CoreHeap, number: u64) -> Self {
        let block = heap.alloc(CLASS).expect("memory without a limit").cast::<Watched>();
        // SAFETY: the block is fresh, large enough, and this thread's.
        unsafe { block.write(Watched::new(number)) };
        Self(block)
    }

    fn free(self, heap: &mut CoreHeap, number: u64) {
        // SAFETY: the block is this thread's and was written; it is freed once.
        unsafe {
            assert_eq!(self.0.as_ref().get(), number, "a block was given out twice");
            heap.free(CLASS, self.0.cast());
        }
    }
}

/// Takes more blocks than a batch, holds all of them at once, and frees them.
fn take_and_free(heaps: &Arc<Heaps>, core: u64) {
    let mut heap = CoreHeap::new(heaps.clone(), 0);
    for _ in 0..2 {
        let held: Vec<_> = (0..BATCH + 1).map(|_| Held::new(&mut heap, core)).collect();
        held.into_iter().for_each(|block| block.free(&mut heap, core));
    }
}

/// Asserts that no block is held: all that were ever cut are in the node's heap.
fn assert_whole(heaps: &Heaps) {
    let stats = heaps.stats();
    assert_eq!(stats.cut, stats.free, "blocks were lost");
}

#[test]
fn two_cores_of_a_node_never_hold_the_same_block() {
    model(2, || {
        let heaps = Heaps::new(1, Arc::new(GlobalPages), None, 0);
        let there = heaps.clone();
        let other = thread::spawn(move || take_and_free(&there, 1));
        take_and_free(&heaps, 2);
        other.join().unwrap();
        assert_whole(&heaps);
    });
}

#[test]
fn blocks_freed_on_another_core_come_home() {
    model(2, || {
        let heaps = Heaps::new(1, Arc::new(GlobalPages), None, 0);
        let sent = Arc::new(SpinMutex::new(Vec::new()));
        let (there, send) = (heaps.clone(), sent.clone());
        let other = thread::spawn(move || {
            let mut heap = CoreHeap::new(there, 0);
            send.lock().extend((0..2 * BATCH).map(|_| Held::new(&mut heap, 1)));
        });
        let mut heap = CoreHeap::new(heaps.clone(), 0);
        let own: Vec<_> = (0..BATCH).map(|_| Held::new(&mut heap, 2)).collect();
        let received = core::mem::take(&mut *sent.lock());
        received.into_iter().for_each(|block| block.free(&mut heap, 1));
        own.into_iter().for_each(|block| block.free(&mut heap, 2));
        other.join().unwrap();
        let late = core::mem::take(&mut *sent.lock());
        late.into_iter().for_each(|block| block.free(&mut heap, 1));
        drop(heap);
        assert_whole(&heaps);
    });
}
