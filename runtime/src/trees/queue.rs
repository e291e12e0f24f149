//! Queues of claims: at gates, and in stripes for the clusters below them.
//!
//! A queue has holders, and waiters in FIFO order. A claim is admitted if it clashes with no holder
//! and with no waiter. Of the waiters only the first [`WINDOW`] are compared, and if so many claims
//! hold, newcomers wait: so no operation takes longer in a longer queue. But the first waiter waits
//! for holders that it clashes with only. Others may have come later, and wait for it elsewhere.

use super::mode::Modes;
use super::rights::{Exact, Registration, Rights};
use super::short_list::ShortList;
use crate::sync::{AcqRel, under_model};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Waiters of a queue that are compared with what comes behind them.
pub(super) const WINDOW: usize = under_model(16, 4) as usize;
/// How often the first waiter of a queue may be overtaken by claims that are unordered.
pub(super) const MOST_OVERTAKING: u32 = 64;
/// Entries of other claims at one gate, or in one cluster, from which on a newcomer waits.
pub(super) const MOST_HOLDERS: usize = 256;

/// A claim in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClaimPtr(pub NonNull<Registration>);

// SAFETY: a pointer without access. The registration, which is Sync, lives as long as it has an
// entry in a queue.
unsafe impl Send for ClaimPtr {}

/// A claim, as the thread that owns it sees it.
pub(crate) struct OwnedClaim<'r> {
    pub claim: ClaimPtr,
    /// What it holds.
    pub rights: &'r mut Rights,
}

impl OwnedClaim<'_> {
    /// Lends it to a function.
    #[inline(always)]
    pub fn reborrow(&mut self) -> OwnedClaim<'_> {
        OwnedClaim { claim: self.claim, rights: self.rights }
    }
}

/// Claims whose last entry was granted. Their owner is the thread that has this list.
#[derive(Default)]
pub(crate) struct Ready {
    claims: ShortList<ClaimPtr, 4>,
    /// Claims before this one were taken out.
    next: usize,
}

impl Ready {
    /// Counts a granted entry of a claim, which is ready if it was the last.
    fn granted(&mut self, claim: ClaimPtr) {
        // SAFETY: the registration lives, as one of its entries was not counted until here.
        let pending = unsafe { &(*claim.0.as_ptr()).pending };
        // AcqRel pairs with itself: the thread that grants the last entry sees what the claim has
        // registered, and what all holders before it did.
        if pending.fetch_sub(1, AcqRel) == 1 {
            self.claims.push(claim);
        }
    }

    /// Returns true if no claim is left.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Takes out the claim that has been ready longest.
    pub fn pop(&mut self) -> Option<ClaimPtr> {
        let claim = *self.claims.get(self.next)?;
        self.next += 1;
        // Moves no more claims than were taken out since the last time.
        if self.next * 2 >= self.claims.len() {
            self.claims.copy_within(self.next.., 0);
            self.claims.truncate(self.claims.len() - self.next);
            self.next = 0;
        }
        Some(claim)
    }
}

/// A claim at a gate.
#[derive(Clone, Copy)]
pub(crate) struct GateEntry {
    pub claim: ClaimPtr,
    pub modes: Modes,
}

/// The queue of a gate. What is only counted has entries while it waits.
#[derive(Default)]
pub(crate) struct GateQueue {
    holders: ShortList<GateEntry, 2>,
    waiters: VecDeque<GateEntry>,
    /// How many claims have overtaken the first waiter.
    overtaken: u32,
}

impl GateQueue {
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    pub fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Returns true if the modes clash with nothing that holds or waits here. What is counted is
    /// not known here.
    #[inline]
    pub fn admits(&self, claim: ClaimPtr, modes: Modes) -> bool {
        (self.waiters.is_empty() || self.passes_waiters(claim, modes))
            && self.has_room()
            && are_free(self.holders.iter(), claim, modes.clashes())
    }

    #[cold]
    fn passes_waiters(&self, claim: ClaimPtr, modes: Modes) -> bool {
        self.waiters.len() < WINDOW && are_free(self.waiters.iter(), claim, modes.clashes())
    }

