//! Free blocks that are linked through themselves: cheap where a block is freed and used again by one core, and any
//! number of them moves by one pointer.

use crate::sync::{AtomicPtr, AtomicUsize, Relaxed};
use core::cell::Cell;
use core::ptr::{NonNull, null_mut};

/// Where a free block links to the next in its list.
const NEXT: usize = 8;
/// Bytes at the start of a free block that lists use.
pub(super) const LINKS: usize = 16;

/// The block that follows the free block `block` in its list.
///
/// # Safety
///
/// `block` is in a list whose links the caller may read.
#[inline(always)]
unsafe fn next(block: NonNull<u8>) -> *mut u8 {
    // SAFETY: a block is aligned and has at least 16 bytes; being in a list, its link is written.
    unsafe { block.byte_add(NEXT).cast().read() }
}

/// Sets the block that follows the free block `block` in its list.
///
/// # Safety
///
/// `block` is free, at least 16 bytes long, aligned to a word, and the caller's alone.
#[inline(always)]
unsafe fn set_next(block: NonNull<u8>, next: *mut u8) {
    // SAFETY: by the caller's promise the link is inside of the block, aligned, and nobody else looks at it.
    unsafe { block.byte_add(NEXT).cast().write(next) }
}

/// Free blocks, linked through themselves, that are the holder's alone.
pub(crate) struct List {
    head: *mut u8,
    len: usize,
}

// SAFETY: the list owns its blocks, and memory does not care which thread uses it.
unsafe impl Send for List {}

impl List {
    pub const EMPTY: Self = Self { head: null_mut(), len: 0 };

    /// The list of `len` blocks that starts at `head`.
    ///
    /// # Safety
    ///
    /// There are exactly that many, linked to each other, the last to null; they are free and become the list's.
    pub const unsafe fn from_raw(head: *mut u8, len: usize) -> Self {
        Self { head, len }
    }

    pub const fn len(&self) -> usize {
        self.len
    }

    pub const fn head(&self) -> *mut u8 {
        self.head
    }

    pub fn pop(&mut self) -> Option<NonNull<u8>> {
        let head = NonNull::new(self.head)?;
        // SAFETY: the block is in this list, which is ours.
        self.head = unsafe { next(head) };
        self.len -= 1;
        Some(head)
    }

    /// Adds a block.
    ///
    /// # Safety
    ///
    /// `block` is free, fit for a link, and becomes the list's.
    pub unsafe fn push(&mut self, block: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { set_next(block, self.head) };
        self.head = block.as_ptr();
        self.len += 1;
    }
}

/// Free blocks of one size which no shard has: a stack of full batches, and some loose ones.
///
/// Batches are stacked through the first word of each batch's first block. Every operation is O(1) but for
/// [`put`](Self::put) of less than a batch.
pub(crate) struct ListDepot {
    top: *mut u8,
    batches: usize,
    loose: List,
    batch: usize,
}

// SAFETY: the depot owns its blocks, and memory does not care which thread uses it.
unsafe impl Send for ListDepot {}

impl ListDepot {
    /// An empty depot for batches of `batch` blocks, each at least 16 bytes long.
    pub const fn new(batch: usize) -> Self {
        Self { top: null_mut(), batches: 0, loose: List::EMPTY, batch }
    }

    /// A batch, or fewer blocks than that if there is none; `None` if there are no blocks at all.
    pub fn take(&mut self) -> Option<List> {
        if let Some(top) = NonNull::new(self.top) {
            // SAFETY: the block is the first of a batch in the stack, which is ours, and has this link.
            self.top = unsafe { top.cast().read() };
            self.batches -= 1;
            // SAFETY: only full batches are stacked.
            return Some(unsafe { List::from_raw(top.as_ptr(), self.batch) });
        }
        (self.loose.len != 0).then(|| core::mem::replace(&mut self.loose, List::EMPTY))
    }

    /// Takes blocks back, at most a batch.
    ///
    /// # Safety
    ///
    /// They are of this depot's size.
    pub unsafe fn put(&mut self, mut list: List) {
        if let Some(head) = NonNull::new(list.head).filter(|_| list.len == self.batch) {
            // SAFETY: the block is free, ours as its list is, and long enough for this link.
            unsafe { head.cast().write(self.top) };
            self.top = head.as_ptr();
            self.batches += 1;
        } else if self.loose.len == 0 {
            self.loose = list;
        } else {
            while let Some(block) = list.pop() {
                // SAFETY: the block came out of a list of free blocks of this size.
                unsafe { self.put_one(block) };
            }
        }
    }

