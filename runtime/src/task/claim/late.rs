//! Tasks that claim late: not when they are spawned, but when a worker gets to them.
//!
//! Who does not mind the order need not stand anywhere while it waits for a worker. So it meets those only that run or stand in
//! line, not all that will run; and what it takes to claim is done by the worker, who needs the lines next, without a place in
//! any of them. If it cannot have all that it claims it has nothing, so that nobody waits for it, and hopes for the first granule
//! that it could not have, while the worker goes on with another task. It is told when that is to be had, and sent to try again:
//! nobody keeps the granule for it meanwhile. (Were it kept, the next one to come would have to wait as well, and the next: all
//! would soon go one after another.)

use super::ask::From;
use super::grant::{Grants, Locked};
use super::line::{Granted, Place};
use super::rights::Rights;
use super::stand::{Own, Stand};
use crate::scheduler::Context;
use crate::sync::Relaxed;
use crate::task::builder::Options;
use crate::task::builder::sealed::Spawn;
use crate::task::waiting::Waiting;
use crate::task::{Task, quietly};
use core::ptr::NonNull;

/// Who claims more granules does not try to get them all at once.
const MOST_AT_ONCE: usize = 4096;
/// The lines of so many granules are fetched at once, with the data.
const FETCHED: usize = 16;
/// Who has tried so often stands in line like all others.
const MOST_TRIES: u32 = 32;

/// A task that has claimed nothing yet.
#[derive(Clone, Copy)]
pub(super) struct Late {
    /// It was sent with these.
    options: Options,
    /// It was told of this granule, and has not tried to get it since.
    told: Option<u32>,
}

impl Stand {
    /// Whether the task, which was left here, may claim late.
    ///
    /// # Safety
    ///
    /// The caller is its spawner.
    pub(super) unsafe fn may_be_late(&self) -> bool {
        // SAFETY: it stands nowhere yet, so it is the spawner's.
        self.terms.unordered && matches!(unsafe { self.own() }.task, Some(Waiting::Bare(..)))
    }

    /// Sends the task, to claim what it wants when a worker gets to it. Then nothing of the stand may be left.
    ///
    /// # Safety
    ///
    /// As for [`enter`](Self::enter); and it may be late.
    pub(super) unsafe fn enter_late(stand: NonNull<Self>, grants: &mut Grants<'_, impl Spawn>) {
        // SAFETY: it stands nowhere, so it is the spawner's.
        let (this, own) = unsafe { (stand.as_ref(), stand.as_ref().own()) };
        // To send it where that is at home.
        this.foresee(own, From::Lines).into_iter().for_each(|granted| Self::tell(granted, grants));
        // SAFETY: as above.
        unsafe { Self::send_late(stand, None, grants) };
    }

    /// Sends a task that was left here, to claim when a worker gets to it what it could not have or has not claimed yet.
    ///
    /// # Safety
    ///
    /// The caller has what is the stand's own, which has nothing; no more afterwards.
    pub(super) unsafe fn send_late(
        stand: NonNull<Self>,
        told: Option<u32>,
        grants: &mut Grants<'_, impl Spawn>,
    ) {
        // SAFETY: by the caller's promise.
        let own = unsafe { stand.as_ref().own() };
        let Some(Waiting::Bare(_, options)) = own.task else { unreachable!("such a task is not late") };
        own.late = Some(Late { options, told });
        // SAFETY: as above.
        unsafe { Self::send(stand, grants) };
    }

