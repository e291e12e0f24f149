//! A task that stands in the lines of all granules that it has claimed.
//!
//! The task is made at once, by whatever makes its kind, of a spawner that does not send it: it leaves it here. Then it takes
//! its places, all in one step as others see it: it has locked all its lines before it lets go of any. So any two tasks stand
//! in the same order wherever they meet, and nobody waits in a circle. Whoever grants the last place sends the task; and when
//! that is over it gives all of them back, which grants others theirs.
//!
//! Whose claim depends on what is there has a plan, which is asked before the task stands anywhere, and again when it has all
//! that it asked for. If it wants something else then, the task gives back what it has, and stands in line for that.
//!
//! A task that does not mind the order claims [late](super::late), if that can be.

use super::ask::{Asked, From, Plan, Seen, Terms};
use super::grant::Grants;
use super::granules::{Lines, Untyped};
use super::late::Late;
use super::line::{Granted, Line, Place};
use super::rights::{Ranges, Rights};
use crate::sync::{AtomicU32, Relaxed, SpinMutex, UnsafeCell};
use crate::task::builder::sealed::Spawn;
use crate::task::waiting::Waiting;
use crate::task::{JoinError, catch, quietly};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::take;
use core::ptr::NonNull;
use smallvec::SmallVec;

/// A plan that has changed its mind so often gets all granules.
pub(super) const MOST_ROUNDS: u32 = 16;

/// See the module's documentation.
pub(crate) struct Stand {
    whole: NonNull<dyn Untyped>,
    /// How many places were not granted yet, and one more until all have been asked for.
    pub pending: AtomicU32,
    pub terms: Terms,
    /// Belongs to the spawner, then to whoever grants the last place, and then to the task. While the task waits, all may look
    /// at its places.
    own: UnsafeCell<Own>,
}

/// The places of a task, in order of granules, each once. Most tasks have one at most: who claims late, and need not wait, has none.
pub(super) type Places = SmallVec<[Place; 1]>;

#[derive(Default)]
pub(super) struct Own {
    /// What it has, or wants to have.
    pub rights: Rights,
    pub places: Places,
    pub task: Option<Waiting>,
    pub plan: Option<Plan>,
    pub rounds: u32,
    /// How often it has tried to get all at once.
    pub tries: u32,
    /// It has nothing, and will try again when it is told so at its only place.
    pub hopes: bool,
    /// It has claimed nothing yet.
    pub late: Option<Late>,
    /// What the plan has come to.
    pub failure: Option<Box<JoinError>>,
    /// The worker that the task was sent to since it is at home there.
    pub home: Option<u32>,
    /// The worker whose slot in the pool of locks says what it has.
    pub locked: Option<u32>,
    /// The [buckets](super::toggle) that are locked for the task; none if those who run it see to that.
    pub buckets: Option<Box<[u32]>>,
    /// The task has been seen to begin.
    #[cfg(debug_assertions)]
    runs: bool,
}

impl Own {
    /// Slot of the epoch of the task, which waits here.
    pub fn epoch(&self) -> Option<u8> {
        self.task.as_ref().and_then(Waiting::epoch)
    }
}

impl Drop for Own {
    /// Both are of the application, whose drops may panic: whoever has this last has other things to do.
    fn drop(&mut self) {
        quietly(|| drop(self.plan.take()));
        quietly(|| drop(self.failure.take()));
    }
}

// SAFETY: the task is one that was given up by its spawner; who has what is its own is told by the count. The granules are kept
// alive by the task's epoch.
unsafe impl Send for Stand {}
// SAFETY: as above; all else is shared by locks and atomics.
unsafe impl Sync for Stand {}

