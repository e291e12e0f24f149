//! Magazines: arrays of free blocks, after those of Bonwick's and Adams's vmem. A whole array moves
//! by one pointer, and a free block's memory is not touched until it is allocated, in whatever
//! cache it is.

use crate::sync::global::AtomicU64;
use crate::sync::under_model;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::borrow::BorrowMut;
use core::mem::{replace, swap};
use core::ptr::NonNull;

/// How many pops before its own a block is prefetched.
const PREFETCH_DISTANCE: usize = 3;

/// An array that can be handed over.
pub(crate) type BoxedBlocks = Box<[NonNull<u8>]>;
/// An array for two batches of up to `MAX_BATCH` blocks inside its holder, which saves a core's
/// heap one indirection.
pub(crate) type InlineBlocks = [NonNull<u8>; PREFETCH_DISTANCE + 2 * MAX_BATCH];
/// The largest number of blocks in a batch. (Loom's threads have small stacks.)
pub(crate) const MAX_BATCH: usize = under_model(128, 16) as usize;

/// Free blocks of one size that only the holder uses: up to a batch in an array that can be handed
/// over, up to two in one that cannot.
///
/// Dropping it frees the array and leaks the blocks.
pub(crate) struct Magazine<W = BoxedBlocks> {
    /// The blocks, from word `PREFETCH_DISTANCE` on. The words before hold any valid address, so
    /// that prefetching below the first block is possible too.
    words: W,
    len: usize,
}

// SAFETY: the magazine owns its blocks, and memory may be used by any thread.
unsafe impl<W> Send for Magazine<W> {}

impl Magazine<InlineBlocks> {
    /// Creates an empty magazine.
    pub fn inline() -> Self {
        // Writable memory, as it is prefetched for writing.
        static PREFETCH_TARGET: AtomicU64 = AtomicU64::new(0);
        Self { words: [NonNull::from(&PREFETCH_TARGET).cast(); PREFETCH_DISTANCE + 2 * MAX_BATCH], len: 0 }
    }

    /// Takes all blocks of `other`; this magazine must be empty.
    pub fn take(&mut self, other: &mut Magazine) {
        debug_assert_eq!(self.len, 0, "only an empty magazine is filled");
        self.len = replace(&mut other.len, 0);
        self.words[PREFETCH_DISTANCE..][..self.len]
            .copy_from_slice(&other.words[PREFETCH_DISTANCE..][..self.len]);
    }

    /// Moves to `other`, which must be empty, the blocks that would be popped last: as many as it
    /// has room for.
    pub fn shed(&mut self, other: &mut Magazine) {
        debug_assert_eq!(other.len, 0, "only an empty magazine is filled");
        other.len = self.len.min(other.capacity());
        let blocks = &mut self.words[PREFETCH_DISTANCE..][..self.len];
        other.words[PREFETCH_DISTANCE..][..other.len].copy_from_slice(&blocks[..other.len]);
        blocks.copy_within(other.len.., 0);
        self.len -= other.len;
    }
}

impl Magazine {
    /// Creates an empty magazine for batches of `batch` blocks.
    pub fn new(batch: usize) -> Self {
        let mut words = vec![NonNull::dangling(); PREFETCH_DISTANCE + batch].into_boxed_slice();
        let own = NonNull::from(&mut *words).cast();
        words[..PREFETCH_DISTANCE].fill(own);
        Self { words, len: 0 }
    }
}

impl<W: BorrowMut<[NonNull<u8>]>> Magazine<W> {
    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of blocks that there is room for.
    fn capacity(&self) -> usize {
        self.words.borrow().len() - PREFETCH_DISTANCE
    }

    /// Returns the blocks; the last one is popped first.
    pub fn blocks(&self) -> &[NonNull<u8>] {
        &self.words.borrow()[PREFETCH_DISTANCE..][..self.len]
    }

    /// Takes the block pushed last, if there is any, and prefetches one that comes soon.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<NonNull<u8>> {
        let len = self.len.checked_sub(1)?;
        self.len = len;
        let words = self.words.borrow();
        // SAFETY: there were `len + 1` blocks, so the array has at least `PREFETCH_DISTANCE + len +
        // 1` words.
        let (ahead, block) =
            unsafe { (*words.get_unchecked(len), *words.get_unchecked(PREFETCH_DISTANCE + len)) };
        prefetch(ahead);
        Some(block)
    }

    /// Takes a block. Returns false, without taking it, if the magazine is full.
    ///
    /// # Safety
    ///
    /// `block` is free, and the magazine takes it over. The magazine counts as full with `most`
    /// blocks, and has room for as many. (The caller's number may be a constant, and less than the
    /// capacity.)
    #[inline(always)]
    pub unsafe fn push(&mut self, block: NonNull<u8>, most: usize) -> bool {
        debug_assert!(self.len <= most && most <= self.capacity());
        if self.len == most {
            return false;
        }
        // SAFETY: there are fewer than `most` blocks, and by the contract the array has `AHEAD +
        // most` words.
        unsafe { *self.words.borrow_mut().get_unchecked_mut(PREFETCH_DISTANCE + self.len) = block };
        self.len += 1;
        true
    }

    /// Prefetches the next blocks to be popped, which no earlier pop has prefetched.
    pub fn prefetch(&self) {
        self.words.borrow()[self.len..].iter().take(PREFETCH_DISTANCE).for_each(|block| prefetch(*block));
    }
}

