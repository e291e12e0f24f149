//! The latch word of an object: a spin latch, a reader-writer latch or a version, depending on the
//! object's primitive.
//!
//! ```text
//! bit 0  WRITER    a writer is inside; the version is odd: readers must not trust what they see
//! bit 1  POISONED  a task panicked while it wrote in place
//! bit 2  WAITING   reader-writer latch: a writer waits, so that new readers step back
//! spin latch           no other bit
//! reader-writer latch  bits 3..  number of readers
//! version              bits 2..  the version, +1 (in steps of 4) after each write
//! ```
//!
//! An object uses the word in one of these ways for its whole life. A version has 62 bits: at one
//! write a nanosecond it takes over a century to return to the same value.
//!
//! **Spin latch.** `lock` sets `WRITER` by compare-and-swap (Acquire); `unlock` clears it
//! (Release).
//!
//! **Reader-writer latch.** A reader adds itself unless `WRITER` or `WAITING` is set. A writer sets
//! `WRITER` if there are no readers, and `WAITING` otherwise. `WAITING` rules out the starvation of
//! writers:
//!
//! ```text
//! reader A: enters
//! writer:   waits for A
//! reader B: enters; A leaves; A enters; B leaves; ...   -> the writer waits for ever
//! ```
//!
//! The writer that enters clears `WAITING`; other waiting writers set it again. If it stayed set,
//! no reader could ever enter again.
//!
//! **Version.** `begin_write` makes it odd, `end_write` even and larger. A reader takes a [`Stamp`]
//! with `begin_read`, reads, and discards what it has read unless `validate` succeeds. The stores
//! and fences that pair, and the schedule that they rule out, are in the documentation of the
//! `object` room.
//!
//! Models: `model/latch.rs` for the latches, `model/version.rs` for versions.

use super::{Acquire, AtomicU64, Backoff, Relaxed, Release, fence};

const WRITER: u64 = 1;
/// Set by a panic in a task that wrote in place; stays until it is cleared explicitly.
pub(crate) const POISONED: u64 = 2;
const WAITING: u64 = 4;
const READER: u64 = 8;
const VERSION_STEP: u64 = 4;

/// The version at which an optimistic read began.
#[derive(Clone, Copy)]
pub(crate) struct Stamp(u64);

/// A latch or version in one word; see the module's documentation.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct LatchWord(AtomicU64);

impl LatchWord {
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub fn is_poisoned(&self) -> bool {
        self.0.load(Relaxed) & POISONED != 0
    }

    /// Marks the object as left half-written. The caller holds the latch.
    pub fn poison(&self) {
        self.0.fetch_or(POISONED, Relaxed);
    }

    pub fn clear_poison(&self) {
        self.0.fetch_and(!POISONED, Relaxed);
    }

    /// Acquires the latch exclusively: a spin latch, or the latch of a versioned object's writers.
    /// Returns true if it had to wait. This and the next two methods wait by calling `wait`,
    /// usually [`Backoff::wait`].
    pub fn lock(&self, mut wait: impl FnMut(&mut Backoff)) -> bool {
        if self.try_lock() {
            return false;
        }
        let mut backoff = Backoff::new();
        loop {
            wait(&mut backoff);
            if self.0.load(Relaxed) & WRITER == 0 && self.try_lock() {
                return true;
            }
        }
    }

    fn try_lock(&self) -> bool {
        let word = self.0.load(Relaxed);
        // Acquire pairs with the Release of `unlock` and `end_write`: this holder sees the previous
        // holder's writes.
        let order = if planted!("latch-without-acquire") { Relaxed } else { Acquire };
        word & WRITER == 0 && self.0.compare_exchange(word, word | WRITER, order, Relaxed).is_ok()
    }

    /// Releases the latch without a new version: for a spin latch, or a reader that excluded
    /// writers.
    pub fn unlock(&self) {
        // Release pairs with the Acquire of the next `lock`. A read-modify-write, because another
        // thread may clear the poison.
        self.0.fetch_and(!WRITER, Release);
    }

    /// Acquires the latch together with other readers. Returns true if it had to wait.
    pub fn lock_shared(&self, mut wait: impl FnMut(&mut Backoff)) -> bool {
        let mut backoff = Backoff::new();
        let mut waited = false;
        loop {
            let word = self.0.load(Relaxed);
            // Acquire pairs with the Release of `unlock_exclusive`.
            if word & (WRITER | WAITING) == 0
                && self.0.compare_exchange_weak(word, word + READER, Acquire, Relaxed).is_ok()
            {
                return waited;
            }
            waited |= word & (WRITER | WAITING) != 0;
            wait(&mut backoff);
        }
    }

