//! Tests of the node heaps.

use super::super::chunk::header_of;
use super::super::heaps::Heaps;
use super::super::pages::GlobalPages;
use super::*;

fn heaps(nodes: usize) -> Arc<Heaps> {
    Heaps::new(nodes, Arc::new(GlobalPages), None, 0)
}

#[test]
fn the_smallest_fitting_class_is_chosen() {
    for bytes in 0..=512 {
        let class = SizeClass::for_size(bytes).unwrap();
        assert!(class.size() >= bytes && (class == SizeClass::B64 || class.size() < 2 * bytes));
    }
    assert_eq!(SizeClass::for_size(513), None);
    assert!(SizeClass::ALL.iter().enumerate().all(|(index, class)| *class as usize == index));
}

#[test]
#[cfg_attr(miri, ignore = "too slow; the core heap's tests do the same")]
fn blocks_are_disjoint_and_reused() {
    let heaps = heaps(1);
    let mut blocks = Vec::new();
    for round in 0..2 {
        for (index, class) in SizeClass::ALL.into_iter().cycle().take(10_000).enumerate() {
            let block = heaps.alloc_one(0, class).unwrap();
            assert!(block.addr().get().is_multiple_of(64));
            // SAFETY: the block is this test's, and that long.
            unsafe { block.cast::<u8>().write_bytes(index as u8, class.size()) };
            blocks.push((block, class, index as u8));
        }
        for (block, class, byte) in blocks.drain(..) {
            // SAFETY: the block is this test's, wholly written, and freed once.
            unsafe {
                let bytes = core::slice::from_raw_parts(block.as_ptr().cast::<u8>(), class.size());
                assert!(bytes.iter().all(|other| *other == byte));
                heaps.free_one(class, block);
            }
        }
        let stats = heaps.stats();
        assert_eq!((stats.cut, stats.bytes), (stats.free, heaps.node(0).stats().bytes));
        assert_eq!(stats.single_allocs, 10_000 * (round + 1));
        assert_eq!(stats.single_frees, stats.single_allocs);
        // 2500 of each class are 2.4 MB: pages of 256 KiB, 512 KiB, 1 MiB and 2 MiB.
        assert_eq!(stats.bytes, 15 * (256 << 10));
    }
}

#[test]
fn blocks_know_their_node_and_keep_their_contents() {
    let heaps = heaps(3);
    for (node, class) in [(2, SizeClass::B64), (0, SizeClass::B512), (1, SizeClass::B64)] {
        let block = heaps.alloc_one(node, class).unwrap();
        let mark = 0x78 + node as u8;
        // SAFETY: the block is this test's until it is freed; after that only this thread uses the
        // heap.
        unsafe {
            block.cast::<u8>().write_bytes(mark, class.size());
            heaps.free_one(class, block);
            // A sanitizer would report this access to a free block.
            allow(block.cast(), class.size());
            let bytes = core::slice::from_raw_parts(block.as_ptr().cast::<u8>(), class.size());
            assert!(bytes.iter().all(|byte| *byte == mark));
        }
        let stats = heaps.node(node).stats();
        assert_eq!((stats.single_frees, stats.free), (1, stats.cut));
    }
}

#[test]
fn mixed_batches_return_to_their_nodes() {
    let heaps = heaps(3);
    let batch = SizeClass::B64.batch();
    let mut magazine = Magazine::new(batch);
    for index in 0..batch {
        let block = heaps.alloc_one([1, 2, 1, 0][index % 4], SizeClass::B64).unwrap();
        // SAFETY: the block was just allocated, and no other thread uses it; the magazine has this
        // batch.
        assert!(unsafe { magazine.push(block.cast(), batch) });
    }
    // SAFETY: blocks of this class and from these heaps.
    let empty = unsafe { heaps.put(SizeClass::B64, magazine) };
    assert!(empty.is_none_or(|empty| empty.len() == 0));
    for node in 0..3 {
        let stats = heaps.node(node).stats();
        assert_eq!((stats.free, stats.returned), (stats.cut, 1));
        // Each block returned to its node.
        let mut magazine = Magazine::new(batch);
        while heaps.node(node).stats().free[0] != 0 {
            assert!(heaps.node(node).fetch(SizeClass::B64, &mut magazine));
            while let Some(block) = magazine.pop() {
                // SAFETY: the block comes from a node heap.
                assert_eq!(unsafe { header_of(block) }.node, node);
            }
        }
    }
}

