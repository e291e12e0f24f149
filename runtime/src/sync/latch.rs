//! The latch word of an object: a spin latch, a reader-writer latch or a version, depending on the
//! object's primitive.
//!
//! ```text
//! bit 0  WRITER    a writer is inside; the version is odd: readers must not trust what they see
//! bit 1  POISONED  a task panicked while it wrote in place
//! bit 2  WAITING   reader-writer latch: a writer waits, so that new readers step back
//! bit 3  LIVE      the object exists: zeroed memory, and an object that is being freed, lack it
//! bits 4..20       the tag of the object's runtime
//! spin latch           no other bit
//! reader-writer latch  bits 20..  number of readers
//! version              bits 20..  the version, +1 after each write
//! ```
//!
//! An object uses the word in one of these ways for its whole life. A version has 44 bits: at one
//! write in ten nanoseconds it takes two days to return to the same value, and a reader would have
//! to begin and end at just these two moments.
//!
//! **Freed objects.** Links outlive the objects that they name, so a task may come to a word
//! without `LIVE` (`object/remains.rs`). No such task gets in, and none writes such a word: by the
//! time that it did, the memory could belong to a new object.
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
const LIVE: u64 = 8;
const TAG_SHIFT: u32 = 4;
const TAG: u64 = 0xffff << TAG_SHIFT;
const READER: u64 = 1 << 20;
const VERSION_STEP: u64 = 1 << 20;

/// The version at which an optimistic read began.
#[derive(Clone, Copy)]
pub(crate) struct Stamp(u64);

impl Stamp {
    /// No stamp: the version of a node while it is written.
    pub const NONE: Self = Self(WRITER);

    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 == WRITER
    }
}

/// The lower part of the word of an object that exists, belongs to one runtime, and is neither
/// poisoned nor written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LiveWord(u32);

impl LiveWord {
    pub const fn of_tag(tag: u16) -> Self {
        Self((tag as u32) << TAG_SHIFT | LIVE as u32)
    }
}

/// Whether tasks of a runtime may use an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatchState {
    Usable,
    /// A task panicked while it wrote in place.
    Poisoned,
    /// The object was freed, or is about to be.
    Freed,
    /// The object belongs to another runtime.
    Foreign,
}

/// A latch or version in one word; see the module's documentation.
#[repr(transparent)]
pub(crate) struct LatchWord(AtomicU64);

impl LatchWord {
    /// Creates the word of an object that exists.
    pub fn new(live: LiveWord) -> Self {
        Self(AtomicU64::new(live.0.into()))
    }

    /// Returns whether tasks of the runtime with that live word may use the object.
    pub fn state(&self, live: LiveWord) -> LatchState {
        // Acquire pairs with the Release of `revive`: the object is seen as it was made.
        let word = self.0.load(Acquire);
        if word & LIVE == 0 {
            LatchState::Freed
        } else if word & (LIVE | TAG) != u64::from(live.0) {
            LatchState::Foreign
        } else if word & POISONED != 0 {
            LatchState::Poisoned
        } else {
            LatchState::Usable
        }
    }

    /// Returns true if the object exists and belongs to the runtime with that live word.
    #[inline(always)]
    pub fn is_of(&self, live: LiveWord) -> bool {
        // Acquire pairs with the Release of `revive`: the object is seen as it was made.
        self.0.load(Acquire) as u32 & (LIVE | TAG) as u32 == live.0
    }

    /// Returns true if the object exists.
    pub fn is_live(&self) -> bool {
        self.0.load(Relaxed) & LIVE != 0
    }

    /// Lets no task enter from now on. Returns true if the object was live so far. A writer that is
    /// inside may undo this; see `object/remains.rs`.
    pub fn mark_freed(&self) -> bool {
        // Relaxed: ordered by the fence of `Epochs::retirement`, as the unlinking of a node is.
        self.0.fetch_and(!LIVE, Relaxed) & LIVE != 0
    }