    /// Returns true if a claim that does not wait here may hold these modes: it is admitted, or
    /// `overtakes` waiters that may still be overtaken.
    #[inline(always)]
    pub fn admits_now(&mut self, claim: ClaimPtr, modes: Modes, overtakes: bool) -> bool {
        self.admits(claim, modes) || overtakes && self.overtake(claim, modes)
    }

    #[cold]
    fn overtake(&mut self, claim: ClaimPtr, modes: Modes) -> bool {
        let may_overtake = may_be_overtaken(self.overtaken);
        let passes = may_overtake && self.has_room() && self.is_free(claim, modes, 0);
        self.overtaken += u32::from(passes);
        passes
    }

    fn has_room(&self) -> bool {
        self.holders.len() < MOST_HOLDERS
    }

    /// Returns true if the modes clash with no holder and none of the first waiters.
    fn is_free(&self, claim: ClaimPtr, modes: Modes, waiters: usize) -> bool {
        let clashes = modes.clashes();
        are_free(self.holders.iter(), claim, clashes)
            && are_free(self.waiters.range(..waiters), claim, clashes)
    }

    pub fn hold(&mut self, entry: GateEntry) {
        self.holders.push(entry);
    }

    pub fn wait(&mut self, entry: GateEntry) {
        self.waiters.push_back(entry);
    }

    /// Removes a holder.
    #[inline]
    pub fn remove(&mut self, claim: ClaimPtr) {
        if let Some(at) = self.holders.iter().position(|entry| entry.claim == claim) {
            self.holders.swap_remove(at);
        }
    }

    /// Grants waiters in order. `is_counted` tells whether modes are counted at the gate, and
    /// `count_in` counts those of a waiter that needs no entry.
    pub fn grant(&mut self, is_counted: impl Fn(Modes) -> bool, count_in: impl Fn(Modes), ready: &mut Ready) {
        let mut next = 0;
        while next < self.waiters.len().min(WINDOW) {
            let entry @ GateEntry { claim, modes } = self.waiters[next];
            let has_entry = modes.counted() != modes;
            let is_granted = (next == 0 || self.has_room())
                && self.is_free(claim, modes, next)
                && !(has_entry && is_counted(modes.clashes()));
            if !is_granted {
                next += 1;
                continue;
            }
            self.waiters.remove(next);
            if next == 0 {
                self.overtaken = 0;
            }
            if has_entry {
                self.holders.push(entry);
            } else {
                count_in(modes);
            }
            ready.granted(claim);
        }
    }
}

/// Returns true if no entry of another claim has one of these modes.
#[inline(always)]
fn are_free<'e>(mut entries: impl Iterator<Item = &'e GateEntry>, claim: ClaimPtr, clashes: Modes) -> bool {
    !entries.any(|entry| entry.claim != claim && entry.modes.meets(clashes))
}

/// A claim in a cluster.
#[derive(Clone, Copy)]
pub(crate) struct ClusterEntry {
    pub claim: ClaimPtr,
    pub exact: Exact,
}

/// Queues of clusters whose hashes are equal.
#[derive(Default)]
pub(crate) struct Stripe {
    /// Holders in any of the clusters.
    holders: ShortList<ClusterEntry, 4>,
    /// Clusters in which claims wait.
    waiting: Vec<ClusterQueue>,
}

struct ClusterQueue {
    cluster: u32,
    waiters: VecDeque<ClusterEntry>,
    /// How many claims have overtaken the first waiter.
    overtaken: u32,
}

/// Returns true if a first waiter that was overtaken so often may be overtaken again.
fn may_be_overtaken(overtaken: u32) -> bool {
    overtaken < MOST_OVERTAKING || planted!("tree-waiters-overtaken-for-ever")
}

