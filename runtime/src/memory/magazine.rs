//! Arrays of free blocks, after the magazines of Bonwick's and Adams's vmem: a whole array moves by one pointer, and
//! nobody touches a free block's memory until somebody allocates it, in whatever cache it may be.

use crate::sync::global::AtomicU64;
use crate::sync::under_model;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::borrow::BorrowMut;
use core::mem::{replace, swap};
use core::ptr::NonNull;

/// How many pops before its own a block is prefetched.
const AHEAD: usize = 3;

/// An array that can be handed over.
pub(crate) type Boxed = Box<[NonNull<u8>]>;
/// An array for two batches of up to `BATCH` blocks that lies in its holder: to a core's heap it is one step less away.
pub(crate) type Inline = [NonNull<u8>; AHEAD + 2 * BATCH];
/// The most blocks in a batch. (Loom's threads have small stacks.)
pub(crate) const BATCH: usize = under_model(128, 16) as usize;

/// Free blocks of one size, that are the holder's alone: up to a batch in an array that can be handed over, up to two in
/// one that cannot.
///
/// Dropping it frees the array and forgets the blocks.
pub(crate) struct Magazine<W = Boxed> {
    /// The blocks from the word `AHEAD` on, so that a prefetch finds something below the first ones too: the words
    /// before hold some valid address.
    words: W,
    len: usize,
}

// SAFETY: the magazine owns its blocks, and memory does not care which thread uses it.
unsafe impl<W> Send for Magazine<W> {}

impl Magazine<Inline> {
    /// An empty magazine.
    pub fn inline() -> Self {
        // Writable memory, as it is fetched for writing.
        static SOMEWHERE: AtomicU64 = AtomicU64::new(0);
        Self { words: [NonNull::from(&SOMEWHERE).cast(); AHEAD + 2 * BATCH], len: 0 }
    }

    /// Takes all blocks of `other`; there are none here.
    pub fn take(&mut self, other: &mut Magazine) {
        debug_assert_eq!(self.len, 0, "what is filled is empty");
        self.len = replace(&mut other.len, 0);
        self.words[AHEAD..][..self.len].copy_from_slice(&other.words[AHEAD..][..self.len]);
    }

    /// Gives to `other`, which is empty, the blocks that would be popped last, as many as it has room for.
    pub fn shed(&mut self, other: &mut Magazine) {
        debug_assert_eq!(other.len, 0, "what is filled is empty");
        other.len = self.len.min(other.capacity());
        let blocks = &mut self.words[AHEAD..][..self.len];
        other.words[AHEAD..][..other.len].copy_from_slice(&blocks[..other.len]);
        blocks.copy_within(other.len.., 0);
        self.len -= other.len;
    }
}

impl Magazine {
    /// An empty magazine for batches of `batch` blocks.
    pub fn new(batch: usize) -> Self {
        let mut words = vec![NonNull::dangling(); AHEAD + batch].into_boxed_slice();
        let own = NonNull::from(&mut *words).cast();
        words[..AHEAD].fill(own);
        Self { words, len: 0 }
    }
}

impl<W: BorrowMut<[NonNull<u8>]>> Magazine<W> {
    /// How many blocks are here.
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many blocks there is room for.
    fn capacity(&self) -> usize {
        self.words.borrow().len() - AHEAD
    }

    /// The blocks; the last one is popped first.
    pub fn blocks(&self) -> &[NonNull<u8>] {
        &self.words.borrow()[AHEAD..][..self.len]
    }