    /// Empties the word of an object that was freed, and which no task uses.
    pub fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    /// Begins the life of an object in memory whose word was empty.
    pub fn revive(&self, live: LiveWord) {
        // Release pairs with the Acquire of `state`, `is_of`, `begin_read` and the latches: a task
        // that comes by an old link sees the new object as it was made.
        self.0.store(live.0.into(), Release);
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
    /// Returns true if it had to wait; `None`, without the latch, if the object was freed. This and
    /// the methods for readers and writers wait by calling `wait`, usually [`Backoff::wait`].
    pub fn lock(&self, mut wait: impl FnMut(&mut Backoff)) -> Option<bool> {
        if self.try_lock() {
            return Some(false);
        }
        let mut backoff = Backoff::new();
        while self.0.load(Relaxed) & LIVE != 0 {
            wait(&mut backoff);
            if self.0.load(Relaxed) & WRITER == 0 && self.try_lock() {
                return Some(true);
            }
        }
        None
    }

    /// Acquires the latch exclusively as [`lock`](Self::lock) does, unless it is held or the object
    /// was freed.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn try_lock(&self) -> bool {
        let word = self.0.load(Relaxed);
        // Acquire pairs with the Release of `unlock`, `end_write` and `revive`: this holder sees
        // the previous holder's writes.
        let order = if planted!("latch-without-acquire") { Relaxed } else { Acquire };
        word & (WRITER | LIVE) == LIVE && self.0.compare_exchange(word, word | WRITER, order, Relaxed).is_ok()
    }

    /// Releases the latch without a new version: for a spin latch, or a reader that excluded
    /// writers.
    pub fn unlock(&self) {
        // Release pairs with the Acquire of the next `lock`. A read-modify-write, because another
        // thread may clear the poison.
        self.0.fetch_and(!WRITER, Release);
    }

    /// Acquires the latch together with other readers. Returns true if it had to wait; `None`,
    /// without the latch, if the object was freed.
    pub fn lock_shared(&self, mut wait: impl FnMut(&mut Backoff)) -> Option<bool> {
        let mut backoff = Backoff::new();
        let mut waited = false;
        while !self.try_lock_shared() {
            let word = self.0.load(Relaxed);
            if word & LIVE == 0 {
                return None;
            }
            waited |= word & (WRITER | WAITING) != 0;
            wait(&mut backoff);
        }
        Some(waited)
    }

    /// Acquires the latch together with other readers, if no writer is inside or waits and the
    /// object was not freed.
    pub fn try_lock_shared(&self) -> bool {
        let word = self.0.load(Relaxed);
        // Acquire pairs with the Release of `unlock_exclusive` and `revive`.
        word & (WRITER | WAITING | LIVE) == LIVE
            && self.0.compare_exchange_weak(word, word + READER, Acquire, Relaxed).is_ok()
    }

    pub fn unlock_shared(&self) {
        // Release pairs with the Acquire of `lock_exclusive`: the writer's writes come after these
        // reads.
        self.0.fetch_sub(READER, Release);
    }

    /// Acquires the latch when all readers have left; new ones step back meanwhile. Returns true if
    /// it had to wait; `None`, without the latch, if the object was freed.
    pub fn lock_exclusive(&self, mut wait: impl FnMut(&mut Backoff)) -> Option<bool> {
        let mut backoff = Backoff::new();
        let mut waited = false;
        while !self.try_lock_exclusive() {
            let word = self.0.load(Relaxed);
            if word & LIVE == 0 {
                return None;
            }
            if word & WRITER != 0 || word >= READER {
                waited = true;
                if word & WAITING == 0 {
                    self.0.fetch_or(WAITING, Relaxed);
                }
            }
            wait(&mut backoff);
        }
        Some(waited)
    }

    /// Acquires the latch as [`lock_exclusive`](Self::lock_exclusive) does, if no other task is
    /// inside and the object was not freed.
    pub fn try_lock_exclusive(&self) -> bool {
        let word = self.0.load(Relaxed);
        // Clears WAITING as well; another waiting writer sets it again.
        let kept = if planted!("latch-writer-waits-for-ever") { word } else { word & !WAITING };
        // Acquire pairs with the Release of `unlock_shared`, `unlock_exclusive` and `revive`.
        word & (WRITER | LIVE) == LIVE
            && word < READER
            && self.0.compare_exchange_weak(word, kept | WRITER, Acquire, Relaxed).is_ok()
    }

    pub fn unlock_exclusive(&self) {
        // Release pairs with the Acquire of `lock_shared` and `lock_exclusive`.
        self.0.fetch_and(!WRITER, Release);
    }

    /// Begins an optimistic read by a task of the runtime with that live word. Returns `None` if a
    /// writer is inside, or the object is poisoned, was freed or belongs to another runtime.
    #[inline(always)]
    pub fn begin_read(&self, live: LiveWord) -> Option<Stamp> {
        // Acquire pairs with the Release of `end_write` and `revive`: all words of this version are
        // seen.
        let word = self.0.load(Acquire);
        let is_readable = word as u32 & (WRITER | POISONED | LIVE | TAG) as u32 == live.0;
        is_readable.then_some(Stamp(word))
    }

