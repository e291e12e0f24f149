//! Free blocks linked through themselves: cheap where one core frees and reuses a block, and any
//! number of them moves by one pointer.

use crate::sync::{AtomicPtr, AtomicUsize, Relaxed};
use core::cell::Cell;
use core::ptr::{NonNull, null_mut};

/// Bytes at the start of a free block that lists leave alone: the header of the object that was or
/// will be there.
pub(super) const HEADER_BYTES: usize = 16;
/// Offset of the link from a batch's first block to the next batch of a depot.
const BATCH_OFFSET: usize = HEADER_BYTES;
/// Offset of a free block's link to the next in its list.
const NEXT_OFFSET: usize = HEADER_BYTES + 8;
/// Bytes at the start of a free block that may be accessed.
pub(super) const LINK_BYTES: usize = HEADER_BYTES + 16;

/// Returns the block after the free block `block` in its list.
///
/// # Safety
///
/// `block` is in a list whose links the caller may read.
#[inline(always)]
unsafe fn next(block: NonNull<u8>) -> *mut u8 {
    // SAFETY: a block is aligned and has at least 32 bytes; being in a list, its link is written.
    unsafe { block.byte_add(NEXT_OFFSET).cast().read() }
}

/// Sets the block after the free block `block` in its list.
///
/// # Safety
///
/// `block` is free, at least 32 bytes long and aligned to a word, and only the caller uses it.
#[inline(always)]
unsafe fn set_next(block: NonNull<u8>, next: *mut u8) {
    // SAFETY: by the contract the link is inside the block and aligned, and no other thread reads
    // it.
    unsafe { block.byte_add(NEXT_OFFSET).cast().write(next) }
}

/// Free blocks, linked through themselves, that only the holder uses.
pub(crate) struct List {
    head: *mut u8,
    len: usize,
}

// SAFETY: the list owns its blocks, and memory may be used by any thread.
unsafe impl Send for List {}

impl List {
    pub const EMPTY: Self = Self { head: null_mut(), len: 0 };

    /// Makes a list of the `len` blocks from `head` on.
    ///
    /// # Safety
    ///
    /// There are exactly that many, linked to each other, the last to null. They are free, and the
    /// list takes them over.
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
        // SAFETY: the block is in this list, which owns it.
        self.head = unsafe { next(head) };
        self.len -= 1;
        Some(head)
    }

    /// Adds a block.
    ///
    /// # Safety
    ///
    /// `block` is free and fit for a link; the list takes it over.
    pub unsafe fn push(&mut self, block: NonNull<u8>) {
        // SAFETY: this function's contract.
        unsafe { set_next(block, self.head) };
        self.head = block.as_ptr();
        self.len += 1;
    }
}

/// Free blocks of one size that no shard has: a stack of full batches, and some loose blocks.
///
/// Batches are stacked through a word of each batch's first block. Every operation is O(1),
/// except [`put`](Self::put) of less than a batch.
pub(crate) struct ListDepot {
    top: *mut u8,
    batches: usize,
    loose: List,
    batch: usize,
}

// SAFETY: the depot owns its blocks, and memory may be used by any thread.
unsafe impl Send for ListDepot {}

impl ListDepot {
    /// Creates an empty depot for batches of `batch` blocks, each at least 32 bytes long.
    pub const fn new(batch: usize) -> Self {
        Self { top: null_mut(), batches: 0, loose: List::EMPTY, batch }
    }

