//! Tests of the node heaps.

use super::super::pages::GlobalPages;
use super::*;

fn heaps(nodes: usize) -> Arc<Heaps> {
    Heaps::new(nodes, Arc::new(GlobalPages), None, 0)
}

#[test]
fn classes_fit() {
    for bytes in 0..=512 {
        let class = Class::for_size(bytes).unwrap();
        assert!(class.size() >= bytes && (class == Class::B64 || class.size() < 2 * bytes));
    }
    assert_eq!(Class::for_size(513), None);
    assert!(Class::ALL.iter().enumerate().all(|(index, class)| *class as usize == index));
}

#[test]
#[cfg_attr(miri, ignore = "too slow; the core heap's tests do the same")]
fn blocks_are_disjoint_and_reused() {
    let heaps = heaps(1);
    let mut blocks = Vec::new();
    for round in 0..2 {
        for (index, class) in Class::ALL.into_iter().cycle().take(10_000).enumerate() {
            let block = heaps.alloc_one(0, class).unwrap();
            assert!(block.addr().get().is_multiple_of(64));
            // SAFETY: the block is ours and that long.
            unsafe { block.cast::<u8>().write_bytes(index as u8, class.size()) };
            blocks.push((block, class, index as u8));
        }
        for (block, class, byte) in blocks.drain(..) {
            // SAFETY: the block is ours, wholly written, and freed once.
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
fn blocks_find_their_node_and_are_left_alone() {
    let heaps = heaps(3);
    for (node, class) in [(2, Class::B64), (0, Class::B512), (1, Class::B64)] {
        let block = heaps.alloc_one(node, class).unwrap();
        let mark = 0x78 + node as u8;
        // SAFETY: the block is ours until it is freed; after that only this thread knows the heap.
        unsafe {
            block.cast::<u8>().write_bytes(mark, class.size());
            heaps.free_one(class, block);
            // A sanitizer would object, as to anybody else who looks.
            allow(block.cast(), class.size());
            let bytes = core::slice::from_raw_parts(block.as_ptr().cast::<u8>(), class.size());
            assert!(bytes.iter().all(|byte| *byte == mark));
        }
        let stats = heaps.node(node).stats();
        assert_eq!((stats.single_frees, stats.free), (1, stats.cut));
    }
}

#[test]
fn mixed_batches_are_sorted() {
    let heaps = heaps(3);
    let batch = Class::B64.batch();
    let mut magazine = Magazine::new(batch);
    for index in 0..batch {
        let block = heaps.alloc_one([1, 2, 1, 0][index % 4], Class::B64).unwrap();
        // SAFETY: the block was just allocated, and nobody else uses it; the magazine has this batch.
        assert!(unsafe { magazine.push(block.cast(), batch) });
    }
    // SAFETY: blocks of this class and from these heaps.
    let empty = unsafe { heaps.put(Class::B64, magazine) };
    assert!(empty.is_none_or(|empty| empty.len() == 0));
    for node in 0..3 {
        let stats = heaps.node(node).stats();
        assert_eq!((stats.free, stats.returned), (stats.cut, 1));
        // Each block went home.
        let mut magazine = Magazine::new(batch);
        while heaps.node(node).stats().free[0] != 0 {
            assert!(heaps.node(node).fetch(Class::B64, &mut magazine));
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
    for class in Class::ALL {
        let mut magazines = Vec::new();
        for _ in 0..3 {
            let mut magazine = Magazine::new(class.batch());
            assert!(heaps.node(0).fetch(class, &mut magazine));
            magazines.push((magazine.blocks().as_ptr(), magazine.blocks().to_vec(), magazine));
        }
        let mut known: Vec<_> = magazines
            .into_iter()
            .map(|(array, blocks, magazine)| {
                // SAFETY: blocks of this class and from these heaps, given back once.
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
        // For what is given back next, there is an empty array.
        let mut magazine = Magazine::new(class.batch());
        assert!(heaps.node(0).fetch(class, &mut magazine));
        // SAFETY: blocks of this class and from these heaps, given back once.
        assert!(unsafe { heaps.put(class, magazine) }.is_some_and(|empty| empty.len() == 0));
    }
}

#[test]
fn growth_falls_back_to_less() {
    /// Supplies no more than a chunk at once, and nothing at first.
    struct Poor(crate::sync::AtomicBool);
    // SAFETY: what it supplies is what `GlobalPages` does.
    unsafe impl PageSource for Poor {
        fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
            if bytes > CHUNK || !self.0.swap(true, crate::sync::Relaxed) {
                return None;
            }
            GlobalPages.pages(bytes, align, node, huge)
        }
        unsafe fn release(&self, pages: Pages) {
            // SAFETY: it came from `GlobalPages`.
            unsafe { GlobalPages.release(pages) }
        }
    }
    // What could not be had does not count.
    let quota = Arc::new(Quota::new(Some(2 * CHUNK as u64)));
    let heap = NodeHeap::new(0, Arc::new(Poor(crate::sync::AtomicBool::new(false))), quota, 0);
    assert!(heap.alloc_one(Class::B64).is_none());
    (0..2000).for_each(|_| assert!(heap.alloc_one(Class::B64).is_some()));
    assert_eq!(heap.stats().bytes, 2 * CHUNK as u64);
}

/// All blocks of a class that there are.
fn drain(heaps: &Heaps, class: Class) -> Vec<NonNull<Block>> {
    core::iter::from_fn(|| heaps.alloc_one(0, class)).collect()
}

/// Frees blocks.
fn free(heaps: &Heaps, class: Class, blocks: impl IntoIterator<Item = NonNull<Block>>) {
    // SAFETY: the tests free blocks of this class that they have allocated, once.
    blocks.into_iter().for_each(|block| unsafe { heaps.free_one(class, block) });
}

#[test]
#[cfg_attr(miri, ignore = "too slow; the limit is thousands of blocks away")]
fn nodes_share_the_limit_and_what_they_have() {
    let heaps = Heaps::new(3, Arc::new(GlobalPages), Some(7 * CHUNK as u64 - 1), 0);
    let other = heaps.alloc_one(2, Class::B64).unwrap();
    let blocks = drain(&heaps, Class::B64);
    // The first pages are four chunks, so there are two for the others.
    assert_eq!((heaps.stats().bytes, heaps.quota().refused()), (6 * CHUNK as u64, 1));
    assert_eq!(blocks.len() + 1, 6 * Class::B64.in_chunk(0));
    assert!((0..3).all(|node| heaps.alloc_one(node, Class::B64).is_none()));
    free(&heaps, Class::B64, [other]);
    let mut magazine = Magazine::new(Class::B64.batch());
    assert!(heaps.fetch(1, Class::B64, &mut magazine) && magazine.pop() == Some(other.cast()));
    assert!(!heaps.fetch(1, Class::B64, &mut magazine));
    assert_eq!(heaps.quota().refused(), 5);
}

#[test]
#[cfg_attr(miri, ignore = "too slow; the limit is thousands of blocks away")]
fn what_one_class_has_used_up_serves_the_others_when_it_is_free() {
    let classes = [(Class::B64, Class::B512), (Class::B512, Class::B128), (Class::B128, Class::B64)];
    for (lead, (one, other)) in [0, 64, 128].into_iter().flat_map(|lead| classes.map(|pair| (lead, pair))) {
        let heaps = Heaps::new(1, Arc::new(GlobalPages), Some(8 * CHUNK as u64), lead);
        let mut blocks = drain(&heaps, one);
        assert_eq!(
            (blocks.len(), heaps.stats().cut[one as usize]),
            (8 * one.in_chunk(lead), blocks.len() as u64)
        );
        assert!(heaps.alloc_one(0, other).is_none());
        // One block of one chunk is in use, and stays as it is.
        let kept = blocks.swap_remove(5 * one.in_chunk(lead) + 3);
        // SAFETY: the block is ours, with its lead, and that long.
        unsafe { kept.cast::<u8>().byte_sub(lead).write_bytes(7, one.stride(lead)) };
        free(&heaps, one, blocks);
        let others = drain(&heaps, other);
        assert_eq!(others.len(), 7 * other.in_chunk(lead));
        for block in &others {
            // SAFETY: the block is ours, with its lead, and that long.
            unsafe { block.cast::<u8>().byte_sub(lead).write_bytes(8, other.stride(lead)) };
        }
        // SAFETY: the block is ours, and wholly written.
        let bytes = unsafe {
            core::slice::from_raw_parts(kept.as_ptr().cast::<u8>().byte_sub(lead), one.stride(lead))
        };
        assert!(bytes.iter().all(|byte| *byte == 7));
        let rest = drain(&heaps, one);
        assert_eq!(rest.len(), one.in_chunk(lead) - 1);
        free(&heaps, other, others);
        free(&heaps, one, rest.into_iter().chain([kept]));
        let stats = heaps.stats();
        assert_eq!((stats.cut, stats.bytes), (stats.free, 8 * CHUNK as u64));
    }
}

#[test]
#[cfg_attr(miri, ignore = "too slow; the limit is thousands of blocks away")]
fn looking_in_vain_is_seldom_and_not_for_ever() {
    let heaps = Heaps::new(1, Arc::new(GlobalPages), Some(4 * CHUNK as u64), 0);
    let mut blocks = drain(&heaps, Class::B64);
    let kept: Vec<_> = (0..4).rev().map(|chunk| blocks.swap_remove(chunk * Class::B64.in_chunk(0))).collect();
    free(&heaps, Class::B64, blocks);
    // Each chunk has a block in use.
    assert!(heaps.alloc_one(0, Class::B256).is_none());
    free(&heaps, Class::B64, kept);
    let requests = (1..).find(|_| heaps.alloc_one(0, Class::B256).is_some());
    assert_eq!(requests, Some(4 * (Class::B64.in_chunk(0) - 1) / LOOKED_AT_PER_REQUEST + 1));
}