impl Stripe {
    /// Returns true if nothing holds or waits in any of the clusters.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiting.is_empty()
    }

    /// Returns true if the entry clashes with nothing that holds or waits in its cluster. `meet`
    /// tells whether two entries clash, of which one waits or none.
    #[inline(always)]
    pub fn admits(
        &self,
        entry: &ClusterEntry,
        meet: impl Fn(&ClusterEntry, &ClusterEntry, bool) -> bool,
    ) -> bool {
        let meets_holder = |one: &ClusterEntry, other: &ClusterEntry| meet(one, other, false);
        (self.waiting.is_empty() || self.passes_waiters(entry, &meet))
            && is_free(self.holders.iter(), entry, MOST_HOLDERS, &meets_holder)
    }

    #[cold]
    fn passes_waiters(
        &self,
        entry: &ClusterEntry,
        meet: impl Fn(&ClusterEntry, &ClusterEntry, bool) -> bool,
    ) -> bool {
        let meets_waiter = |one: &ClusterEntry, other: &ClusterEntry| meet(one, other, true);
        let queue = self.waiting.iter().find(|queue| queue.cluster == entry.exact.cluster);
        queue.is_none_or(|queue| {
            queue.waiters.len() < WINDOW && is_free(queue.waiters.iter(), entry, WINDOW, &meets_waiter)
        })
    }

    /// Returns true if a claim that does not wait here may hold the entry: it is admitted, or
    /// `overtakes` waiters that may still be overtaken.
    #[inline]
    pub fn admits_now(
        &mut self,
        entry: &ClusterEntry,
        overtakes: bool,
        meet: impl Fn(&ClusterEntry, &ClusterEntry, bool) -> bool,
    ) -> bool {
        self.admits(entry, &meet) || overtakes && self.overtake(entry, |one, other| meet(one, other, false))
    }

    #[cold]
    fn overtake(
        &mut self,
        entry: &ClusterEntry,
        meet: impl Fn(&ClusterEntry, &ClusterEntry) -> bool,
    ) -> bool {
        let Some(queue) = self.waiting.iter_mut().find(|queue| queue.cluster == entry.exact.cluster) else {
            return false;
        };
        let passes =
            may_be_overtaken(queue.overtaken) && is_free(self.holders.iter(), entry, MOST_HOLDERS, &meet);
        queue.overtaken += u32::from(passes);
        passes
    }

    #[inline(always)]
    pub fn hold(&mut self, entry: ClusterEntry) {
        self.holders.push(entry);
    }

    /// Returns true if a claim waits in one of the clusters.
    pub fn has_waiters(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub fn wait(&mut self, entry: ClusterEntry) {
        let cluster = entry.exact.cluster;
        match self.waiting.iter_mut().find(|queue| queue.cluster == cluster) {
            Some(queue) => queue.waiters.push_back(entry),
            None => {
                self.waiting.push(ClusterQueue { cluster, waiters: VecDeque::from([entry]), overtaken: 0 })
            }
        }
    }

    /// Enters a cluster for a task that runs. Calls a function with all that hold or wait.
    pub fn hold_displacing(&mut self, entry: ClusterEntry, displace: impl FnMut(&ClusterEntry)) {
        let waiters = self.waiting.iter().flat_map(|queue| &queue.waiters);
        let waiters = waiters.filter(|_| !planted!("tree-waiters-not-displaced"));
        self.holders.iter().chain(waiters).for_each(displace);
        self.holders.push(entry);
    }

    /// Removes a holder's entry.
    #[inline(always)]
    pub fn remove(&mut self, claim: ClaimPtr, exact: &Exact) {
        if let [only] = &*self.holders
            && only.claim == claim
        {
            // Each entry that a claim has listed is here.
            debug_assert_eq!(only.exact, *exact);
            return self.holders.clear();
        }
        let is_it = |entry: &ClusterEntry| entry.claim == claim && entry.exact == *exact;
        if let Some(at) = self.holders.iter().rposition(is_it) {
            self.holders.swap_remove(at);
        }
    }

    /// Grants waiters of a cluster in order. `meet` tells whether two entries clash, of which one
    /// waits.
    pub fn grant(
        &mut self,
        cluster: u32,
        meet: impl Fn(&ClusterEntry, &ClusterEntry) -> bool,
        ready: &mut Ready,
    ) {
        let Some(at) = self.waiting.iter().position(|queue| queue.cluster == cluster) else { return };
        let ClusterQueue { waiters, overtaken, .. } = &mut self.waiting[at];
        let mut next = 0;
        while next < waiters.len().min(WINDOW) {
            let entry = waiters[next];
            let is_first = next == 0 && !planted!("tree-first-waits-for-room");
            let most = if is_first { usize::MAX } else { MOST_HOLDERS };
            if is_free(self.holders.iter(), &entry, most, &meet)
                && is_free(waiters.range(..next), &entry, WINDOW, &meet)
            {
                waiters.remove(next);
                if next == 0 {
                    *overtaken = 0;
                }
                self.holders.push(entry);
                ready.granted(entry.claim);
            } else {
                next += 1;
            }
        }
        if waiters.is_empty() {
            self.waiting.swap_remove(at);
        }
    }
}

