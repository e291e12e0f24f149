//! Tasks that belong to a group, and those that belong to none.

use super::Group;
use super::tally::Tally;
use crate::scheduler::Context;
use crate::task::handle::Detached;
use crate::task::{JoinError, Sink, Spawner, Task};
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Whether a task belongs to a group.
pub trait Membership: sealed::Sealed {
    /// Who is told that the task is over.
    #[doc(hidden)]
    type Sink: Sink<()>;
    /// For a spawn, during which somebody has a ticket of the group.
    #[doc(hidden)]
    fn sink(self) -> Self::Sink;
}

pub(in crate::task) mod sealed {
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
    fn sink(self) -> Detached {
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
    fn sink(self) -> Member {
        Member { tally: self.tally }
    }
}

/// A member's ticket, as soon as the task is sent; failures go to the group.
pub struct Member {
    tally: NonNull<Tally>,
}

// SAFETY: the tally is shared by atomics.
unsafe impl Send for Member {}

impl Sink<()> for Member {
    #[inline(always)]
    fn enter(&self, spawner: &mut impl Spawner) {
        // SAFETY: during the spawn somebody has a ticket.
        unsafe { spawner.draw_ticket(self.tally) };
    }

    #[inline(always)]
    fn start(&self, cx: &mut Context) -> Result<(), JoinError> {
        cx.groups.set_current(Some(self.tally));
        Ok(())
    }

    #[inline(always)]
    fn complete(self, outcome: Result<(), JoinError>, cx: &mut Context) {
        cx.groups.set_current(None);
        // SAFETY: the task has its ticket, which goes into the stock.
        unsafe {
            if let Err(error) = outcome {
                self.tally.as_ref().fail(error, cx.shared(), Some(cx.worker()));
            }
            cx.take_ticket(self.tally);
        }
    }

    fn refuse(self, spawner: &impl Spawner) {
        // SAFETY: during the spawn somebody has a ticket.
        let tally = unsafe { self.tally.as_ref() };
        tally.fail(JoinError::OutOfMemory, spawner.shared(), spawner.on_worker());
    }
}

/// Tells two: the first one the outcome, the second one that the task is over.
pub(crate) struct Beside<K, D>(pub K, pub D);

impl<R, K: Sink<R>, D: Sink<()>> Sink<R> for Beside<K, D> {
    #[inline(always)]
    fn enter(&self, spawner: &mut impl Spawner) {
        self.1.enter(spawner);
    }

    #[inline(always)]
    unsafe fn is_ready(this: *const Self, task: NonNull<Task>, cx: &mut Context) -> bool {
        // SAFETY: by the caller's promise. Who is told the outcome always is.
        unsafe { D::is_ready(&raw const (*this).1, task, cx) }
    }

    #[inline(always)]
    fn start(&self, cx: &mut Context) -> Result<(), JoinError> {
        // Both in any case.
        let second = self.1.start(cx);
        JoinError::first_of(self.0.start(cx), second)
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
