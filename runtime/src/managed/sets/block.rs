//! Blocks of slots: what a pool keeps of a set until its end.
//!
//! ```text
//! PENDING   the slot has a function
//! TAKEN     a thread runs or drops the function; or a set of several functions has the slot
//! OVER      the set is over
//! AWAITED   a thread waits for the id
//! CONSUMED  the id was waited for to the end, or forgotten
//! WAKES     a waker waits for OVER
//! ```
//!
//! The thread that sets TAKEN owns the function. AWAITED and CONSUMED change under the lock of the
//! lane's records.

use super::stored_function::StoredFunction;
use crate::sync::{AcqRel, Acquire, AtomicU32, Relaxed, UnsafeCell, under_model};
use crate::task::{JoinError, catch, quietly};
use alloc::boxed::Box;
use core::mem::MaybeUninit;

/// Slots of a block.
pub(super) const SLOTS: u64 = under_model(64, 2);

const PENDING: u32 = 1;
const TAKEN: u32 = 1 << 1;
const OVER: u32 = 1 << 2;
const AWAITED: u32 = 1 << 3;
const CONSUMED: u32 = 1 << 4;
const WAKES: u32 = 1 << 5;

/// The place of one set.
#[repr(align(64))]
pub(super) struct Slot {
    state: AtomicU32,
    function: UnsafeCell<MaybeUninit<StoredFunction>>,
}

// SAFETY: the function is written before the slot is published, and then accessed by the one thread
// that sets TAKEN. It is `Send`.
unsafe impl Sync for Slot {}

impl Slot {
    fn new() -> Self {
        Self { state: AtomicU32::new(0), function: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Stores a function in an unpublished slot. If it `is_forgotten`, no thread can wait for it.
    ///
    /// # Safety
    ///
    /// The slot is fresh, and no other thread knows of it yet.
    #[inline(always)]
    pub unsafe fn put(&self, function: StoredFunction, is_forgotten: bool) {
        // SAFETY: this function's contract.
        self.function.with_mut(|place| unsafe { (*place).write(function) });
        let consumed = if is_forgotten { CONSUMED } else { 0 };
        // Relaxed: the lane publishes the slot afterwards.
        self.state.store(PENDING | consumed, Relaxed);
    }

    /// Marks an unpublished slot as that of a set of several functions.
    pub fn reserve(&self, is_awaited: bool) {
        let awaited = if is_awaited { AWAITED } else { 0 };
        self.state.store(PENDING | TAKEN | awaited, Relaxed);
    }

    /// Takes the function. Returns `None` if another thread has it.
    #[inline(always)]
    pub fn take(&self) -> Option<TakenFunction<'_>> {
        // Relaxed: the modification order decides which thread takes it. The function was acquired
        // with the position or the block of the slot.
        let taken = if planted!("request-taken-twice") {
            self.state.load(Relaxed) & TAKEN
        } else {
            self.state.fetch_or(TAKEN, Relaxed) & TAKEN
        };
        (taken == 0).then_some(TakenFunction(self))
    }

    /// Returns true if a function waits in the slot.
    pub fn is_pending(&self) -> bool {
        self.state.load(Relaxed) & (PENDING | TAKEN) == PENDING
    }

    /// Returns true if the set is over. Then the caller sees what its functions did.
    pub fn is_over(&self) -> bool {
        // Acquire pairs with the Release of `end`.
        self.state.load(Acquire) & OVER != 0
    }

    /// Marks the set as over. Returns true if a waker waits for it.
    #[inline(always)]
    pub fn end(&self) -> bool {
        // Release (of AcqRel) pairs with the Acquires of `is_over` and `ask_to_wake`; Acquire with
        // the Release of `ask_to_wake`: the waker is in the list.
        let order = if planted!("request-over-early") { Relaxed } else { AcqRel };
        self.state.fetch_or(OVER, order) & WAKES != 0
    }

    /// Asks for a wake-up at the end. The waker is in the list. Returns false if the set is over.
    pub fn ask_to_wake(&self) -> bool {
        // Release (of AcqRel) pairs with the Acquire of `end`; Acquire with its Release.
        self.state.fetch_or(WAKES, AcqRel) & OVER == 0
    }

    /// Reserves the id for the caller's wait. Returns false if it is not free.
    pub fn set_awaited(&self) -> bool {
        self.state.fetch_or(AWAITED, Relaxed) & (AWAITED | CONSUMED) == 0
    }

    pub fn clear_awaited(&self) {
        self.state.fetch_and(!AWAITED, Relaxed);
    }

    /// Reserves the id and makes it stale. Returns false if it is not free.
    pub fn forget(&self) -> bool {
        // Both bits change under the lock of the records, so that nothing comes between.
        let is_free = !self.is_claimed();
        if is_free {
            self.set_consumed();
        }
        is_free
    }

    pub fn set_consumed(&self) {
        self.state.fetch_or(CONSUMED, Relaxed);
    }

    /// Returns true if a thread waits for the id, or it was waited for or forgotten.
    pub fn is_claimed(&self) -> bool {
        self.state.load(Relaxed) & (AWAITED | CONSUMED) != 0
    }

    pub fn is_consumed(&self) -> bool {
        self.state.load(Relaxed) & CONSUMED != 0
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.is_pending() {
            // SAFETY: no thread has taken the function, and none can.
            quietly(|| self.function.with_mut(|place| unsafe { StoredFunction::drop_unrun(place.cast()) }));
        }
    }
}

/// The function of a slot, which the owner of this value runs or drops.
pub(super) struct TakenFunction<'a>(&'a Slot);

