//! What becomes of tasks when granules are taken and given back: they get in line, are told of what they are granted, and go.
//!
//! A plan may want something else when its task has all that it had named. All of those are asked one after another, in a loop
//! of whoever grants: not within each other, as there may be many.

use super::ask::From;
use super::line::{Granted, Line, Place};
use super::rights::Rights;
use super::stand::{MOST_ROUNDS, Own, Stand};
use crate::pool::Pool;
use crate::sync::{AcqRel, Acquire, Guard, Relaxed, Release};
use crate::task::builder::sealed::Spawn;
use crate::task::quietly;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::mem::{replace, take};
use core::ptr::NonNull;
use smallvec::SmallVec;

/// Lines that are locked all at once.
pub(super) type Locked<'s> = SmallVec<[Guard<'s, Line>; 8]>;

/// What comes of it that granules were granted: tasks that are sent, and others that have all that their plans have named so
/// far, and will be asked again.
pub(super) struct Grants<'s, P> {
    pub spawner: &'s mut P,
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
    pub fn new(spawner: &'s mut P) -> Self {
        Self { spawner, planned: VecDeque::new(), goal: Goal::Home }
    }

    /// Of a task that is over. Where nobody could take over what stays here, nothing does.
    pub fn at_end(spawner: &'s mut P) -> Self {
        let stays = spawner.shared().pool == Pool::WorkStealing;
        Self { goal: if stays { Goal::Here } else { Goal::Home }, ..Self::new(spawner) }
    }

    /// The plan of that one is to be asked, whose own is the caller's.
    pub fn plan(&mut self, stand: NonNull<Stand>) {
        self.planned.push_back(stand);
    }
}

impl Stand {
    /// Takes all places, or gets in line for those that others have.
    ///
    /// # Safety
    ///
    /// The caller has what is the stand's own, which has nothing and stands nowhere; no more afterwards.
    pub(super) unsafe fn line_up(stand: NonNull<Self>, grants: &mut Grants<'_, impl Spawn>) {
        // SAFETY: the task has not run, which keeps it, until the caller's own count is counted down.
        let this = unsafe { stand.as_ref() };
        // SAFETY: by the caller's promise.
        let Own { rights, places, .. } = unsafe { this.own() };
        places.clear();
        places.reserve_exact(rights.count());
        places.extend(rights.granules().map(|(granule, write)| Place::new(granule, write)));
        places.iter().for_each(|place| place.belongs_to(this));
        let places = &places[..];
        // Relaxed: shown to others by the locks.
        this.pending.store(places.len() as u32 + 1, Relaxed);
        let enter = |line: &mut Line, place| u32::from(line.enter(place));
        let granted: u32 = if planted!("claim-in-many-steps") {
            places.iter().map(|place| enter(&mut this.line(place.granule).lock(), place)).sum()
        } else if let [place] = places {
            enter(&mut this.line(place.granule).lock(), place)
        } else {
            // Ascending, as they all do.
            let mut locked: Locked = places.iter().map(|place| this.line(place.granule).lock()).collect();
            locked.iter_mut().zip(places).map(|(line, place)| enter(line, place)).sum()
        };
        let own = u32::from(!planted!("claim-sent-twice"));
        // SAFETY: those that were granted here are counted here, once. The one more is counted with them: others may have
        // granted all that was not, and would be gone with the task.
        unsafe { Self::grant(stand, granted + own, grants) };
    }

    /// Counts places that were granted, and sends the task if there are no others, or has its plan asked. Unless it does so,
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
                if take(&mut own.hopes) {
                    let told = own.places[0].granule;
                    Self::send_late(stand, Some(told), grants);
                } else if own.plan.is_some() && !planted!("plan-asked-once") {
                    grants.plan(stand);
                } else {
                    Self::send(stand, grants);
                }
            }
        }
    }

    /// Tells all whose places these are.
    pub(super) fn tell(granted: Granted, grants: &mut Grants<'_, impl Spawn>) {
        // SAFETY: each place was granted just now, and its task waits to be told so.
        granted.for_each(|stand| unsafe { Self::grant(stand, 1, grants) });
    }

    /// Asks the plans of those who have all that was named so far, and of those who get there meanwhile.
    ///
    /// # Safety
    ///
    /// The caller has what is the stands' own.
    pub(super) unsafe fn consider_all(grants: &mut Grants<'_, impl Spawn>) {
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
        // SAFETY: it is the caller's, and has all that it wants; or it has nothing and stands nowhere.
        unsafe {
            if this.is_settled(own, grants) {
                Self::send(stand, grants);
            } else {
                Self::line_up(stand, grants);
            }
        }
    }

    /// Asks the plan of a task that has all that it has named so far. Whether that is all that it wants: if not, it has nothing any
    /// more, and wants something else.
    pub(super) fn is_settled(&self, own: &mut Own, grants: &mut Grants<'_, impl Spawn>) -> bool {
        let Some(plan) = &mut own.plan else { return true };
        let (outcome, granted) = self.ask(plan, &own.rights, From::Lines);
        granted.into_iter().for_each(|granted| Self::tell(granted, grants));
        own.rounds += 1;
        let asked = match outcome {
            Ok(asked) if asked.are_within(&own.rights) => return true,
            Ok(asked) => asked,
            Err(failure) => {
                own.failure = Some(Box::new(failure));
                return true;
            }
        };
        let next = if own.rounds < MOST_ROUNDS { asked } else { self.everything() };
        let had = replace(&mut own.rights, next.rights());
        self.give_back(&had, grants);
        false
    }

    /// Sends the task, which has all its granules or will claim them late. Then nothing of the stand may be left.
    ///
    /// # Safety
    ///
    /// The caller has what is the stand's own; no more afterwards.
    pub(super) unsafe fn send(stand: NonNull<Self>, grants: &mut Grants<'_, impl Spawn>) {
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
        if own.late.is_none() {
            // The end of a plan is the application's as well.
            quietly(|| own.plan = None);
        }
        if !task.may_go_anywhere() || own.rights.is_empty() {
            return task.send(*spawner);
        }
        let known = own.home.map(|home| home as usize);
        let home = known.unwrap_or_else(|| lines.homes.visit(&own.rights));
        match goal {
            Goal::Home => {
                if known.is_none() {
                    lines.homes.begin(home);
                    own.home = Some(home as u32);
                }
                task.send_to(home, true, *spawner);
            }
            Goal::Here => task.keep(*spawner),
        }
    }

    fn give_back(&self, rights: &Rights, grants: &mut Grants<'_, impl Spawn>) {
        for (granule, _) in rights.granules() {
            let granted = self.line(granule).lock().leave();
            Self::tell(granted, grants);
        }
    }

    /// The same at the end of a task.
    pub(super) fn give_back_at_end(&self, rights: &Rights, grants: &mut Grants<'_, impl Spawn>) {
        let most = self.lines().overtaking;
        for (granule, _) in rights.granules() {
            let granted = self.line(granule).lock().leave_at_end(most);
            Self::tell(granted, grants);
        }
        // SAFETY: each was told just now.
        unsafe { Self::consider_all(grants) };
    }
}