#[test]
fn fetched_magazines_are_exchanged() {
    let heaps = heaps(1);
    for class in SizeClass::ALL {
        let mut magazines = Vec::new();
        for _ in 0..3 {
            let mut magazine = Magazine::new(class.batch());
            assert!(heaps.node(0).fetch(class, &mut magazine));
            magazines.push((magazine.blocks().as_ptr(), magazine.blocks().to_vec(), magazine));
        }
        let mut known: Vec<_> = magazines
            .into_iter()
            .map(|(array, blocks, magazine)| {
                // SAFETY: blocks of this class and from these heaps, returned once.
                assert!(unsafe { heaps.put(class, magazine) }.is_none());
                (array, blocks)
            })
            .collect();
        // The arrays come back with the same blocks, the last first.
        while let Some((array, blocks)) = known.pop() {
            let mut magazine = Magazine::new(class.batch());
            assert!(heaps.node(0).fetch(class, &mut magazine));
            assert_eq!((magazine.blocks().as_ptr(), magazine.blocks()), (array, &*blocks));
        }
        // For the next magazine that is returned, there is an empty array.
        let mut magazine = Magazine::new(class.batch());
        assert!(heaps.node(0).fetch(class, &mut magazine));
        // SAFETY: blocks of this class and from these heaps, returned once.
        assert!(unsafe { heaps.put(class, magazine) }.is_some_and(|empty| empty.len() == 0));
    }
}

#[test]
fn growth_falls_back_to_smaller_requests() {
    /// Supplies at most a chunk at once, and nothing at first.
    struct Poor(crate::sync::AtomicBool);
    // SAFETY: it supplies what `GlobalPages` supplies.
    unsafe impl PageSource for Poor {
        fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
            if bytes > CHUNK_BYTES || !self.0.swap(true, crate::sync::Relaxed) {
                return None;
            }
            GlobalPages.pages(bytes, align, node, huge)
        }
        unsafe fn release(&self, pages: Pages) {
            // SAFETY: it came from `GlobalPages`.
            unsafe { GlobalPages.release(pages) }
        }
    }
    // Bytes that could not be had do not count.
    let quota = Arc::new(Quota::new(Some(2 * CHUNK_BYTES as u64)));
    let heap = NodeHeap::new(0, Arc::new(Poor(crate::sync::AtomicBool::new(false))), quota, 0);
    assert!(heap.alloc_one(SizeClass::B64).is_none());
    (0..2000).for_each(|_| assert!(heap.alloc_one(SizeClass::B64).is_some()));
    assert_eq!(heap.stats().bytes, 2 * CHUNK_BYTES as u64);
}

/// Allocates all blocks of a class.
fn drain(heaps: &Heaps, class: SizeClass) -> Vec<NonNull<Block>> {
    core::iter::from_fn(|| heaps.alloc_one(0, class)).collect()
}

/// Frees blocks.
fn free(heaps: &Heaps, class: SizeClass, blocks: impl IntoIterator<Item = NonNull<Block>>) {
    // SAFETY: the tests free blocks of this class that they have allocated, once.
    blocks.into_iter().for_each(|block| unsafe { heaps.free_one(class, block) });
}

