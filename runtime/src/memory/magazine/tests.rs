//! Tests of magazines and depots.

use super::*;

const BATCH: usize = 8;

/// Block number `number`, without memory: magazines and depots do not touch it.
fn block(number: usize) -> NonNull<u8> {
    NonNull::without_provenance((number + 1).try_into().unwrap())
}

/// A magazine of the blocks with these numbers.
fn magazine(numbers: core::ops::Range<usize>) -> Magazine {
    let mut magazine = Magazine::new(BATCH);
    // SAFETY: each test uses a number once, and the batch is right.
    numbers.for_each(|number| assert!(unsafe { magazine.push(block(number), BATCH) }));
    magazine
}

/// The numbers of all blocks in `magazine`, sorted.
fn numbers(magazine: &Magazine) -> Vec<usize> {
    let mut numbers: Vec<_> = magazine.blocks().iter().map(|block| block.addr().get() - 1).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_magazine_is_a_stack_of_a_batch() {
    let mut magazine = magazine(0..BATCH);
    for _ in 0..2 {
        // SAFETY: the block was not taken, or was popped before.
        unsafe {
            assert!(!magazine.push(block(BATCH), BATCH));
            magazine.prefetch();
            for number in (0..BATCH).rev() {
                assert_eq!((magazine.pop(), magazine.len()), (Some(block(number)), number));
            }
            assert_eq!((magazine.pop(), magazine.len()), (None, 0));
            magazine.prefetch();
            (0..BATCH).for_each(|number| assert!(magazine.push(block(number), BATCH)));
        }
    }
}

#[test]
fn splitting_a_filled_magazine_keeps_the_order() {
    let memory = [0u8; 2 * BATCH];
    let start = NonNull::from(&memory).cast::<u8>();
    let mut all = Magazine::new(BATCH);
    // SAFETY: the memory is that long, and not used otherwise.
    unsafe { all.fill(start, 2, BATCH - 1) };
    let index = |block: NonNull<u8>| (block.addr().get() - start.addr().get()) / 2;
    let mut even = Magazine::new(BATCH);
    all.split(&mut even, |block| index(block).is_multiple_of(2));
    let popped =
        |mut magazine: Magazine| -> Vec<_> { core::iter::from_fn(|| magazine.pop()).map(index).collect() };
    // The first block comes first, and splitting does not change that.
    assert_eq!((popped(even), popped(all)), ([0, 2, 4, 6].into(), [1, 3, 5].into()));
}

#[test]
fn loose_blocks_become_batches() {
    for (first, second) in [(0, 3), (3, 0), (2, 3), (3, 5), (5, 3), (6, 7), (7, 7)] {
        let mut depot = Depot::new(BATCH);
        // SAFETY: each block is put once, in magazines of this batch.
        unsafe {
            assert_eq!(depot.put(magazine(0..first)).unwrap().len(), 0);
            let empty = depot.put(magazine(first..first + second));
            // The array stays if a batch is full.
            assert_eq!(empty.map(|empty| empty.len()), (first + second < BATCH).then_some(0));
        }
        let all = first + second;
        assert_eq!((depot.len(), depot.full.len()), (all, all / BATCH));
        let mut seen = Vec::new();
        let mut magazine = Magazine::new(BATCH);
        while depot.exchange(&mut magazine) {
            assert!(magazine.len() == BATCH || magazine.len() == all % BATCH);
            seen.extend(numbers(&magazine));
            magazine = Magazine::new(BATCH);
        }
        seen.sort_unstable();
        assert_eq!((seen, depot.len()), ((0..all).collect(), 0));
    }
}

#[test]
fn arrays_are_reused() {
    let mut depot = Depot::new(BATCH);
    let mut magazine = magazine(0..BATCH);
    let arrays = [magazine.words.as_ptr(), depot.loose.words.as_ptr()];
    for _ in 0..3 {
        // SAFETY: each block is put once, after it was taken, in a magazine of this batch.
        unsafe {
            assert!(depot.put(magazine).is_none());
            let one = depot.take_one().unwrap();
            depot.put_one(one);
        }
        // The loose blocks' array was set aside and reused, so that none is left over.
        assert_eq!((depot.len(), depot.full.len(), depot.empty.len()), (BATCH, 1, 0));
        magazine = Magazine::new(BATCH);
        let own = magazine.words.as_ptr();
        assert!(depot.exchange(&mut magazine));
        assert!(arrays.contains(&magazine.words.as_ptr()));
        assert_eq!((depot.empty.len(), depot.empty[0].words.as_ptr()), (1, own));
        depot.empty.clear();
    }
}