    /// Returns true if everything read since `begin_read` belongs to that version.
    #[cfg_attr(not(debug_assertions), inline(always))]
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
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn begin_write(&self) {
        self.0.store(self.0.load(Relaxed) | WRITER, Relaxed);
        // Pairs with the Acquire fence of `validate`.
        if !planted!("version-without-release-fence") {
            fence(Release);
        }
    }

    /// Makes the version even and larger. Also releases the latch of a latched writer.
    #[cfg_attr(not(debug_assertions), inline(always))]
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

    const LIVE_WORD: LiveWord = LiveWord::of_tag(u16::MAX);

    #[test]
    fn a_write_between_begin_and_validate_is_noticed() {
        let word = LatchWord::new(LIVE_WORD);
        let before = word.begin_read(LIVE_WORD).unwrap();
        assert!(word.validate(before));
        word.begin_write();
        assert!(word.begin_read(LIVE_WORD).is_none());
        assert!(!word.validate(before));
        word.end_write();
        assert!(!word.validate(before));
        assert!(word.begin_read(LIVE_WORD).is_some());
    }

    #[test]
    fn a_reader_that_locks_leaves_the_version_alone() {
        let word = LatchWord::new(LIVE_WORD);
        let before = word.begin_read(LIVE_WORD).unwrap();
        word.lock(Backoff::wait);
        assert!(word.begin_read(LIVE_WORD).is_none());
        word.unlock();
        assert!(word.validate(before));
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let word = LatchWord::new(LIVE_WORD);
        assert_eq!(word.lock_shared(Backoff::wait), Some(false));
        assert_eq!(word.lock_shared(Backoff::wait), Some(false));
        word.unlock_shared();
        word.unlock_shared();
        assert_eq!(word.lock_exclusive(Backoff::wait), Some(false));
        word.unlock_exclusive();
        assert_eq!(word.lock_shared(Backoff::wait), Some(false));
    }

    #[test]
    fn a_freed_object_lets_no_task_in_and_is_not_written() {
        let word = LatchWord::new(LIVE_WORD);
        word.begin_write();
        assert!(word.mark_freed() && !word.mark_freed());
        word.end_write();
        assert_eq!((word.state(LIVE_WORD), word.is_live()), (LatchState::Freed, false));
        let before = word.0.load(Relaxed);
        assert!(word.begin_read(LIVE_WORD).is_none() && !word.try_lock() && !word.try_lock_shared());
        assert_eq!(word.lock(Backoff::wait), None);
        assert_eq!(word.lock_shared(Backoff::wait), None);
        assert_eq!(word.lock_exclusive(Backoff::wait), None);
        assert_eq!(word.0.load(Relaxed), before);
        word.clear();
        word.revive(LIVE_WORD);
        assert!(word.state(LIVE_WORD) == LatchState::Usable && word.begin_read(LIVE_WORD).is_some());
    }

    #[test]
    fn another_runtime_is_refused() {
        let word = LatchWord::new(LIVE_WORD);
        let other = LiveWord::of_tag(1);
        assert_eq!(word.state(other), LatchState::Foreign);
        assert!(word.begin_read(other).is_none() && !word.is_of(other) && word.is_of(LIVE_WORD));
        word.begin_write();
        word.poison();
        assert_eq!((word.state(other), word.state(LIVE_WORD)), (LatchState::Foreign, LatchState::Poisoned));
        assert!(word.is_of(LIVE_WORD));
    }

    /// The version wraps around without an effect on the other bits.
    #[test]
    fn versions_end_and_begin_again() {
        let word = LatchWord::new(LIVE_WORD);
        word.0.store(u64::from(LIVE_WORD.0) | !(VERSION_STEP - 1), Relaxed);
        let before = word.begin_read(LIVE_WORD).unwrap();
        word.begin_write();
        word.end_write();
        assert!(!word.validate(before) && word.begin_read(LIVE_WORD).is_some());
        assert_eq!(word.0.load(Relaxed), LIVE_WORD.0.into());
    }

    #[test]
    fn poison_stays_through_writes_until_cleared() {
        let word = LatchWord::new(LIVE_WORD);
        word.begin_write();
        word.poison();
        word.end_write();
        assert!(word.is_poisoned() && word.begin_read(LIVE_WORD).is_none());
        word.clear_poison();
        assert!(word.begin_read(LIVE_WORD).is_some());
    }
}