#[test]
#[cfg_attr(miri, ignore = "too slow; the limit is thousands of blocks away")]
fn nodes_share_the_limit_and_their_free_blocks() {
    let heaps = Heaps::new(3, Arc::new(GlobalPages), Some(7 * CHUNK_BYTES as u64 - 1), 0);
    let other = heaps.alloc_one(2, SizeClass::B64).unwrap();
    let blocks = drain(&heaps, SizeClass::B64);
    // The first pages are four chunks, so two are left for the other nodes.
    assert_eq!((heaps.stats().bytes, heaps.quota().refused()), (6 * CHUNK_BYTES as u64, 1));
    assert_eq!(blocks.len() + 1, 6 * SizeClass::B64.in_chunk(0));
    assert!((0..3).all(|node| heaps.alloc_one(node, SizeClass::B64).is_none()));
    free(&heaps, SizeClass::B64, [other]);
    let mut magazine = Magazine::new(SizeClass::B64.batch());
    assert!(heaps.fetch(1, SizeClass::B64, &mut magazine) && magazine.pop() == Some(other.cast()));
    assert!(!heaps.fetch(1, SizeClass::B64, &mut magazine));
    assert_eq!(heaps.quota().refused(), 5);
}

#[test]
#[cfg_attr(miri, ignore = "too slow; the limit is thousands of blocks away")]
fn free_chunks_of_one_class_serve_other_classes() {
    let classes = [
        (SizeClass::B64, SizeClass::B512),
        (SizeClass::B512, SizeClass::B128),
        (SizeClass::B128, SizeClass::B64),
    ];
    for (lead, (one, other)) in [0, 64, 128].into_iter().flat_map(|lead| classes.map(|pair| (lead, pair))) {
        let heaps = Heaps::new(1, Arc::new(GlobalPages), Some(8 * CHUNK_BYTES as u64), lead);
        let mut blocks = drain(&heaps, one);
        assert_eq!(
            (blocks.len(), heaps.stats().cut[one as usize]),
            (8 * one.in_chunk(lead), blocks.len() as u64)
        );
        assert!(heaps.alloc_one(0, other).is_none());
        // One block of one chunk stays allocated and unchanged.
        let kept = blocks.swap_remove(5 * one.in_chunk(lead) + 3);
        // SAFETY: the block is this test's, with its lead, and that long.
        unsafe { kept.cast::<u8>().byte_sub(lead).write_bytes(7, one.stride(lead)) };
        free(&heaps, one, blocks);
        let others = drain(&heaps, other);
        assert_eq!(others.len(), 7 * other.in_chunk(lead));
        for block in &others {
            // SAFETY: the block is this test's, with its lead, and that long.
            unsafe { block.cast::<u8>().byte_sub(lead).write_bytes(8, other.stride(lead)) };
        }
        // SAFETY: the block is this test's, and wholly written.
        let bytes = unsafe {
            core::slice::from_raw_parts(kept.as_ptr().cast::<u8>().byte_sub(lead), one.stride(lead))
        };
        assert!(bytes.iter().all(|byte| *byte == 7));
        let rest = drain(&heaps, one);
        assert_eq!(rest.len(), one.in_chunk(lead) - 1);
        free(&heaps, other, others);
        free(&heaps, one, rest.into_iter().chain([kept]));
        let stats = heaps.stats();
        assert_eq!((stats.cut, stats.bytes), (stats.free, 8 * CHUNK_BYTES as u64));
    }
}

#[test]
#[cfg_attr(miri, ignore = "too slow; the limit is thousands of blocks away")]
fn fruitless_searches_are_rare_and_resume() {
    let heaps = Heaps::new(1, Arc::new(GlobalPages), Some(4 * CHUNK_BYTES as u64), 0);
    let mut blocks = drain(&heaps, SizeClass::B64);
    let kept: Vec<_> =
        (0..4).rev().map(|chunk| blocks.swap_remove(chunk * SizeClass::B64.in_chunk(0))).collect();
    free(&heaps, SizeClass::B64, blocks);
    // Each chunk has an allocated block.
    assert!(heaps.alloc_one(0, SizeClass::B256).is_none());
    free(&heaps, SizeClass::B64, kept);
    let requests = (1..).find(|_| heaps.alloc_one(0, SizeClass::B256).is_some());
    assert_eq!(requests, Some(4 * (SizeClass::B64.in_chunk(0) - 1) / EXAMINED_PER_REFUSAL + 1));
}
