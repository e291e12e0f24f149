//! When tasks were queued, in a runtime that is recorded on demand.
//!
//! Descriptors of such a runtime have no room for a time, so that they cost nothing while none is
//! recorded. The times are in a table of single words, found by the address of the descriptor. A
//! word has a part of the address as its tag; so a task takes its own time, but for one in 4,096
//! whose time was not kept. If the four words that a task may use are taken, its time is not kept.

use super::observer::OUTSIDE;
use crate::sync::{AtomicU64, Relaxed, under_model};
use alloc::boxed::Box;
use once_cell::race::OnceBox;

/// Words of the table.
const SLOTS: usize = under_model(1 << 16, 8) as usize;
/// Words that a task may use.
const WAYS: usize = 4;

/// ```text
/// bits  0..42  units of 64 ticks of the clock, modulo their number: a day at 3 GHz
/// bit   42     again
/// bits 43..51  the worker, or UNKNOWN
/// bits 51..64  tag: odd, so that no word is 0
/// ```
const UNITS: u64 = (1 << AGAIN_SHIFT) - 1;
/// Ticks of a unit, as a shift.
const UNIT_SHIFT: u32 = 6;
const AGAIN_SHIFT: u32 = 42;
const WORKER_SHIFT: u32 = 43;
const UNKNOWN: u64 = 0xff;
const TAG_SHIFT: u32 = 51;

/// When a task was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub ticks: u64,
    /// The worker that queued it, or [`OUTSIDE`]; also for a worker with a large index.
    pub by: u32,
    /// Whether it was queued before in this session.
    pub again: bool,
}

/// The table; see the module's documentation. It is allocated when a session begins.
///
/// All accesses are Relaxed: a word is complete in itself. A task's word is written before the task
/// is handed on, and so is seen by the thread that gets the task.
#[derive(Default)]
pub(crate) struct Stamps(OnceBox<Box<[AtomicU64]>>);

impl Stamps {
    /// Begins a session: forgets all times.
    pub fn reset(&self) {
        let slots = self.0.get_or_init(|| Box::new((0..SLOTS).map(|_| AtomicU64::new(0)).collect()));
        slots.iter().for_each(|slot| slot.store(0, Relaxed));
    }

    /// Keeps when a task was queued. Returns false if there is no room.
    pub fn put(&self, task: usize, stamp: Stamp) -> bool {
        let Some((slots, tag)) = self.find(task) else { return false };
        let by = if u64::from(stamp.by) < UNKNOWN { u64::from(stamp.by) } else { UNKNOWN };
        let again = u64::from(stamp.again) << AGAIN_SHIFT;
        let word = tag << TAG_SHIFT | by << WORKER_SHIFT | again | unit_of(stamp.ticks);
        // One with this tag is what an earlier task at this address has left.
        let old = |slot: &&AtomicU64| slot.load(Relaxed) >> TAG_SHIFT == tag;
        if let Some(slot) = slots.iter().find(old) {
            slot.store(word, Relaxed);
            return true;
        }
        slots.iter().any(|slot| {
            let is_free = slot.load(Relaxed) == 0;
            if planted!("stamp-overwritten") && is_free {
                slot.store(word, Relaxed);
                return true;
            }
            is_free && slot.compare_exchange(0, word, Relaxed, Relaxed).is_ok()
        })
    }

    /// Returns when a task was queued, if that was kept.
    pub fn get(&self, task: usize, now: u64) -> Option<Stamp> {
        let (slots, tag) = self.find(task)?;
        let mut words = slots.iter().map(|slot| slot.load(Relaxed));
        words.find(|word| word >> TAG_SHIFT == tag).map(|word| Stamp::unpack(word, now))
    }

    /// Returns when a task was queued, if that was kept, and forgets it.
    pub fn take(&self, task: usize, now: u64) -> Option<Stamp> {
        let (slots, tag) = self.find(task)?;
        slots.iter().find_map(|slot| {
            let word = slot.load(Relaxed);
            let is_own = word >> TAG_SHIFT == tag && slot.compare_exchange(word, 0, Relaxed, Relaxed).is_ok();
            is_own.then(|| Stamp::unpack(word, now))
        })
    }

