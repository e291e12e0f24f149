//! A task that stands in the lines of all granules that it has claimed.
//!
//! The task is made at once, by whatever makes its kind, of a spawner that does not send it: it leaves it here. Then it takes
//! its places, all in one step as others see it: it has locked all its lines before it lets go of any. So any two tasks stand
//! in the same order wherever they meet, and nobody waits in a circle. Whoever grants the last place sends the task; and when
//! that is over it gives all of them back, which grants others theirs.
//!
//! Whose claim depends on what is there has a plan, which is asked before the task stands anywhere, and again when it has all
//! that it asked for. If it wants something else then, the task gives back what it has, and stands in line for that.

use super::ask::{Asked, From, Plan, Seen, Terms};
use super::granules::{Lines, Untyped};
use super::line::{Granted, Line, Place};
use super::pool::Pool as Locks;
use super::rights::{Ranges, Rights};
use crate::pool::Pool;
use crate::sync::{AcqRel, Acquire, AtomicU32, Relaxed, Release, SpinMutex, UnsafeCell};
use crate::task::builder::sealed::Spawn;
use crate::task::waiting::Waiting;
use crate::task::{JoinError, catch, quietly};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::take;
use core::ptr::NonNull;
use smallvec::SmallVec;

/// Who claims more granules does not try to get them all at once.
const MOST_AT_ONCE: usize = 4096;
/// Who has tried so often stands in line like all others.
const MOST_TRIES: u32 = 32;
/// A plan that has changed its mind so often gets all granules.
pub(super) const MOST_ROUNDS: u32 = 16;

/// See the module's documentation.
pub(crate) struct Stand {
    whole: NonNull<dyn Untyped>,
    /// How many places were not granted yet, and one more until all have been asked for.
    pending: AtomicU32,
    terms: Terms,
    /// Belongs to the spawner, then to whoever grants the last place, and then to the task. While the task waits, all may look
    /// at its places.
    own: UnsafeCell<Own>,
}

/// The places of a task, in order of granules, each once. Most tasks have few.
type Places = SmallVec<[Place; 3]>;

#[derive(Default)]
pub(super) struct Own {
    /// What it has, or wants to have.
    pub rights: Rights,
    places: Places,
    pub task: Option<Waiting>,
    pub plan: Option<Plan>,
    pub rounds: u32,
    /// How often it has tried to get all at once.
    tries: u32,
    /// It has nothing, and will try again when it is told so at this place.
    hope: Option<usize>,
    /// What the plan has come to.
    pub failure: Option<JoinError>,
    /// The worker that the task was sent to since it is at home there.
    home: Option<usize>,
    /// The worker whose slot in the pool of locks says what it has.
    locked: Option<usize>,
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

/// What comes of it that granules were granted: tasks that are sent, and others that have all that their plans have named so
/// far, and will be asked again.
struct Grants<'s, P> {
    spawner: &'s mut P,
    planned: VecDeque<NonNull<Stand>>,
    goal: Goal,
}

/// Where tasks go that may go anywhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// Where one of their granules is at home.
    Home,
    /// Nowhere: a worker that is about to be free has some of their granules in its caches, and runs one of them next. Whoever is
    /// idle is welcome to the others.
    Here,
}

impl<'s, P: Spawn> Grants<'s, P> {
    fn new(spawner: &'s mut P) -> Self {
        Self { spawner, planned: VecDeque::new(), goal: Goal::Home }
    }

