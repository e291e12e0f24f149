//! A task that stands in the lines of all granules that it has claimed.
//!
//! The task is made at once, by whatever makes its kind, of a spawner that does not send it: it leaves it here. Then it takes
//! its places, all in one step as others see it: it has locked all its lines before it lets go of any. So any two tasks stand
//! in the same order wherever they meet, and nobody waits in a circle. Whoever grants the last place sends the task; and when
//! that is over it gives all of them back, which grants others theirs.
//!
//! Whose claim depends on what is there has a plan, which is asked before the task stands anywhere, and again when it has all
//! that it asked for. If it wants something else then, the task gives back what it has, and stands in line for that.

use super::ask::{Asked, From, Plan, Seen};
use super::granules::{Lines, Untyped};
use super::line::{Granted, Line, Place};
use super::pool::Pool;
use super::rights::{Ranges, Rights};
use crate::sync::{AcqRel, Acquire, AtomicU32, Relaxed, Release, SpinMutex, UnsafeCell};
use crate::task::builder::sealed::Spawn;
use crate::task::waiting::Waiting;
use crate::task::{JoinError, catch, quietly};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::take;
use core::ptr::NonNull;
use smallvec::SmallVec;

/// A plan that has changed its mind so often gets all granules.
const MOST_ROUNDS: u32 = 16;

/// See the module's documentation.
pub(crate) struct Stand {
    whole: NonNull<dyn Untyped>,
    /// How many places were not granted yet, and one more until all have been asked for.
    pending: AtomicU32,
    /// It runs even where granules are poisoned.
    even_poisoned: bool,
    /// Belongs to the spawner, then to whoever grants the last place, and then to the task. While the task waits, all may look
    /// at its places.
    own: UnsafeCell<Own>,
}

/// The places of a task, in order of granules, each once. Most tasks have few.
type Places = SmallVec<[Place; 3]>;