/// Returns true if an entry clashes with none of the others, of which fewer than `most` are of
/// other claims in its cluster.
#[inline]
fn is_free<'e>(
    others: impl Iterator<Item = &'e ClusterEntry>,
    entry: &ClusterEntry,
    most: usize,
    meet: &impl Fn(&ClusterEntry, &ClusterEntry) -> bool,
) -> bool {
    let mut same_cluster = 0;
    for other in others {
        if other.exact.cluster == entry.exact.cluster && other.claim != entry.claim {
            same_cluster += 1;
            if same_cluster == most || meet(other, entry) {
                return false;
            }
        }
    }
    true
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::super::node::Node;
    use super::super::rights::Target;
    use super::*;
    use crate::sync::Relaxed;

    const CLUSTER: u32 = 7;

    fn entry(registration: &Registration) -> ClusterEntry {
        let node = Node { index: CLUSTER, generation: 1 };
        let exact = Exact { cluster: CLUSTER, target: Target { node, alone: true, write: false } };
        ClusterEntry { claim: ClaimPtr(NonNull::from(registration)), exact }
    }

    #[test]
    fn a_claim_never_waits_for_its_own_entries() {
        let (one, other) = (Registration::new(false), Registration::new(false));
        let mut stripe = Stripe::default();
        for _ in 0..MOST_HOLDERS {
            stripe.hold(entry(&one));
        }
        assert!(stripe.admits(&entry(&one), |_, _, _| false));
        assert!(!stripe.admits(&entry(&other), |_, _, _| false));
    }

    #[test]
    fn the_first_waiter_needs_no_room() {
        let holder = Registration::new(false);
        let waiters = [(); 2].map(|()| Registration::new(false));
        let (mut stripe, mut ready) = (Stripe::default(), Ready::default());
        for _ in 0..=MOST_HOLDERS {
            stripe.hold(entry(&holder));
        }
        for waiter in &waiters {
            waiter.pending.store(1, Relaxed);
            stripe.wait(entry(waiter));
        }
        stripe.grant(CLUSTER, |_, _| false, &mut ready);
        assert_eq!(ready.pop(), Some(entry(&waiters[0]).claim));
    }

    #[test]
    fn claims_that_wait_are_displaced_as_well() {
        let (waiter, mover) = (Registration::new(false), Registration::new(false));
        let (mut stripe, mut met) = (Stripe::default(), Vec::new());
        waiter.pending.store(1, Relaxed);
        stripe.wait(entry(&waiter));
        stripe.hold_displacing(entry(&mover), |other| met.push(other.claim));
        assert_eq!(met, [entry(&waiter).claim]);
    }

    #[test]
    fn claims_go_on_in_the_order_in_which_they_became_ready() {
        let claims: Vec<Registration> = (0..100).map(|_| Registration::new(false)).collect();
        let pointers: Vec<ClaimPtr> = claims.iter().map(|claim| entry(claim).claim).collect();
        let (mut ready, mut taken) = (Ready::default(), Vec::new());
        for pair in pointers.chunks(2) {
            for claim in pair {
                // SAFETY: the claims live.
                unsafe { claim.0.as_ref() }.pending.store(1, Relaxed);
                ready.granted(*claim);
            }
            taken.extend(ready.pop());
        }
        taken.extend(core::iter::from_fn(|| ready.pop()));
        assert_eq!(taken, pointers);
        assert!(ready.claims.is_empty());
    }
}
