//! The fork stack as thieves see it.

use super::{ForkStack, MAX_BATCH, MAX_FORCED, Top};
use crate::fork::handover::Glance;
use crate::fork::job::Sight;
use crate::fork::{Handover, Job, Thief};
use crate::sync::{Acquire, Relaxed, Release};
use core::iter::successors;
use core::ptr::NonNull;

/// Makes all running threads pass a full fence. Returns false if that is not possible.
pub(crate) type Barrier<'a> = &'a dyn Fn() -> bool;

impl ForkStack {
    /// Returns the place of the oldest job that is not taken, or of the next job; `None` if that is
    /// the last slot, which is not for thieves.
    fn oldest(&self) -> Option<Top> {
        // Acquire pairs with the Release in `steal`: this thread sees that the slot is initialised.
        let oldest = self.own().bottom().with_address(self.head().thieves.oldest.load(Acquire));
        (!oldest.is_last()).then_some(oldest)
    }

    /// Returns what there is to steal: only a hint.
    pub fn sight(&self) -> Sight {
        // SAFETY: the oldest slot is initialised: the owner keeps those up to its top so.
        self.oldest().map_or(Sight::Nothing, |oldest| unsafe { Job::sight(oldest.slot()) })
    }

    /// Returns true if a thief is about to take the oldest job: what is behind it is not seen until
    /// it has done so.
    pub fn is_theft_in_transit(&self) -> bool {
        // SAFETY: as above.
        self.oldest().is_some_and(|oldest| unsafe { Job::is_in_transit(oldest.slot()) })
    }

    /// Returns what identifies the oldest job.
    pub fn oldest_address(&self) -> usize {
        self.head().thieves.oldest.load(Relaxed)
    }

    /// Returns true if the owner does not answer requests: it has not since a thief published jobs.
    pub fn is_silent(&self) -> bool {
        self.head().thieves.forced.load(Relaxed) > 0
    }

    /// Steals the oldest job, if it is public, or a barrier is given to publish it; unless
    /// `may_take` returns false. That is called while the job can be taken by no other thief: if
    /// its owner has popped it meanwhile, it is not stolen.
    pub fn steal(
        &self,
        thief: Thief,
        may_take: impl FnOnce() -> bool,
        barrier: Option<Barrier<'_>>,
    ) -> Option<NonNull<Job>> {
        let thieves = &self.head().thieves;
        let _guard = thieves.lock.try_lock()?;
        let oldest = self.oldest()?;
        if let Some(barrier) = barrier {
            // Relaxed: a hint.
            let forced = thieves.forced.load(Relaxed);
            let most = (MAX_BATCH << forced.min(8)).min(MAX_FORCED);
            if !publish_oldest(oldest, most, barrier) {
                return None;
            }
            thieves.forced.store(forced + 1, Relaxed);
        }
        // SAFETY: the slot is initialised, and this thread has the lock. A slot is published by the
        // owner, or in `publish_oldest`, before its barrier.
        unsafe {
            if !Job::take(oldest.slot(), thief, || self.head().inherited(), may_take) {
                return None;
            }
            // Not the last slot, so the next one is in the stack. Release pairs with the Acquire of
            // `oldest`.
            thieves.oldest.store(oldest.next().address(), Release);
        }
        Some(oldest.slot())
    }
}

/// A job that was taken from a stack, as a third worker sees it.
#[derive(Clone, Copy)]
pub(crate) struct Taken<'s> {
    stack: &'s ForkStack,
    job: NonNull<Job>,
    /// Counts the stack's settled jobs.
    settled: usize,
    glance: Glance,
}

impl ForkStack {
    /// Returns the jobs from the address `base` on that are taken and not done, the youngest first.
    /// Looks at no more than `most` places: jobs that are done keep theirs until their owner is
    /// back there.
    pub fn taken_from(&self, base: usize, most: usize) -> impl Iterator<Item = Taken<'_>> {
        let thieves = &self.head().thieves;
        // Acquire pairs with the Release in `settle`: this thread sees that the job is done.
        let settled = thieves.settled.load(Acquire);
        let oldest = thieves.oldest.load(Acquire);
        let first = base.max(self.own().bottom().address());
        let places = (first..oldest).step_by(size_of::<Job>()).rev().take(most);
        places.filter_map(move |address| {
            let job = self.own().bottom().with_address(address).slot();
            // SAFETY: slots below the oldest job are initialised.
            unsafe {
                let glance = Job::is_taken(job).then(|| Handover::glance(Job::handover_of(job)))?;
                (!glance.is_done).then_some(Taken { stack: self, job, settled, glance })
            }
        })
    }
}