    /// The block pushed last, if there is any; prefetches one that comes soon.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<NonNull<u8>> {
        let len = self.len.checked_sub(1)?;
        self.len = len;
        let words = self.words.borrow();
        // SAFETY: there were `len + 1` blocks, so the array has at least `AHEAD + len + 1` words.
        let (ahead, block) = unsafe { (*words.get_unchecked(len), *words.get_unchecked(AHEAD + len)) };
        prefetch(ahead);
        Some(block)
    }

    /// Takes a block; `false` if the magazine is full and did not.
    ///
    /// # Safety
    ///
    /// `block` is free and becomes the magazine's, which is full with `most` blocks and has room for as many. (The
    /// caller's number may be a constant, and less than there is room for.)
    #[inline(always)]
    pub unsafe fn push(&mut self, block: NonNull<u8>, most: usize) -> bool {
        debug_assert!(self.len <= most && most <= self.capacity());
        if self.len == most {
            return false;
        }
        // SAFETY: there are fewer than `most` blocks, and by the caller's promise the array has `AHEAD + most` words.
        unsafe { *self.words.borrow_mut().get_unchecked_mut(AHEAD + self.len) = block };
        self.len += 1;
        true
    }

    /// Prefetches the blocks that the next pops, doing so for later ones, would come too late for.
    pub fn prefetch(&self) {
        self.words.borrow()[self.len..].iter().take(AHEAD).for_each(|block| prefetch(*block));
    }
}

impl Magazine {
    /// Fills the magazine, which is empty, with `len` blocks that lie side by side, every `stride` bytes; the one at
    /// `start` is popped first.
    ///
    /// # Safety
    ///
    /// All of this memory is free, the caller's alone until it becomes the magazine's, and in one region.
    pub unsafe fn fill(&mut self, start: NonNull<u8>, stride: usize, len: usize) {
        debug_assert_eq!(self.len, 0, "what is filled is empty");
        for (word, index) in self.words[AHEAD..][..len].iter_mut().zip((0..len).rev()) {
            // SAFETY: the block is inside of the memory that the caller promised.
            *word = unsafe { start.byte_add(index * stride) };
        }
        self.len = len;
    }

    /// Moves the blocks that are `wanted` to `other`, which is an empty magazine of the same batch.
    pub fn split(&mut self, other: &mut Self, wanted: impl Fn(NonNull<u8>) -> bool) {
        debug_assert!(other.len == 0 && other.capacity() == self.capacity());
        for index in AHEAD..AHEAD + replace(&mut self.len, 0) {
            let block = self.words[index];
            let to = if wanted(block) { &mut *other } else { &mut *self };
            to.words[AHEAD + to.len] = block;
            to.len += 1;
        }
    }

    /// Forgets the blocks that `stays` says no to.
    fn retain(&mut self, stays: &mut impl FnMut(NonNull<u8>) -> bool) {
        for index in AHEAD..AHEAD + replace(&mut self.len, 0) {
            let block = self.words[index];
            if stays(block) {
                self.words[AHEAD + self.len] = block;
                self.len += 1;
            }
        }
    }

    /// Moves as many blocks as there is room for to `other`.
    fn pour(&mut self, other: &mut Self) {
        let count = self.len.min(other.capacity() - other.len);
        self.len -= count;
        other.words[AHEAD + other.len..][..count].copy_from_slice(&self.words[AHEAD + self.len..][..count]);
        other.len += count;
    }
}