    /// Takes a batch, or fewer blocks if there is none. Returns `None` if there are no blocks at
    /// all.
    pub fn take(&mut self) -> Option<List> {
        if let Some(top) = NonNull::new(self.top) {
            // SAFETY: the block is the first of a batch in this stack, and has this link.
            self.top = unsafe { top.byte_add(BATCH_OFFSET).cast().read() };
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
            // SAFETY: the block is free, owned with its list, and long enough for this link.
            unsafe { head.byte_add(BATCH_OFFSET).cast().write(self.top) };
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
    /// `block` is free and of this depot's size; the depot takes it over.
    pub unsafe fn put_one(&mut self, block: NonNull<u8>) {
        // SAFETY: this function's contract.
        unsafe { self.loose.push(block) };
        if self.loose.len == self.batch {
            let full = core::mem::replace(&mut self.loose, List::EMPTY);
            // SAFETY: the blocks are this depot's own.
            unsafe { self.put(full) };
        }
    }

    /// Returns the number of blocks.
    pub const fn len(&self) -> usize {
        self.batches * self.batch + self.loose.len
    }
}

/// Free blocks of one size at one shard: the current list and possibly a spare batch.
///
/// One thread at a time uses it, which the lack of `Sync` ensures. Other threads may read its
/// length, so the two fields that it follows from are atomic. They order nothing, and cost what
/// plain fields cost.
pub(crate) struct ListMagazine {
    head: Cell<*mut u8>,
    /// How many blocks the list lacks to a batch: comparing with zero is cheaper than with the size
    /// of a batch.
    room: AtomicUsize,
    /// The first block of a full batch, or null.
    spare: AtomicPtr<u8>,
}

// SAFETY: the magazine owns its blocks, and memory may be used by any thread.
unsafe impl Send for ListMagazine {}

impl ListMagazine {
    /// Creates an empty magazine for batches of `batch` blocks.
    pub fn new(batch: usize) -> Self {
        Self { head: Cell::new(null_mut()), room: AtomicUsize::new(batch), spare: AtomicPtr::new(null_mut()) }
    }

    /// Takes the block freed last, if the list has any.
    #[inline(always)]
    pub fn pop(&self) -> Option<NonNull<u8>> {
        let head = NonNull::new(self.head.get())?;
        // SAFETY: the block is in this list, which owns it.
        self.head.set(unsafe { next(head) });
        self.room.store(self.room.load(Relaxed) + 1, Relaxed);
        Some(head)
    }

    /// Takes a block back. Returns false, without taking it, if the list is full.
    ///
    /// # Safety
    ///
    /// `block` is free and of this magazine's size; the magazine takes it over.
    #[inline(always)]
    pub unsafe fn push(&self, block: NonNull<u8>) -> bool {
        let room = self.room.load(Relaxed);
        if room == 0 {
            return false;
        }
        // SAFETY: this function's contract.
        unsafe { set_next(block, self.head.get()) };
        self.head.set(block.as_ptr());
        self.room.store(room - 1, Relaxed);
        true
    }

    /// Makes the spare batch the list, which must be empty. Returns false if there is no spare.
    pub fn use_spare(&self) -> bool {
        let spare = self.spare.load(Relaxed);
        if !spare.is_null() {
            self.spare.store(null_mut(), Relaxed);
            self.head.set(spare);
            self.room.store(0, Relaxed);
        }
        !spare.is_null()
    }

    /// Makes `list`, of at most `batch` blocks, the list, which must be empty.
    pub fn load(&self, list: List, batch: usize) {
        self.head.set(list.head());
        self.room.store(batch - list.len(), Relaxed);
    }

    /// Makes the list, which must be full, the spare. Returns the previous spare batch.
    pub fn store(&self, batch: usize) -> Option<List> {
        let old = self.spare.load(Relaxed);
        self.spare.store(self.head.replace(null_mut()), Relaxed);
        self.room.store(batch, Relaxed);
        // SAFETY: a spare is a full batch, and this magazine has just given it up.
        (!old.is_null()).then(|| unsafe { List::from_raw(old, batch) })
    }

    /// Takes everything out: list and spare, where they have blocks.
    pub fn drain(&self, batch: usize) -> [Option<List>; 2] {
        let (head, len) = (self.head.replace(null_mut()), batch - self.room.load(Relaxed));
        let spare = self.spare.load(Relaxed);
        self.room.store(batch, Relaxed);
        self.spare.store(null_mut(), Relaxed);
        [(head, len), (spare, batch)].map(|(head, len)| {
            // SAFETY: the list is as long as `room` says, and a spare is a full batch; this
            // magazine has given both up.
            (!head.is_null()).then(|| unsafe { List::from_raw(head, len) })
        })
    }

    /// Returns the number of blocks; exact if no thread uses the magazine now.
    pub fn len(&self, batch: usize) -> usize {
        let spare = if self.spare.load(Relaxed).is_null() { 0 } else { batch };
        spare + batch - self.room.load(Relaxed)
    }
}