impl Stand {
    /// For a task that will be admitted before the granules' owner lets go of them.
    pub fn new(whole: &(dyn Untyped + 'static), asked: Asked, terms: Terms) -> Self {
        let mut own = Own::default();
        match asked {
            Asked::Ranges(ranges) => own.rights = ranges.rights(),
            Asked::Plan(plan) => own.plan = Some(plan),
        }
        let (whole, own) = (NonNull::from(whole), UnsafeCell::new(own));
        Self { whole, pending: AtomicU32::new(0), terms, own }
    }

    pub fn even_poisoned(&self) -> bool {
        self.terms.even_poisoned
    }

    pub fn whole(&self) -> &(dyn Untyped + 'static) {
        // SAFETY: until it is admitted, the task is within the life of a handle; then its epoch keeps the granules.
        unsafe { self.whole.as_ref() }
    }

    pub fn lines(&self) -> &Lines {
        self.whole().lines()
    }

    pub(super) fn line(&self, granule: u32) -> &SpinMutex<Line> {
        &self.lines().all[granule as usize].0.line
    }

    /// # Safety
    ///
    /// The caller is the task, which runs.
    pub unsafe fn rights(&self) -> &Rights {
        // SAFETY: by the caller's promise.
        self.own.with(|own| unsafe { &(*own).rights })
    }

    /// # Safety
    ///
    /// Nobody else has what is the stand's own.
    #[expect(clippy::mut_from_ref, reason = "by the caller's promise")]
    pub(super) unsafe fn own(&self) -> &mut Own {
        // SAFETY: by the caller's promise.
        self.own.with_mut(|own| unsafe { &mut *own })
    }

    /// Leaves the task here.
    ///
    /// # Safety
    ///
    /// The caller is its spawner.
    pub unsafe fn leave_here(&self, task: Waiting) {
        // SAFETY: it stands nowhere yet, so it is the spawner's.
        unsafe { self.own() }.task = Some(task);
    }

    /// Gets in line for all that is claimed.
    ///
    /// # Safety
    ///
    /// The caller has left the task here, which keeps the stand from now on: nothing of it may be left when this returns.
    pub unsafe fn enter(stand: NonNull<Self>, spawner: &mut impl Spawn) {
        let mut grants = Grants::new(spawner);
        // SAFETY: by the caller's promise. What the lines are made of stays: the task is of an epoch, or a handle is still there.
        unsafe {
            let (lines, this) = ((*stand.as_ptr()).lines(), stand.as_ref());
            if let Some(toggle) = &lines.toggle {
                Self::enter_bucket(stand, toggle, grants.spawner);
            } else if lines.pool.is_some() {
                Self::send(stand, &mut grants);
            } else if this.may_be_late() {
                Self::enter_late(stand, &mut grants);
            } else if this.own().plan.is_some() {
                grants.plan(stand);
            } else {
                Self::line_up(stand, &mut grants);
            }
            Self::consider_all(&mut grants);
        }
    }

    /// Asks the task's plan, if it has one, what it will claim, as far as can be seen now from there. Returns who was granted
    /// granules because it looked at them.
    pub(super) fn foresee(&self, own: &mut Own, from: From) -> Vec<Granted> {
        let Some(plan) = &mut own.plan else { return Vec::new() };
        own.rounds += 1;
        let (outcome, granted) = self.ask(plan, &Rights::default(), from);
        match outcome {
            Ok(asked) => own.rights = asked.rights(),
            Err(failure) => {
                own.failure = Some(Box::new(failure));
                quietly(|| own.plan = None);
            }
        }
        granted
    }

    /// Asks a plan what it wants where its task has this. Returns also who was granted granules because it looked at them.
    pub(super) fn ask(
        &self,
        plan: &mut Plan,
        held: &Rights,
        from: From,
    ) -> (Result<Ranges, JoinError>, Vec<Granted>) {
        let (whole, even_poisoned) = (self.whole(), self.terms.even_poisoned);
        let mut seen =
            Seen { whole, held, asked: Ranges::default(), granted: Vec::new(), from, even_poisoned };
        let outcome = catch(|| plan(&mut seen));
        let Seen { asked, granted, .. } = seen;
        (outcome.map(|()| asked).map_err(JoinError::panicked), granted)
    }

    pub(super) fn everything(&self) -> Ranges {
        Ranges::all(self.lines().count())
    }

    /// The task runs now, unless there is a reason not to.
    ///
    /// # Safety
    ///
    /// The caller is the task.
    pub unsafe fn start(&self, worker: usize) -> Result<(), JoinError> {
        // SAFETY: by the caller's promise.
        let own = unsafe { self.own() };
        if let Some(failure) = take(&mut own.failure) {
            return Err(*failure);
        }
        let lines = self.lines();
        let obtained = match (&lines.pool, &lines.toggle) {
            (Some(pool), _) => self.obtain(own, pool, worker),
            (None, Some(toggle)) if own.buckets.is_none() => self.obtain_buckets(own, toggle),
            _ => Ok(()),
        };
        if obtained.is_err() {
            // Who is told of it finds the plan gone.
            quietly(|| own.plan = None);
        }
        obtained?;
        // Relaxed: whoever poisoned one of these comes before the task, and is counted until it is mended.
        if !self.terms.even_poisoned
            && lines.poisoned.load(Relaxed) > 0
            && own.rights.granules().any(|(granule, _)| lines.is_poisoned(granule))
        {
            return Err(JoinError::Poisoned);
        }
        #[cfg(debug_assertions)]
        {
            let slot = |granule: u32| &lines.all[granule as usize].0;
            own.rights.granules().for_each(|(granule, write)| slot(granule).watch.enter(write));
            own.runs = true;
        }
        Ok(())
    }

    /// The task is over: gives all back.
    ///
    /// # Safety
    ///
    /// The caller is the task.
    pub unsafe fn leave(&self, spawner: &mut impl Spawn) {
        // SAFETY: by the caller's promise.
        let own = unsafe { self.own() };
        #[cfg(debug_assertions)]
        if take(&mut own.runs) {
            let lines = self.lines();
            let slot = |granule: u32| &lines.all[granule as usize].0;
            own.rights.granules().for_each(|(granule, write)| slot(granule).watch.leave(write));
        }
        let lines = self.lines();
        if let Some(pool) = &lines.pool {
            // One that was cancelled has nothing.
            own.locked.into_iter().for_each(|worker| pool.end(worker as usize, &lines.shared));
            return;
        }
        if let Some(toggle) = &lines.toggle {
            return toggle.unlock(&take(&mut own.buckets).unwrap_or_default());
        }
        if let Some(home) = own.home {
            lines.homes.over(home as usize);
        }
        let mut grants = Grants::at_end(spawner);
        match own.late {
            // As above.
            Some(late) => self.gives_up(own, late, &mut grants),
            None => self.give_back_at_end(&own.rights, &mut grants),
        }
        grants.spawner.offer();
    }
}