impl<'a> TakenFunction<'a> {
    pub fn slot(&self) -> &'a Slot {
        self.0
    }

    /// Runs the function.
    #[inline(always)]
    pub fn run(self) -> Result<(), JoinError> {
        // SAFETY: `take` returns one such value for each slot, and this consumes it. The cast is to
        // the only field of `MaybeUninit`, which `put` has written.
        let run = || self.0.function.with_mut(|place| unsafe { StoredFunction::run(place.cast()) });
        catch(run).map_err(|payload| {
            // SAFETY: the cast is to the only field of `MaybeUninit`. `run` has moved the function
            // out and left its table, which `put` wrote, in place. The slot is used again only
            // after this value is gone.
            let name = self.0.function.with(|place| unsafe { StoredFunction::name(place.cast()) });
            JoinError::panicked_in(name, payload)
        })
    }

    /// Drops the function.
    pub fn drop_unrun(self) {
        // SAFETY: as in `run`: this value is the only one, and is consumed.
        quietly(|| self.0.function.with_mut(|place| unsafe { StoredFunction::drop_unrun(place.cast()) }));
    }
}

/// Some slots in a row.
pub(super) struct Block {
    /// The position of the first slot is this many blocks from that of the lane.
    pub number: u64,
    slots: Box<[Slot]>,
    /// Sets that are over and were counted.
    ended: AtomicU32,
}

impl Block {
    pub fn new(number: u64) -> Self {
        Self { number, slots: (0..SLOTS).map(|_| Slot::new()).collect(), ended: AtomicU32::new(0) }
    }

    /// Makes it the block of other sets. All sets that it had are over, so each of its slots is
    /// as good as fresh.
    pub fn renew(&mut self, number: u64) {
        self.number = number;
        self.ended = AtomicU32::new(0);
    }

    /// Returns the slot of a position of this block.
    #[inline(always)]
    pub fn slot(&self, position: u64) -> &Slot {
        &self.slots[(position % SLOTS) as usize]
    }

    /// Returns the slots before a position, with their own positions.
    pub fn slots_before(&self, end: u64) -> impl Iterator<Item = (u64, &Slot)> {
        let first = self.number * SLOTS;
        self.slots
            .iter()
            .enumerate()
            .map(move |(at, slot)| (first + at as u64, slot))
            .take_while(move |&(position, _)| position < end)
    }

    /// Counts sets as over. Returns true, once, if all sets of the block are.
    pub fn count_ended(&self, sets: u32) -> bool {
        // AcqRel: the last thread to count sees what the others have done to the block.
        sets > 0 && u64::from(self.ended.fetch_add(sets, AcqRel) + sets) == SLOTS
    }
}