impl Taken<'_> {
    /// Returns the worker that has taken the job.
    pub fn thief(&self) -> usize {
        self.glance.thief
    }

    /// Returns the address from which on jobs in the thief's stack are parts of this one.
    pub fn base(&self) -> usize {
        self.glance.base
    }

    /// Returns true if the job is still being run, by the same thief as when it was looked at.
    ///
    /// If the slot has been used again, that is seen: the count of settled jobs is written before,
    /// and the glance acquires it.
    pub fn is_running(&self) -> bool {
        // SAFETY: a slot that was initialised stays so.
        let glance = unsafe { Handover::glance(Job::handover_of(self.job)) };
        // Relaxed: ordered by the glance.
        let settled = self.stack.head().thieves.settled.load(Relaxed);
        glance == self.glance && settled == self.settled
    }
}

/// Publishes up to half of the private jobs from the oldest on, at `most` so many, and passes a
/// barrier. Returns false, and publishes none, if that fails. The caller has the stack's lock.
fn publish_oldest(oldest: Top, most: usize, barrier: Barrier<'_>) -> bool {
    // SAFETY: called for slots with a job, which are below the last one.
    let places = || successors(Some(oldest), |place| Some(unsafe { place.next() }));
    // SAFETY: the oldest slot is initialised, and so is the one after each job.
    let is_private = |place: &Top| !place.is_last() && unsafe { Job::sight(place.slot()) } == Sight::Private;
    let count = places().take(2 * most).take_while(is_private).count().div_ceil(2);
    let mut published = [false; MAX_FORCED];
    for (place, published) in places().take(count).zip(&mut published) {
        // SAFETY: the slot is initialised, and the caller has the lock.
        *published = unsafe { Job::publish(place.slot()) };
    }
    let passed = count == 0 || planted!("steal-without-barrier") || barrier();
    if !passed {
        for (place, _) in places().zip(published).filter(|(_, published)| *published) {
            // SAFETY: the slot is initialised, and the caller has the lock.
            unsafe { Job::unpublish(place.slot()) };
        }
    }
    passed
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use crate::Fork;
    use crate::annotation::Priority;
    use crate::task::Meta;
    use core::ptr::null_mut;

    unsafe fn run_nothing(_: NonNull<Job>, _: Option<Fork<'_>>) {}

    /// Counts the jobs that thieves may take until the next barrier.
    fn public(stack: &ForkStack) -> usize {
        let mut place = stack.oldest();
        let mut count = 0;
        // SAFETY: the places up to the one after the last job are initialised.
        while let Some(at) = place.filter(|at| unsafe { Job::sight(at.slot()) } == Sight::Public) {
            count += 1;
            // SAFETY: there is a job, so there is a slot after it.
            place = Some(unsafe { at.next() });
        }
        count
    }

    #[test]
    fn thieves_publish_more_and_more_until_the_owner_answers() {
        let stack = ForkStack::new(false);
        let own = stack.own();
        let mut top = own.begin(null_mut(), Meta::new(0, Priority::Normal, 0), None);
        for _ in 0..4000 {
            own.make_room(top);
            // SAFETY: `top` is this stack's top, and the slot after it is initialised.
            top = unsafe {
                Job::push(top.slot(), run_nothing);
                top.next()
            };
        }
        let thief = Thief { worker: 1, at: ForkStack::new(false).own().bottom() };
        let steal =
            |barrier: Option<Barrier<'_>>| stack.steal(thief, || true, barrier).expect("there are jobs");
        for batch in [32, 64, 128, 256, 512, 512] {
            assert_eq!(public(&stack), 0);
            steal(Some(&|| true));
            assert!(stack.is_silent());
            assert_eq!(public(&stack), batch - 1);
            (1..batch).for_each(|_| _ = steal(None));
        }
        // SAFETY: the owner is at `top`.
        unsafe { own.publish(top) };
        assert!(!stack.is_silent());
        steal(None);
        steal(Some(&|| true));
        assert_eq!(public(&stack), 31);
    }
}