    pub fn unlock_shared(&self) {
        // Release pairs with the Acquire of `lock_exclusive`: the writer's writes come after these
        // reads.
        self.0.fetch_sub(READER, Release);
    }

    /// Acquires the latch when all readers have left; new ones step back meanwhile. Returns true if
    /// it had to wait.
    pub fn lock_exclusive(&self, mut wait: impl FnMut(&mut Backoff)) -> bool {
        let mut backoff = Backoff::new();
        let mut waited = false;
        loop {
            let word = self.0.load(Relaxed);
            if word & WRITER == 0 && word < READER {
                // Clears WAITING as well; another waiting writer sets it again. Acquire pairs with
                // the Release of `unlock_shared` and `unlock_exclusive`.
                let kept = if planted!("latch-writer-waits-for-ever") { word } else { word & !WAITING };
                let taken = kept | WRITER;
                if self.0.compare_exchange_weak(word, taken, Acquire, Relaxed).is_ok() {
                    return waited;
                }
            } else {
                waited = true;
                if word & WAITING == 0 {
                    self.0.fetch_or(WAITING, Relaxed);
                }
            }
            wait(&mut backoff);
        }
    }

    pub fn unlock_exclusive(&self) {
        // Release pairs with the Acquire of `lock_shared` and `lock_exclusive`.
        self.0.fetch_and(!WRITER, Release);
    }

    /// Begins an optimistic read. Returns `None` if a writer is inside or the object is poisoned.
    #[inline(always)]
    pub fn begin_read(&self) -> Option<Stamp> {
        // Acquire pairs with the Release of `end_write`: all words of this version are seen.
        let word = self.0.load(Acquire);
        (word & (WRITER | POISONED) == 0).then_some(Stamp(word))
    }

    /// Returns true if everything read since `begin_read` belongs to that version.
    #[inline(always)]
    pub fn validate(&self, stamp: Stamp) -> bool {
        // Pairs with the Release fence of `begin_write`: a reader that saw a word of a later write
        // sees here that the version is odd or has advanced.
        if !planted!("version-without-acquire-fence") {
            fence(Acquire);
        }
        planted!("version-without-recheck") || self.0.load(Relaxed) == stamp.0
    }

    /// Makes the version odd. The caller must be the only writer: by the latch (`lock`), or by
    /// running at the object's home.
    #[inline(always)]
    pub fn begin_write(&self) {
        self.0.store(self.0.load(Relaxed) | WRITER, Relaxed);
        // Pairs with the Acquire fence of `validate`.
        if !planted!("version-without-release-fence") {
            fence(Release);
        }
    }

    /// Makes the version even and larger. Also releases the latch of a latched writer.
    #[inline(always)]
    pub fn end_write(&self) {
        let word = self.0.load(Relaxed);
        // Release pairs with the Acquire of `begin_read` and `lock`.
        let order = if planted!("version-released-before-publish") { Relaxed } else { Release };
        self.0.store((word & !WRITER).wrapping_add(VERSION_STEP), order);
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn a_write_between_begin_and_validate_is_noticed() {
        let word = LatchWord::new();
        let before = word.begin_read().unwrap();
        assert!(word.validate(before));
        word.begin_write();
        assert!(word.begin_read().is_none());
        assert!(!word.validate(before));
        word.end_write();
        assert!(!word.validate(before));
        assert!(word.begin_read().is_some());
    }

    #[test]
    fn a_reader_that_locks_leaves_the_version_alone() {
        let word = LatchWord::new();
        let before = word.begin_read().unwrap();
        word.lock(Backoff::wait);
        assert!(word.begin_read().is_none());
        word.unlock();
        assert!(word.validate(before));
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let word = LatchWord::new();
        assert!(!word.lock_shared(Backoff::wait));
        assert!(!word.lock_shared(Backoff::wait));
        word.unlock_shared();
        word.unlock_shared();
        assert!(!word.lock_exclusive(Backoff::wait));
        word.unlock_exclusive();
        assert!(!word.lock_shared(Backoff::wait));
    }

    #[test]
    fn poison_stays_through_writes_until_cleared() {
        let word = LatchWord::new();
        word.begin_write();
        word.poison();
        word.end_write();
        assert!(word.is_poisoned() && word.begin_read().is_none());
        word.clear_poison();
        assert!(word.begin_read().is_some());
    }
}
