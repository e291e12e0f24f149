//! What a task claims: ranges that are named at once, or by a plan that looks at what is there.

use super::granules::{Lines, Slot, Untyped, Whole};
use super::line::Granted;
use super::rights::{Ranges, Rights};
use super::{Directory, Granules};
use crate::sync::Relaxed;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::cell::Cell;
use core::fmt;
use core::ops::Range;

/// Ranges of granules, each to be read or written; or a plan that will name them.
#[must_use = "a claim is for a task"]
pub struct Claim<'g, D: Send + Sync + 'static = ()> {
    pub(super) whole: &'g Whole<D>,
    pub(super) asked: Asked,
    /// Slot of the epoch that keeps the granules, for a claim that was made without a handle: whose task is of no other.
    pub(super) operation: Option<u8>,
    pub(super) terms: Terms,
}

/// What else a claim says of its task.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Terms {
    /// It may come before others that were spawned earlier.
    pub unordered: bool,
    /// It runs even where granules are poisoned.
    pub even_poisoned: bool,
}

pub(super) enum Asked {
    Ranges(Ranges),
    Plan(Plan),
}

/// Names what a task claims, as far as it can see.
pub(super) type Plan = Box<dyn FnMut(&mut Seen<'_>) + Send>;

impl<D: Send + Sync + 'static> Granules<D> {
    /// A claim to read these.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn read(&self, range: Range<u32>) -> Claim<'_, D> {
        Claim::nothing(self.whole()).and_read(range)
    }

    /// A claim to write these.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn write(&self, range: Range<u32>) -> Claim<'_, D> {
        Claim::nothing(self.whole()).and_write(range)
    }

    /// A claim to what `plan` names, which depends on what it sees.
    ///
    /// The plan is called when the task is spawned, by who spawns it, and again, by whoever gives granules back (or by the
    /// worker that gets to it, if it needs [no order](Claim::unordered)), when the task has all that was named: as often as it
    /// sees or names something that the task does not have. Then the task runs. So all that the plan saw in the end stays as it
    /// saw it until the task is over, and what it did to find out, the task's body can do again. As nobody holds granules while
    /// waiting for others, there is no circle of tasks that wait.
    ///
    /// It should be short, and not depend on anything but what it sees. If it panics, so does the task. One that
    /// has changed its mind too often gets all granules, to write.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// // Each granule says which one comes after it.
    /// let rooms = rt.granules_of([2u32, 0, 1, 3]);
    /// let claim = rooms.planned(|sight| {
    ///     let mut room = 0;
    ///     for _ in 0..2 {
    ///         let Some(next) = sight.see(room, |&next| next) else { return };
    ///         room = next;
    ///     }
    ///     sight.write(room..room + 1);
    /// });
    /// let task = rt.task(()).claim(claim);
    /// let end = task.submit_with(|(), mut held, _| {
    ///     let room = *held.get(*held.get(0));
    ///     *held.get_mut(room) += 10;
    ///     room
    /// });
    /// assert_eq!(end.join()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn planned(&self, mut plan: impl FnMut(&mut Sight<'_, '_, D>) + Send + 'static) -> Claim<'_, D> {
        let plan: Plan = Box::new(move |seen| {
            let whole: &dyn Any = seen.whole;
            let whole = whole.downcast_ref().expect("the plan is for these granules");
            plan(&mut Sight { whole, seen, last: Cell::new(0) });
        });
        Claim { asked: Asked::Plan(plan), ..Claim::nothing(self.whole()) }
    }

    /// A claim to write all granules that are [poisoned](Self::is_poisoned) by the time, for a task that mends them: see
    /// [`Claim::even_poisoned`]. (There may be some among them that another task has mended meanwhile.)
    pub fn write_poisoned(&self) -> Claim<'_, D> {
        let claim = self.planned(|sight| {
            let whole = sight.whole;
            if whole.lines.poisoned.load(Relaxed) > 0 {
                let poisoned = (0..sight.count()).filter(|&granule| whole.lines.is_poisoned(granule));
                poisoned.for_each(|granule| sight.write(granule..granule + 1));
            }
        });
        claim.even_poisoned()
    }
}