/// Asks for a block's first line, to be written soon; any address will do.
#[inline(always)]
fn prefetch(block: NonNull<u8>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults and changes no register or memory; processors that lack this one skip it.
    unsafe {
        core::arch::asm!("prefetchw [{0}]", in(reg) block.as_ptr(), options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = block;
}

/// Free blocks of one size which no core has: full magazines, and one of loose blocks.
///
/// Every operation is O(1) but for [`put`](Self::put) of less than a batch.
pub(crate) struct Depot {
    full: Vec<Magazine>,
    /// Less than a batch.
    loose: Magazine,
    /// What was exchanged for full ones.
    empty: Vec<Magazine>,
}

impl Depot {
    /// An empty depot for batches of `batch` blocks.
    pub fn new(batch: usize) -> Self {
        Self { full: Vec::new(), loose: Magazine::new(batch), empty: Vec::new() }
    }

    /// Exchanges `magazine`, which is an empty one for this depot's batches, for a full one, or the loose blocks if
    /// there is none; `false` if there are no blocks at all.
    pub fn exchange(&mut self, magazine: &mut Magazine) -> bool {
        debug_assert!(magazine.len == 0 && magazine.capacity() == self.loose.capacity());
        if planted!("magazine-given-twice")
            && let Some(full) = self.full.last()
        {
            *magazine = Magazine { words: full.words.clone(), len: full.len };
            return true;
        }
        if let Some(full) = self.full.pop() {
            self.empty.push(replace(magazine, full));
            return true;
        }
        swap(magazine, &mut self.loose);
        magazine.len != 0
    }

    /// All blocks that are here.
    pub fn blocks(&self) -> impl Iterator<Item = NonNull<u8>> + '_ {
        self.full.iter().chain([&self.loose]).flat_map(Magazine::blocks).copied()
    }

    /// Forgets the blocks that `stays` says no to; it is asked once about each.
    pub fn retain(&mut self, mut stays: impl FnMut(NonNull<u8>) -> bool) {
        self.loose.retain(&mut stays);
        // From the end: what comes to stand there has been looked at.
        for index in (0..self.full.len()).rev() {
            self.full[index].retain(&mut stays);
            if self.full[index].len < self.loose.capacity() {
                let rest = self.full.swap_remove(index);
                // SAFETY: the blocks are this depot's own, and so is the magazine.
                let empty = unsafe { self.put(rest) };
                self.empty.extend(empty);
            }
        }
    }

    /// Takes a magazine with its blocks. Returns an empty one if there is one at hand.
    ///
    /// # Safety
    ///
    /// The blocks are of this depot's size, and the magazine for its batches.
    pub unsafe fn put(&mut self, mut magazine: Magazine) -> Option<Magazine> {
        if magazine.len < magazine.capacity() {
            if self.loose.len < magazine.len {
                swap(&mut self.loose, &mut magazine);
            }
            magazine.pour(&mut self.loose);
            if self.loose.len < self.loose.capacity() {
                return Some(magazine);
            }
            // What is left is less than a batch again.
            swap(&mut self.loose, &mut magazine);
        }
        self.full.push(magazine);
        self.empty.pop()
    }

    pub fn take_one(&mut self) -> Option<NonNull<u8>> {
        if self.loose.len == 0 {
            let full = self.full.pop()?;
            self.empty.push(replace(&mut self.loose, full));
        }
        self.loose.pop()
    }

    /// Takes one block back.
    ///
    /// # Safety
    ///
    /// `block` is free, of this depot's size, and becomes the depot's.
    pub unsafe fn put_one(&mut self, block: NonNull<u8>) {
        let batch = self.loose.capacity();
        // SAFETY: the caller's promise; the batch is the magazine's own.
        let taken = unsafe { self.loose.push(block, batch) };
        debug_assert!(taken, "there is less than a batch of loose blocks");
        if self.loose.len == batch {
            let empty = self.empty.pop().unwrap_or_else(|| Magazine::new(batch));
            self.full.push(replace(&mut self.loose, empty));
        }
    }

    /// How many blocks are here.
    pub fn len(&self) -> usize {
        self.full.len() * self.loose.capacity() + self.loose.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: usize = 8;

    /// Block number `number`, which has no memory: magazines and depots do not touch it.
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
            // SAFETY: the block is not taken, or was popped before.
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
    fn filled_and_split() {
        let memory = [0u8; 2 * BATCH];
        let start = NonNull::from(&memory).cast::<u8>();
        let mut all = Magazine::new(BATCH);
        // SAFETY: nobody uses the memory, which is as long.
        unsafe { all.fill(start, 2, BATCH - 1) };
        let index = |block: NonNull<u8>| (block.addr().get() - start.addr().get()) / 2;
        let mut even = Magazine::new(BATCH);
        all.split(&mut even, |block| index(block).is_multiple_of(2));
        let popped = |mut magazine: Magazine| -> Vec<_> {
            core::iter::from_fn(|| magazine.pop()).map(index).collect()
        };
        // The first one comes first, and splitting does not change that.
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
    fn arrays_are_used_again() {
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
            // The loose blocks' array was set aside and used again, so there is none left over.
            assert_eq!((depot.len(), depot.full.len(), depot.empty.len()), (BATCH, 1, 0));
            magazine = Magazine::new(BATCH);
            let own = magazine.words.as_ptr();
            assert!(depot.exchange(&mut magazine));
            assert!(arrays.contains(&magazine.words.as_ptr()));
            assert_eq!((depot.empty.len(), depot.empty[0].words.as_ptr()), (1, own));
            depot.empty.clear();
        }
    }
}