    /// A worker gets to the task. Whether it has all that it claims; if not, it is left here until it is worth trying again, and
    /// sent then: nothing of it, or of the stand, may be left.
    ///
    /// # Safety
    ///
    /// The caller has the task, which keeps the stand; no more if it has to wait.
    pub unsafe fn is_ready(stand: NonNull<Self>, task: NonNull<Task>, mut cx: &mut Context) -> bool {
        // SAFETY: by the caller's promise.
        let (this, own) = unsafe { (stand.as_ref(), stand.as_ref().own()) };
        let Some(Late { options, mut told }) = own.late.take() else { return true };
        let mut grants = Grants::at_end(&mut cx);
        let is_ready = loop {
            if own.tries == MOST_TRIES || own.rights.count() > MOST_AT_ONCE {
                own.task = Some(Waiting::Bare(task, options));
                // SAFETY: it is the caller's, and has nothing. If it was told of a granule it stands in line there now.
                unsafe { Self::line_up(stand, &mut grants) };
                break false;
            }
            if !this.takes_one(&own.rights) {
                let mut locked = Locked::new();
                if !this.lock_free(&own.rights, &mut locked) {
                    own.tries += 1;
                    own.task = Some(Waiting::Bare(task, options));
                    let others = this.hope(own, told, &mut locked);
                    // From here on it is whoever's who tells it.
                    drop(locked);
                    Self::tell(others, &mut grants);
                    break false;
                }
                locked
                    .iter_mut()
                    .zip(own.rights.granules())
                    .for_each(|(line, (_, write))| line.overtake(write));
            }
            told = None;
            if planted!("late-plan-asked-once") || this.is_settled(own, &mut grants) {
                quietly(|| own.plan = None);
                break true;
            }
        };
        // SAFETY: each of these was told just now.
        unsafe { Self::consider_all(&mut grants) };
        grants.spawner.offer();
        is_ready
    }

    /// Takes a granule, if it is the only one that is claimed, as it is most often, and can be had now.
    fn takes_one(&self, rights: &Rights) -> bool {
        let Some((granule, write)) = rights.only() else { return false };
        let mut line = self.line(granule).lock();
        let is_free = line.may_be_taken(write, self.lines().overtaking);
        if is_free {
            line.overtake(write);
        }
        is_free
    }

    /// Locks the lines of these granules, and no more of them than up to the first that cannot be had now. Whether all can be.
    fn lock_free<'s>(&'s self, rights: &Rights, locked: &mut Locked<'s>) -> bool {
        let most = self.lines().overtaking;
        // They come at the same time, not one after another.
        rights.granules().take(FETCHED).for_each(|(granule, _)| self.whole().prefetch(granule));
        // Ascending, as they all do.
        rights.granules().all(|(granule, write)| {
            let line = self.line(granule).lock();
            let is_free = line.may_be_taken(write, most);
            locked.push(line);
            is_free
        })
    }

    /// Hopes for the last of these, which cannot be had now. Was the task told of another one, others are told instead, who are
    /// returned.
    fn hope(&self, own: &mut Own, told: Option<u32>, locked: &mut Locked<'_>) -> Granted {
        let mut others = Granted::default();
        if let Some(told) = told.filter(|_| !planted!("told-in-vain-keeps-quiet")) {
            let is_told = |&(granule, _): &(u32, bool)| granule == told;
            match own.rights.granules().zip(locked.iter_mut()).find(|(right, _)| is_told(right)) {
                Some((_, line)) => line.tell_hopeful(&mut others),
                // Behind all that are locked, as it is one of the task's.
                None => self.line(told).lock().tell_hopeful(&mut others),
            }
        }
        if let (Some((granule, write)), Some(line)) =
            (own.rights.granules().nth(locked.len() - 1), locked.last_mut())
        {
            // Relaxed: shown to others by the lock.
            self.pending.store(1, Relaxed);
            own.hopes = true;
            own.places.clear();
            own.places.push(Place::new(granule, write));
            own.places[0].belongs_to(self);
            line.hope(&own.places[0]);
        }
        others
    }

    /// What a task leaves that is cancelled before it has claimed anything: if it was told of a granule, others are told.
    pub(super) fn gives_up(&self, own: &mut Own, late: Late, grants: &mut Grants<'_, impl Spawn>) {
        quietly(|| own.plan = None);
        if let Some(told) = late.told.filter(|_| !planted!("told-and-cancelled-keeps-quiet")) {
            let mut others = Granted::default();
            self.line(told).lock().tell_hopeful(&mut others);
            Self::tell(others, grants);
            // SAFETY: each was told just now.
            unsafe { Self::consider_all(grants) };
        }
    }
}