    /// Of a task that is over. Where nobody could take over what stays here, nothing does.
    fn at_end(spawner: &'s mut P) -> Self {
        let stays = spawner.shared().pool == Pool::WorkStealing;
        Self { goal: if stays { Goal::Here } else { Goal::Home }, ..Self::new(spawner) }
    }
}

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
    /// The caller has left the task here, and something that is the task's keeps this until the task has run.
    pub unsafe fn enter(&self, spawner: &mut impl Spawn) {
        let mut grants = Grants::new(spawner);
        // SAFETY: by the caller's promise.
        unsafe {
            if let Some(toggle) = &self.lines().toggle {
                self.enter_bucket(toggle, grants.spawner);
            } else if self.lines().pool.is_some() {
                Self::send(self.into(), &mut grants);
            } else if self.own().plan.is_some() {
                grants.planned.push_back(self.into());
            } else {
                Self::line_up(self.into(), None, &mut grants);
            }
            Self::consider_all(&mut grants);
        }
    }

    /// Takes all places, or gets in line for those that others have. It may have been told that it could have this one.
    ///
    /// # Safety
    ///
    /// The caller has what is the stand's own, which has nothing and stands nowhere; no more afterwards.
    unsafe fn line_up(stand: NonNull<Self>, told: Option<usize>, grants: &mut Grants<'_, impl Spawn>) {
        // SAFETY: the task has not run, which keeps it, until the caller's own count is counted down.
        let this = unsafe { stand.as_ref() };
        // SAFETY: by the caller's promise.
        let Own { rights, places, tries, .. } = unsafe { this.own() };
        if told.is_none() {
            places.reserve_exact(rights.count());
            places.extend(rights.granules().map(|(granule, write)| Place::new(granule, write)));
            places.iter().for_each(|place| place.belongs_to(this));
        }
        let places = &places[..];
        if this.terms.unordered && *tries < MOST_TRIES && places.len() <= MOST_AT_ONCE {
            *tries += 1;
            // SAFETY: by the caller's promise.
            return unsafe { Self::try_at_once(stand, told, grants) };
        }
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
        unsafe { Self::grant(stand, granted + own, grants) };
    }

    /// Takes all places if it can have them all now; whoever waits for one of them is overtaken. If not, the task has none of
    /// them, so that nobody waits for it, and tries again when it is told so at one that it could not have. Was it told so at this
    /// one and does not take it, others are told.
    ///
    /// # Safety
    ///
    /// The caller has what is the stand's own; no more afterwards.
    unsafe fn try_at_once(stand: NonNull<Self>, told: Option<usize>, grants: &mut Grants<'_, impl Spawn>) {
        // SAFETY: the task has not run, which keeps it.
        let this = unsafe { stand.as_ref() };
        // SAFETY: by the caller's promise.
        let Own { places, hope, .. } = unsafe { this.own() };
        let most = this.lines().overtaking;
        // Relaxed: shown to others by the locks.
        this.pending.store(1, Relaxed);
        let mut others = Granted::default();
        // Ascending, as they all do, and no further than need be.
        let mut locked: SmallVec<[_; 8]> = SmallVec::with_capacity(places.len().min(64));
        *hope = places.iter().position(|place| {
            let line = this.line(place).lock();
            let is_taken = !line.may_be_taken(place.write, most);
            locked.push(line);
            is_taken
        });
        if let Some(at) = *hope {
            if let Some(told) = told.filter(|_| !planted!("told-in-vain-keeps-quiet")) {
                match locked.get_mut(told) {
                    Some(line) => line.tell_hopeful(&mut others),
                    None => this.line(&places[told]).lock().tell_hopeful(&mut others),
                }
            }
            locked[at].hope(&places[at]);
            // From here on it is whoever's who tells it.
            drop(locked);
            return Self::tell(others, grants);
        }
        locked.iter_mut().zip(&*places).for_each(|(line, place)| line.overtake(place.write));
        drop(locked);
        // SAFETY: it is counted here, once, as it has all and stands in no line.
        unsafe { Self::grant(stand, 1, grants) };
    }

    /// Counts places that were granted, and sends the task if there are no others, or asks for its plan. Unless it does so,
    /// nothing of the stand may be left as soon as they are counted.
    ///
    /// # Safety
    ///
    /// Each place is counted once.
    unsafe fn grant(stand: NonNull<Self>, places: u32, grants: &mut Grants<'_, impl Spawn>) {
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
                let own = stand.as_ref().own();
                if own.hope.is_some() || own.plan.is_some() && !planted!("plan-asked-once") {
                    grants.planned.push_back(stand);
                } else {
                    Self::send(stand, grants);
                }
            }
        }
    }

    /// Tells all whose places these are.
    fn tell(granted: Granted, grants: &mut Grants<'_, impl Spawn>) {
        // SAFETY: each place was granted just now, and its task waits to be told so.
        granted.for_each(|stand| unsafe { Self::grant(stand, 1, grants) });
    }

    /// Asks the plans of those who have all that was named so far, and of those who get there meanwhile.
    ///
    /// # Safety
    ///
    /// The caller has what is the stands' own.
    unsafe fn consider_all(grants: &mut Grants<'_, impl Spawn>) {
        while let Some(stand) = grants.planned.pop_front() {
            // SAFETY: by the caller's promise, or as it was granted its last place.
            unsafe { Self::consider(stand, grants) };
        }
    }

    /// # Safety
    ///
    /// As there.
    unsafe fn consider(stand: NonNull<Self>, grants: &mut Grants<'_, impl Spawn>) {
        // SAFETY: the task waits, and keeps it.
        let this = unsafe { stand.as_ref() };
        // SAFETY: by the caller's promise.
        let own = unsafe { this.own() };
        if let Some(told) = own.hope.take() {
            // SAFETY: it has nothing and stands nowhere.
            return unsafe { Self::line_up(stand, Some(told), grants) };
        }
        let plan = own.plan.as_mut().expect("it has a plan");
        let (outcome, granted) = this.ask(plan, &own.rights, From::Lines);
        granted.into_iter().for_each(|granted| Self::tell(granted, grants));
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
            return unsafe { Self::send(stand, grants) };
        };
        own.rights = if own.rounds < MOST_ROUNDS { asked } else { this.everything() }.rights();
        this.give_back(&take(&mut own.places), grants);
        // SAFETY: it has nothing and stands nowhere.
        unsafe { Self::line_up(stand, None, grants) };
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

    /// Waits on this worker until the task has all that it claims, where a [pool](super::pool) of locks keeps tasks apart.
    fn obtain(&self, own: &mut Own, pool: &Locks, worker: usize) -> Result<(), JoinError> {
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
    unsafe fn send(stand: NonNull<Self>, grants: &mut Grants<'_, impl Spawn>) {
        // SAFETY: the task has not run, which keeps the stand.
        let this = unsafe { stand.as_ref() };
        // SAFETY: by the caller's promise.
        let own = unsafe { this.own() };
        let task = own.task.take().expect("it was left here before it took any place");
        let lines = this.lines();
        let Grants { spawner, goal, .. } = grants;
        if let Some(pool) = &lines.pool {
            return if task.may_go_anywhere() {
                task.send_to(pool.next(), false, *spawner);
            } else {
                task.send(*spawner);
            };
        }
        // The end of a plan is the application's as well.
        quietly(|| own.plan = None);
        if !task.may_go_anywhere() || own.rights.is_empty() {
            return task.send(*spawner);
        }
        let home = lines.homes.visit(&own.rights);
        match goal {
            Goal::Home => {
                lines.homes.begin(home);
                own.home = Some(home);
                task.send_to(home, true, *spawner);
            }
            Goal::Here => task.keep(*spawner),
        }
    }

    fn give_back(&self, places: &[Place], grants: &mut Grants<'_, impl Spawn>) {
        for place in places {
            let granted = self.line(place).lock().leave();
            Self::tell(granted, grants);
        }
    }

    /// The same at the end of a task. What it has written is read first by those who have hoped for that, and then taken in
    /// order: so readers go side by side who have waited for a while. (After each writer there is one such time, as in locks that
    /// are phase-fair: Brandenburg, Anderson, "Spin-Based Reader-Writer Synchronization for Multiprocessor Real-Time Systems",
    /// Real-Time Systems 46, 2010, section 3.)
    fn give_back_at_end(&self, places: &[Place], grants: &mut Grants<'_, impl Spawn>) {
        let most = self.lines().overtaking;
        let mut kept: SmallVec<[&Place; 4]> = SmallVec::new();
        for place in places {
            let mut line = self.line(place).lock();
            let hopeful = line.step_down(most);
            let granted = if hopeful.is_empty() {
                line.leave()
            } else {
                kept.push(place);
                hopeful
            };
            drop(line);
            Self::tell(granted, grants);
        }
        // SAFETY: each was told just now.
        unsafe { Self::consider_all(grants) };
        if !kept.is_empty() {
            for place in kept {
                let granted = self.line(place).lock().leave();
                Self::tell(granted, grants);
            }
            // SAFETY: as above.
            unsafe { Self::consider_all(grants) };
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
        if let (Some(pool), Some(worker)) = (&self.lines().pool, own.locked) {
            return pool.end(worker, &self.lines().shared);
        }
        if let Some(toggle) = &self.lines().toggle {
            return toggle.unlock(&take(&mut own.buckets).unwrap_or_default());
        }
        let homes = &self.lines().homes;
        if let Some(home) = own.home {
            homes.over(home);
        }
        homes.look(&own.rights);
        let mut grants = Grants::at_end(spawner);
        self.give_back_at_end(&own.places, &mut grants);
        grants.spawner.offer();
    }
}