impl<'g, D: Send + Sync + 'static> Claim<'g, D> {
    pub(super) fn nothing(whole: &'g Whole<D>) -> Self {
        Self { whole, asked: Asked::Ranges(Ranges::default()), operation: None, terms: Terms::default() }
    }

    /// For a follow-up of a task that holds granules, which is of this operation.
    pub(super) fn within(whole: &'g Whole<D>, operation: u8) -> Self {
        Self { operation: Some(operation), ..Self::nothing(whole) }
    }

    /// To read these as well.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn and_read(self, range: Range<u32>) -> Self {
        self.and(range, false)
    }

    /// To write these as well. What is read and written is written.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn and_write(self, range: Range<u32>) -> Self {
        self.and(range, true)
    }

    /// Lets the task come before others that were spawned earlier, whatever they do there; as if it had come about that way.
    ///
    /// It claims when a worker gets to it: all its granules if it can have all of them, and none before, so that nobody has to wait
    /// for a task that waits itself; if it cannot, the worker goes on with others, and it tries again when the first one that it
    /// could not have is to be had. After tasks that have written, readers come side by side who have waited for that, but only so
    /// many of them that writers need not wait for ever. One who has tried too often stands in line; and so does a task with
    /// objects from the first.
    pub fn unordered(self) -> Self {
        Self { terms: Terms { unordered: true, ..self.terms }, ..self }
    }

    /// The task runs, and its plan sees all, even where granules are [poisoned](Granules::is_poisoned): to mend them.
    ///
    /// When it has ended without a panic, those that it has claimed to write are poisoned no more, whoever had poisoned them; if
    /// it panics, all of them are. (Only data are mended: a task that does not see them, as it is spawned without them, mends
    /// nothing.) So it should put right whatever it [finds poisoned](super::Held::is_poisoned), or claim no more than it puts right.
    /// What a task had claimed at the moment of its panic may be more than the same claim names later; all of that is what
    /// [`write_poisoned`](Granules::write_poisoned) claims.
    ///
    /// ```
    /// use xtasking::{JoinError, Runtime};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// // Of each pair, one is to be the double of the other.
    /// let pairs = rt.granules_of([(1, 2), (2, 4), (3, 6)]);
    /// let set = rt.task(()).claim(pairs.write(1..2)).submit_with(|(), mut held, _| {
    ///     held.get_mut(1).0 = 5;
    ///     panic!("half-way");
    /// });
    /// assert!(set.join().is_err() && pairs.is_poisoned(1));
    ///
    /// let mend = rt.task(()).claim(pairs.write(0..3).even_poisoned()).submit_with(|(), mut held, _| {
    ///     for granule in 0..3 {
    ///         if held.is_poisoned(granule) {
    ///             let pair = held.get_mut(granule);
    ///             pair.0 = pair.1 / 2;
    ///         }
    ///     }
    /// });
    /// mend.join()?;
    /// let pair = rt.task(()).claim(pairs.read(1..2)).submit_with(|(), held, _| *held.get(1));
    /// assert_eq!(pair.join()?, (2, 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn even_poisoned(self) -> Self {
        Self { terms: Terms { even_poisoned: true, ..self.terms }, ..self }
    }

    fn and(mut self, range: Range<u32>, write: bool) -> Self {
        check(&range, self.whole.lines.count());
        self.asked = match self.asked {
            Asked::Ranges(mut ranges) => {
                ranges.add(range, write);
                Asked::Ranges(ranges)
            }
            Asked::Plan(mut plan) => Asked::Plan(Box::new(move |seen| {
                seen.asked.add(range.clone(), write);
                plan(seen);
            })),
        };
        self
    }
}

/// # Panics
///
/// If there are not so many.
fn check(range: &Range<u32>, count: u32) {
    assert!(range.end <= count, "there are no granules {range:?}");
}

/// What a plan sees, whatever the type of the data.
pub(super) struct Seen<'s> {
    pub whole: &'s dyn Untyped,
    /// What its task has.
    pub held: &'s Rights,
    pub asked: Ranges,
    /// Who was granted a granule because it was looked at no longer.
    pub granted: Vec<Granted>,
    /// How a granule that the task does not have is looked at.
    pub from: From,
    /// It is shown what is poisoned as well.
    pub even_poisoned: bool,
}

/// Where a plan looks from.
#[derive(Clone, Copy)]
pub(super) enum From {
    /// From the lines of the granules.
    Lines,
    /// From this worker, which has locked nothing in the pool.
    Worker(usize),
    /// From a worker that has: it does not lock anything more.
    Holder,
    /// From anywhere, into [buckets](super::toggle) that nobody has locked.
    Buckets,
}