    /// Returns the words that a task may use, and its tag.
    fn find(&self, task: usize) -> Option<(&[AtomicU64], u64)> {
        let (first, tag) = place(task);
        self.0.get().map(|slots| (&slots[first..first + WAYS], tag))
    }

    /// Returns true if two tasks may use the same words, and are told apart.
    #[cfg(all(test, model = "loom"))]
    pub fn share_words(one: usize, other: usize) -> bool {
        let (one, other) = (place(one), place(other));
        one.0 == other.0 && one.1 != other.1
    }
}

/// Returns the first of the words that a task may use, and its tag.
fn place(task: usize) -> (usize, u64) {
    // Fibonacci hashing: the upper bits depend on all of the address.
    let hash = (task as u64 >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((hash >> 20) as usize % (SLOTS / WAYS) * WAYS, hash >> TAG_SHIFT | 1)
}

/// Returns the unit of a time, as a word has it.
fn unit_of(ticks: u64) -> u64 {
    ticks >> UNIT_SHIFT & UNITS
}

impl Stamp {
    fn unpack(word: u64, now: u64) -> Self {
        let by = word >> WORKER_SHIFT & UNKNOWN;
        let passed = unit_of(now).wrapping_sub(word) & UNITS;
        // A time after `now` is no time long ago: it is of the clock of a core that is ahead, or of
        // a task that was queued after the run whose end `now` is.
        let passed = if passed > UNITS / 2 { 0 } else { passed };
        Self {
            ticks: now.saturating_sub(passed << UNIT_SHIFT),
            by: if by == UNKNOWN { OUTSIDE } else { by as u32 },
            again: word >> AGAIN_SHIFT & 1 != 0,
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    fn stamp(ticks: u64) -> Stamp {
        Stamp { ticks, by: 3, again: (ticks >> UNIT_SHIFT).is_multiple_of(2) }
    }

    #[test]
    fn a_task_takes_its_own_time_once() {
        let stamps = Stamps::default();
        assert!(!stamps.put(0x1000, stamp(5)), "no session has begun");
        assert_eq!(stamps.take(0x1000, 10), None);
        stamps.reset();
        let tasks = || (1..2000usize).map(|number| (number * 0x240, stamp(64 * number as u64)));
        let fit = tasks().filter(|&(task, stamp)| stamps.put(task, stamp)).count();
        let now = 64 * 5000;
        let kept = tasks().filter(|&(task, stamp)| stamps.get(task, now) == Some(stamp)).count();
        assert!(kept > 1990 && fit >= kept, "{kept} of {fit}");
        let taken = tasks().filter(|&(task, stamp)| stamps.take(task, now) == Some(stamp)).count();
        assert!(taken > 1990, "{taken}");
        assert!(tasks().all(|(task, _)| stamps.take(task, now).is_none()));
    }

    #[test]
    fn times_and_workers_survive_their_packing() {
        let stamps = Stamps::default();
        stamps.reset();
        // Ten hours after a multiple of the period, at 3 GHz: the wait is neither short nor none.
        let late = 5 << (AGAIN_SHIFT + UNIT_SHIFT);
        let passed = 3_000_000_000 * 36_000 / 64 * 64;
        for (by, seen) in [(0, 0), (254, 254), (255, OUTSIDE), (4000, OUTSIDE), (OUTSIDE, OUTSIDE)] {
            stamps.put(64, Stamp { ticks: late - 64, by, again: true });
            let expected = Stamp { ticks: late - 64, by: seen, again: true };
            assert_eq!(stamps.take(64, late + passed), Some(expected));
        }
        // The clock of another core may be a little behind.
        for (ticks, now) in [(640, 639), (639, 320), (late, late - 1), (late + 640, late + 639), (70, 65)] {
            stamps.put(64, stamp(ticks));
            assert_eq!(stamps.take(64, now).map(|stamp| stamp.ticks), Some(now));
        }
    }

    #[test]
    fn a_full_table_keeps_the_times_that_it_has() {
        let stamps = Stamps::default();
        stamps.reset();
        let fit = (0..4 * SLOTS).filter(|number| stamps.put(number * 64, stamp(*number as u64))).count();
        assert!(fit >= SLOTS / 2);
        let kept = (0..4 * SLOTS).filter(|number| stamps.take(number * 64, 1 << 40).is_some()).count();
        assert!((SLOTS / 2..=SLOTS).contains(&kept), "{kept}");
    }
}