impl Magazine {
    /// Fills the magazine, which must be empty, with `len` adjacent blocks, one every `stride`
    /// bytes. The one at `start` is popped first.
    ///
    /// # Safety
    ///
    /// All of this memory is free and in one region, and only the caller uses it; the magazine
    /// takes it over.
    pub unsafe fn fill(&mut self, start: NonNull<u8>, stride: usize, len: usize) {
        debug_assert_eq!(self.len, 0, "only an empty magazine is filled");
        for (word, index) in self.words[PREFETCH_DISTANCE..][..len].iter_mut().zip((0..len).rev()) {
            // SAFETY: the block is inside the memory that the contract describes.
            *word = unsafe { start.byte_add(index * stride) };
        }
        self.len = len;
    }

    /// Moves the blocks that are `wanted` to `other`, which must be an empty magazine for the same
    /// batch.
    pub fn split(&mut self, other: &mut Self, wanted: impl Fn(NonNull<u8>) -> bool) {
        debug_assert!(other.len == 0 && other.capacity() == self.capacity());
        for index in PREFETCH_DISTANCE..PREFETCH_DISTANCE + replace(&mut self.len, 0) {
            let block = self.words[index];
            let to = if wanted(block) { &mut *other } else { &mut *self };
            to.words[PREFETCH_DISTANCE + to.len] = block;
            to.len += 1;
        }
    }

    /// Drops the blocks for which `stays` returns false, without freeing them.
    fn retain(&mut self, stays: &mut impl FnMut(NonNull<u8>) -> bool) {
        for index in PREFETCH_DISTANCE..PREFETCH_DISTANCE + replace(&mut self.len, 0) {
            let block = self.words[index];
            if stays(block) {
                self.words[PREFETCH_DISTANCE + self.len] = block;
                self.len += 1;
            }
        }
    }

    /// Moves as many blocks to `other` as it has room for.
    fn move_to(&mut self, other: &mut Self) {
        let count = self.len.min(other.capacity() - other.len);
        self.len -= count;
        other.words[PREFETCH_DISTANCE + other.len..][..count]
            .copy_from_slice(&self.words[PREFETCH_DISTANCE + self.len..][..count]);
        other.len += count;
    }
}

/// Prefetches a block's first line for writing. Any address is allowed.
#[inline(always)]
fn prefetch(block: NonNull<u8>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults and changes no register or memory; processors without this
    // instruction skip it.
    unsafe {
        core::arch::asm!(
            "prefetchw [{0}]",
            in(reg) block.as_ptr(),
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = block;
}

/// Free blocks of one size that no core has: full magazines, and one of loose blocks.
///
/// Every operation is O(1), except [`put`](Self::put) of less than a batch.
pub(crate) struct Depot {
    full: Vec<Magazine>,
    /// Less than a batch.
    loose: Magazine,
    /// Empty magazines that were exchanged for full ones.
    empty: Vec<Magazine>,
}

impl Depot {
    /// Creates an empty depot for batches of `batch` blocks.
    pub fn new(batch: usize) -> Self {
        Self { full: Vec::new(), loose: Magazine::new(batch), empty: Vec::new() }
    }

    /// Exchanges `magazine`, which must be empty and for this depot's batches, for a full one, or
    /// for the loose blocks if there is none. Returns false if there are no blocks at all.
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

    /// Returns all blocks of the depot.
    pub fn blocks(&self) -> impl Iterator<Item = NonNull<u8>> + '_ {
        self.full.iter().chain([&self.loose]).flat_map(Magazine::blocks).copied()
    }

    /// Drops the blocks for which `stays` returns false; it is called once for each.
    pub fn retain(&mut self, mut stays: impl FnMut(NonNull<u8>) -> bool) {
        self.loose.retain(&mut stays);
        // From the end: a magazine that `swap_remove` moves has been processed already.
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

    /// Takes a magazine with its blocks. Returns an empty one if there is one.
    ///
    /// # Safety
    ///
    /// The blocks are of this depot's size, and the magazine for its batches.
    pub unsafe fn put(&mut self, mut magazine: Magazine) -> Option<Magazine> {
        if magazine.len < magazine.capacity() {
            if self.loose.len < magazine.len {
                swap(&mut self.loose, &mut magazine);
            }
            magazine.move_to(&mut self.loose);
            if self.loose.len < self.loose.capacity() {
                return Some(magazine);
            }
            // The rest is less than a batch again.
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
    /// `block` is free and of this depot's size; the depot takes it over.
    pub unsafe fn put_one(&mut self, block: NonNull<u8>) {
        let batch = self.loose.capacity();
        // SAFETY: this function's contract; the batch is the magazine's own.
        let taken = unsafe { self.loose.push(block, batch) };
        debug_assert!(taken, "there is less than a batch of loose blocks");
        if self.loose.len == batch {
            let empty = self.empty.pop().unwrap_or_else(|| Magazine::new(batch));
            self.full.push(replace(&mut self.loose, empty));
        }
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.full.len() * self.loose.capacity() + self.loose.len
    }
}

#[cfg(test)]
mod tests;