impl Seen<'_> {
    fn add(&mut self, range: Range<u32>, write: bool) {
        check(&range, self.whole.lines().count());
        self.asked.add(range, write);
    }
}

/// A reader who stands in nobody's way for longer than it looks, though it panics.
struct Glance<'a> {
    lines: &'a Lines,
    slot: &'a Slot,
    granule: u32,
    from: From,
    granted: &'a mut Vec<Granted>,
}

impl<'a> Glance<'a> {
    /// `None`: somebody has the granule who writes it, or waits for it.
    fn at(granule: u32, lines: &'a Lines, from: From, granted: &'a mut Vec<Granted>) -> Option<Self> {
        let slot = &lines.all[granule as usize].0;
        let may = match from {
            From::Lines => slot.line.lock().glance(),
            From::Worker(worker) => {
                let mut ranges = Ranges::default();
                ranges.add(granule..granule + 1, false);
                lines.lock(worker, &ranges.rights());
                true
            }
            From::Holder => false,
            From::Buckets => lines.toggle.as_ref().is_some_and(|toggle| toggle.try_lock(granule)),
        };
        may.then(|| {
            #[cfg(debug_assertions)]
            slot.watch.enter(false);
            Self { lines, slot, granule, from, granted }
        })
    }
}

impl Drop for Glance<'_> {
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        self.slot.watch.leave(false);
        if planted!("glance-uncounted") {
            return;
        }
        if let (From::Worker(worker), Some(pool)) = (self.from, &self.lines.pool) {
            return pool.unlock(worker);
        }
        if let Some(toggle) = &self.lines.toggle {
            return toggle.unlock_one(self.granule);
        }
        let granted = self.slot.line.lock().leave();
        if !granted.is_empty() {
            self.granted.push(granted);
        }
    }
}

/// What a [plan](Granules::planned) sees, and names.
pub struct Sight<'s, 'h, D> {
    whole: &'s Whole<D>,
    seen: &'s mut Seen<'h>,
    /// Of what the task has: what was found last.
    last: Cell<usize>,
}

impl<D: Send + Sync + 'static> Sight<'_, '_, D> {
    /// Names granules that the task reads.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn read(&mut self, range: Range<u32>) {
        self.seen.add(range, false);
    }

    /// Names granules that the task writes.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn write(&mut self, range: Range<u32>) {
        self.seen.add(range, true);
    }

    /// Where it was noted which granule something is in.
    pub fn directory(&self) -> &Directory {
        &self.whole.lines.directory
    }

    /// How many granules there are.
    pub fn count(&self) -> u32 {
        self.whole.lines.count()
    }

    /// Looks at a granule, which is one of those that the task reads from then on. `None`: somebody writes it just now, or is
    /// waiting to. Then the plan may end, as it will be called again when the task has the granule. (A
    /// [poisoned](Granules::is_poisoned) one is shown to nobody, so that the plan may end as well: its task will fail. Unless it
    /// comes [even so](Claim::even_poisoned).)
    ///
    /// # Panics
    ///
    /// If there is no such granule.
    pub fn see<R>(&mut self, granule: u32, look: impl FnOnce(&D) -> R) -> Option<R> {
        check(&(granule..granule.saturating_add(1)), self.count());
        self.seen.asked.add(granule..granule + 1, false);
        let lines = &self.whole.lines;
        let is_held = self.seen.held.find(granule, &self.last).is_some();
        let glance = if is_held {
            None
        } else {
            Some(Glance::at(granule, lines, self.seen.from, &mut self.seen.granted)?)
        };
        let is_shown = self.seen.even_poisoned || !lines.is_poisoned(granule);
        // SAFETY: the task has it, and nobody who might write it runs meanwhile on its behalf; or it counts as read until the
        // glance is over.
        let seen = is_shown.then(|| look(unsafe { self.whole.read(granule) }));
        drop(glance);
        seen
    }
}

impl<D: Send + Sync + 'static> fmt::Debug for Claim<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.asked {
            Asked::Ranges(ranges) => f.debug_tuple("Claim").field(ranges).finish(),
            Asked::Plan(_) => f.write_str("Claim(by a plan)"),
        }
    }
}