    pub fn take_one(&mut self) -> Option<NonNull<u8>> {
        if self.loose.len == 0 {
            self.loose = self.take()?;
        }
        self.loose.pop()
    }

    /// Takes one block back.
    ///
    /// # Safety
    ///
    /// `block` is free, of this depot's size, and becomes the depot's.
    pub unsafe fn put_one(&mut self, block: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { self.loose.push(block) };
        if self.loose.len == self.batch {
            let full = core::mem::replace(&mut self.loose, List::EMPTY);
            // SAFETY: the blocks are this depot's own.
            unsafe { self.put(full) };
        }
    }

    /// How many blocks are here.
    pub const fn len(&self) -> usize {
        self.batches * self.batch + self.loose.len
    }
}

/// Free blocks of one size at one shard: the list in use and perhaps a spare batch.
///
/// One thread at a time uses it, which the absence of `Sync` sees to. Others may look at its length, for which the
/// two fields that it follows from are atomic; nothing is ordered by them, and they cost what plain fields cost.
pub(crate) struct ListMagazine {
    head: Cell<*mut u8>,
    /// How many blocks the list lacks to a batch: counting down to zero saves comparing to the batch's size.
    room: AtomicUsize,
    /// First block of a full batch, or null.
    spare: AtomicPtr<u8>,
}

// SAFETY: the magazine owns its blocks, and memory does not care which thread uses it.
unsafe impl Send for ListMagazine {}

impl ListMagazine {
    /// An empty magazine for batches of `batch` blocks.
    pub fn new(batch: usize) -> Self {
        Self { head: Cell::new(null_mut()), room: AtomicUsize::new(batch), spare: AtomicPtr::new(null_mut()) }
    }

    /// The block freed last, if the list has any.
    #[inline(always)]
    pub fn pop(&self) -> Option<NonNull<u8>> {
        let head = NonNull::new(self.head.get())?;
        // SAFETY: the block is in this list, which is ours.
        self.head.set(unsafe { next(head) });
        self.room.store(self.room.load(Relaxed) + 1, Relaxed);
        Some(head)
    }

    /// Takes a block back; `false` if the list is full and did not.
    ///
    /// # Safety
    ///
    /// `block` is free, of this magazine's size, and becomes the magazine's.
    #[inline(always)]
    pub unsafe fn push(&self, block: NonNull<u8>) -> bool {
        let room = self.room.load(Relaxed);
        if room == 0 {
            return false;
        }
        // SAFETY: the caller's promise.
        unsafe { set_next(block, self.head.get()) };
        self.head.set(block.as_ptr());
        self.room.store(room - 1, Relaxed);
        true
    }

    /// Makes the spare batch the list, which is empty. `false` if there is no spare.
    pub fn use_spare(&self) -> bool {
        let spare = self.spare.load(Relaxed);
        if !spare.is_null() {
            self.spare.store(null_mut(), Relaxed);
            self.head.set(spare);
            self.room.store(0, Relaxed);
        }
        !spare.is_null()
    }

    /// Makes `list`, of at most `batch` blocks, the list, which is empty.
    pub fn load(&self, list: List, batch: usize) {
        self.head.set(list.head());
        self.room.store(batch - list.len(), Relaxed);
    }

    /// Makes the list, which is full, the spare; returns the spare batch that was there before.
    pub fn store(&self, batch: usize) -> Option<List> {
        let old = self.spare.load(Relaxed);
        self.spare.store(self.head.replace(null_mut()), Relaxed);
        self.room.store(batch, Relaxed);
        // SAFETY: a spare is a full batch, and no longer ours.
        (!old.is_null()).then(|| unsafe { List::from_raw(old, batch) })
    }

    #[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
    /// Takes everything out: list and spare, where they have blocks.
    pub fn drain(&self, batch: usize) -> [Option<List>; 2] {
        let (head, len) = (self.head.replace(null_mut()), batch - self.room.load(Relaxed));
        let spare = self.spare.load(Relaxed);
        self.room.store(batch, Relaxed);
        self.spare.store(null_mut(), Relaxed);
        [(head, len), (spare, batch)].map(|(head, len)| {
            // SAFETY: the list is as long as `room` says and a spare is a full batch; both are no longer ours.
            (!head.is_null()).then(|| unsafe { List::from_raw(head, len) })
        })
    }

    /// How many blocks are here; exact if nobody uses the magazine now.
    pub fn len(&self, batch: usize) -> usize {
        let spare = if self.spare.load(Relaxed).is_null() { 0 } else { batch };
        spare + batch - self.room.load(Relaxed)
    }
}
