//! Tasks that belong to a group, and those that belong to none.

use super::Group;
use super::tally::Tally;
use crate::scheduler::Context;
use crate::task::handle::Detached;
use crate::task::{JoinError, Sink, Spawner};
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// Whether a task belongs to a group.
pub trait Membership: sealed::Sealed {
    /// Who is told that the task is over.
    #[doc(hidden)]
    type Sink: Sink<()>;
    #[doc(hidden)]
    fn enter<P: Spawner>(self, spawner: &mut P) -> Self::Sink;
}

mod sealed {
    pub trait Sealed {}
}

/// A task of no group.
pub struct Alone;

/// A member of a group.
#[derive(Clone, Copy)]
pub struct Of<'g> {
    tally: NonNull<Tally>,
    /// Somebody has a ticket meanwhile.
    group: PhantomData<&'g Group>,
}

impl sealed::Sealed for Alone {}
impl sealed::Sealed for Of<'_> {}

impl Membership for Alone {
    type Sink = Detached;

    #[inline(always)]
    fn enter<P: Spawner>(self, _: &mut P) -> Detached {
        Detached
    }
}

impl<'g> Of<'g> {
    pub(crate) fn group(group: &'g Group) -> Self {
        Self { tally: group.tally, group: PhantomData }
    }

    /// # Safety
    ///
    /// Somebody has a ticket for `'g`.
    pub(crate) unsafe fn tally(tally: NonNull<Tally>) -> Self {
        Self { tally, group: PhantomData }
    }
}

impl Membership for Of<'_> {
    type Sink = Member;

    #[inline(always)]
    fn enter<P: Spawner>(self, spawner: &mut P) -> Member {
        // SAFETY: somebody has a ticket, as `self` says.
        unsafe { spawner.draw_ticket(self.tally) };
        Member { tally: self.tally }
    }
}

/// A member's ticket; failures go to the group.
pub struct Member {
    tally: NonNull<Tally>,
}

// SAFETY: the tally is shared by atomics.
unsafe impl Send for Member {}

impl Member {
    /// # Safety
    ///
    /// The ticket is to be given back in another way than by a drop.
    unsafe fn into_tally(self) -> NonNull<Tally> {
        ManuallyDrop::new(self).tally
    }
}

impl Sink<()> for Member {
    #[inline(always)]
    fn start(&self, cx: &mut Context) -> bool {
        cx.groups.set_current(Some(self.tally));
        true
    }

    #[inline(always)]
    fn complete(self, outcome: Result<(), JoinError>, cx: &mut Context) {
        cx.groups.set_current(None);
        // SAFETY: the ticket goes into the stock; until then the tally is there.
        unsafe {
            let tally = self.into_tally();
            if let Err(error) = outcome {
                tally.as_ref().fail(error, cx.shared(), Some(cx.worker()));
            }
            cx.take_ticket(tally);
        }
    }

    fn refuse(self, spawner: &impl Spawner) {
        // SAFETY: this has a ticket.
        let tally = unsafe { self.tally.as_ref() };
        tally.fail(JoinError::OutOfMemory, spawner.shared(), spawner.on_worker());
    }
}

impl Drop for Member {
    /// The task could not be spawned.
    #[cold]
    fn drop(&mut self) {
        // SAFETY: this has a ticket.
        let last = unsafe { self.tally.as_ref() }.give_back(1);
        debug_assert!(!last, "whoever spawns a member has a ticket meanwhile");
    }
}

/// Tells two: the first one the outcome, the second one that the task is over.
pub(crate) struct Beside<K, D>(pub K, pub D);

impl<R, K: Sink<R>, D: Sink<()>> Sink<R> for Beside<K, D> {
    #[inline(always)]
    fn start(&self, cx: &mut Context) -> bool {
        // Both in any case.
        self.1.start(cx) & self.0.start(cx)
    }

    #[inline(always)]
    fn complete(self, outcome: Result<R, JoinError>, cx: &mut Context) {
        self.0.complete(outcome, cx);
        self.1.complete(Ok(()), cx);
    }

    fn refuse(self, spawner: &impl Spawner) {
        self.0.refuse(spawner);
    }
}