#[derive(Default)]
struct Own {
    /// What it has, or wants to have.
    rights: Rights,
    places: Places,
    task: Option<Waiting>,
    plan: Option<Plan>,
    rounds: u32,
    /// What the plan has come to.
    failure: Option<JoinError>,
    /// The worker that the task was sent to since it is at home there.
    home: Option<usize>,
    /// The worker whose slot in the pool of locks says what it has.
    locked: Option<usize>,
    /// The task has been seen to begin.
    #[cfg(debug_assertions)]
    runs: bool,
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

/// Tasks that have all that their plans have named so far.
type Planned = VecDeque<NonNull<Stand>>;

impl Stand {
    /// For a task that will be admitted before the granules' owner lets go of them.
    pub fn new(whole: &(dyn Untyped + 'static), asked: Asked, even_poisoned: bool) -> Self {
        let mut own = Own::default();
        match asked {
            Asked::Ranges(ranges) => own.rights = ranges.rights(),
            Asked::Plan(plan) => own.plan = Some(plan),
        }
        let (whole, own) = (NonNull::from(whole), UnsafeCell::new(own));
        Self { whole, pending: AtomicU32::new(0), even_poisoned, own }
    }

    pub fn even_poisoned(&self) -> bool {
        self.even_poisoned
    }

    pub fn whole(&self) -> &(dyn Untyped + 'static) {
        // SAFETY: until it is admitted, the task is within the life of a handle; then its epoch keeps the granules.
        unsafe { self.whole.as_ref() }
    }

    pub fn lines(&self) -> &Lines {
        self.whole().lines()
    }

    fn line(&self, place: &Place) -> &SpinMutex<Line> {
        &self.lines().all[place.granule as usize].0.line
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
    unsafe fn own(&self) -> &mut Own {
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
    /// The caller has left the task here, and something that is the task's keeps this until the task has run.
    pub unsafe fn enter(&self, spawner: &mut impl Spawn) {
        let mut planned = Planned::new();
        // SAFETY: by the caller's promise.
        unsafe {
            if self.lines().pool.is_some() {
                Self::send(self.into(), spawner);
            } else if self.own().plan.is_some() {
                planned.push_back(self.into());
            } else {
                Self::line_up(self.into(), spawner, &mut planned);
            }
            Self::consider_all(planned, spawner);
        }
    }

    /// Takes all places.
    ///
    /// # Safety
    ///
    /// The caller has what is the stand's own; no more afterwards.
    unsafe fn line_up(stand: NonNull<Self>, spawner: &mut impl Spawn, planned: &mut Planned) {
        // SAFETY: the task has not run, which keeps it, until the caller's own count is counted down.
        let this = unsafe { stand.as_ref() };
        // SAFETY: by the caller's promise.
        let Own { rights, places, .. } = unsafe { this.own() };
        *places = rights.granules().map(|(granule, write)| Place::new(granule, write)).collect();
        let places = &places[..];
        places.iter().for_each(|place| place.belongs_to(this));
        // Relaxed: shown to others by the locks.
        this.pending.store(places.len() as u32 + 1, Relaxed);
        let enter = |line: &mut Line, place| u32::from(line.enter(place));
        let granted: u32 = if planted!("claim-in-many-steps") {
            places.iter().map(|place| enter(&mut this.line(place).lock(), place)).sum()
        } else if let [place] = places {
            enter(&mut this.line(place).lock(), place)
        } else {
            // Ascending, as they all do.
            let mut locked: SmallVec<[_; 8]> = places.iter().map(|place| this.line(place).lock()).collect();
            locked.iter_mut().zip(places).map(|(line, place)| enter(line, place)).sum()
        };
        let own = u32::from(!planted!("claim-sent-twice"));
        // SAFETY: those that were granted here are counted here, once. The one more is counted with them: others may have
        // granted all that was not, and would be gone with the task.
        unsafe { Self::grant(stand, granted + own, spawner, planned) };
    }

    /// Counts places that were granted, and sends the task if there are no others, or asks for its plan. Unless it does so,
    /// nothing of the stand may be left as soon as they are counted.
    ///
    /// # Safety
    ///
    /// Each place is counted once.
    unsafe fn grant(stand: NonNull<Self>, places: u32, spawner: &mut impl Spawn, planned: &mut Planned) {
        // SAFETY: until all places are counted the task has not run, which keeps the stand.
        let pending = unsafe { &(*stand.as_ptr()).pending };
        // AcqRel: the task comes after all that was done before with any of its granules, whoever has granted that.
        let before = if planted!("claim-counted-twice") {
            let before = pending.load(Acquire);
            pending.store(before - places, Release);
            before
        } else {
            pending.fetch_sub(places, if planted!("claim-granted-unordered") { Relaxed } else { AcqRel })
        };
        if before == places {
            // SAFETY: the last one has all that is the stand's own.
            unsafe {
                match stand.as_ref().own().plan {
                    Some(_) if !planted!("plan-asked-once") => planned.push_back(stand),
                    _ => Self::send(stand, spawner),
                }
            }
        }
    }

    /// Tells all whose places these are.
    fn tell(granted: Granted, spawner: &mut impl Spawn, planned: &mut Planned) {
        // SAFETY: each place was granted just now, and its task waits to be told so.
        granted.for_each(|stand| unsafe { Self::grant(stand, 1, spawner, planned) });
    }

    /// Asks the plans of those who have all that was named so far, and of those who get there meanwhile.
    ///
    /// # Safety
    ///
    /// The caller has what is the stands' own.
    unsafe fn consider_all(mut planned: Planned, spawner: &mut impl Spawn) {
        while let Some(stand) = planned.pop_front() {
            // SAFETY: by the caller's promise, or as it was granted its last place.
            unsafe { Self::consider(stand, spawner, &mut planned) };
        }
    }

    /// # Safety
    ///
    /// As there.
    unsafe fn consider(stand: NonNull<Self>, spawner: &mut impl Spawn, planned: &mut Planned) {
        // SAFETY: the task waits, and keeps it.
        let this = unsafe { stand.as_ref() };
        // SAFETY: by the caller's promise.
        let own = unsafe { this.own() };
        let plan = own.plan.as_mut().expect("it has a plan");
        let (outcome, granted) = this.ask(plan, &own.rights, From::Lines);
        granted.into_iter().for_each(|granted| Self::tell(granted, spawner, planned));
        own.rounds += 1;
        let asked = match outcome {
            Ok(asked) if asked.are_within(&own.rights) => None,
            Ok(asked) => Some(asked),
            Err(failure) => {
                own.failure = Some(failure);
                None
            }
        };
        let Some(asked) = asked else {
            // SAFETY: it is the caller's, and has all that it wants.
            return unsafe { Self::send(stand, spawner) };
        };
        own.rights = if own.rounds < MOST_ROUNDS { asked } else { this.everything() }.rights();
        this.give_back(&take(&mut own.places), spawner, planned);
        // SAFETY: it has nothing and stands nowhere.
        unsafe { Self::line_up(stand, spawner, planned) };
    }

    /// Asks a plan what it wants where its task has this. Returns also who was granted granules because it looked at them.
    fn ask(&self, plan: &mut Plan, held: &Rights, from: From) -> (Result<Ranges, JoinError>, Vec<Granted>) {
        let (whole, even_poisoned) = (self.whole(), self.even_poisoned);
        let mut seen =
            Seen { whole, held, asked: Ranges::default(), granted: Vec::new(), from, even_poisoned };
        let outcome = catch(|| plan(&mut seen));
        let Seen { asked, granted, .. } = seen;
        (outcome.map(|()| asked).map_err(JoinError::panicked), granted)
    }

    fn everything(&self) -> Ranges {
        Ranges::all(self.lines().count())
    }

    /// Waits on this worker until the task has all that it claims, where a [pool](super::pool) of locks keeps tasks apart.
    fn obtain(&self, own: &mut Own, pool: &Pool, worker: usize) -> Result<(), JoinError> {
        loop {
            let asked = match &mut own.plan {
                None => own.rights.clone(),
                Some(_) if own.rounds == MOST_ROUNDS => self.everything().rights(),
                Some(plan) => self.ask(plan, &Rights::default(), From::Worker(worker)).0?.rights(),
            };
            own.rounds += 1;
            let locked = pool.widened(&asked);
            self.lines().lock(worker, &locked);
            own.locked = Some(worker);
            // What is locked without need is not the task's.
            let settled = match &mut own.plan {
                None => Some(asked),
                Some(_) if own.rounds > MOST_ROUNDS => Some(asked),
                Some(plan) => {
                    let asked = self.ask(plan, &locked, From::Holder).0?;
                    asked.are_within(&locked).then(|| asked.rights())
                }
            };
            if let Some(rights) = settled {
                own.rights = rights;
                quietly(|| own.plan = None);
                pool.begin(worker, &self.lines().shared);
                return Ok(());
            }
            own.locked = None;
            pool.unlock(worker);
        }
    }

    /// Sends the task, which has all its granules. Then nothing of the stand may be left.
    ///
    /// # Safety
    ///
    /// The caller has what is the stand's own; no more afterwards.
    unsafe fn send(stand: NonNull<Self>, spawner: &mut impl Spawn) {
        // SAFETY: the task has not run, which keeps the stand.
        let this = unsafe { stand.as_ref() };
        // SAFETY: by the caller's promise.
        let own = unsafe { this.own() };
        let task = own.task.take().expect("it was left here before it took any place");
        let lines = this.lines();
        if let Some(pool) = &lines.pool {
            return if task.may_go_anywhere() {
                task.send_to(pool.next(), false, spawner);
            } else {
                task.send(spawner);
            };
        }
        // The end of a plan is the application's as well.
        quietly(|| own.plan = None);
        if task.may_go_anywhere() && !own.rights.is_empty() {
            let home = lines.homes.visit(&own.rights);
            own.home = Some(home);
            task.send_to(home, true, spawner);
        } else {
            task.send(spawner);
        }
    }

    fn give_back(&self, places: &[Place], spawner: &mut impl Spawn, planned: &mut Planned) {
        for place in places {
            let granted = self.line(place).lock().leave();
            Self::tell(granted, spawner, planned);
        }
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
            return Err(failure);
        }
        let lines = self.lines();
        if let Some(pool) = &lines.pool {
            self.obtain(own, pool, worker)?;
        }
        // Relaxed: whoever poisoned one of these comes before the task, and is counted until it is mended.
        if !self.even_poisoned
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
        if let (Some(pool), Some(worker)) = (&self.lines().pool, own.locked) {
            return pool.end(worker, &self.lines().shared);
        }
        let mut planned = Planned::new();
        self.give_back(&own.places, spawner, &mut planned);
        if let Some(home) = own.home {
            let homes = &self.lines().homes;
            homes.over(home);
            homes.look(&own.rights);
        }
        // SAFETY: each was granted its last place just now.
        unsafe { Self::consider_all(planned, spawner) };
    }
}
