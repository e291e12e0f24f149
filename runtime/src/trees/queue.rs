//! Queues of claims: at gates, and in stripes for the homes below them.
//!
//! A queue has holders, and waiters in FIFO order. A claim is admitted if it clashes with no holder
//! and with no waiter. Of the waiters only the first [`WINDOW`] are compared, and only so many
//! claims hold at once: what comes behind waits, so no operation takes longer in a longer queue.

use super::mode::Modes;
use super::rights::{Exact, Registration};
use crate::sync::{AcqRel, under_model};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ptr::NonNull;
use smallvec::SmallVec;

/// Waiters of a queue that are compared with what comes behind them.
pub(super) const WINDOW: usize = under_model(16, 4) as usize;
/// Claims that hold at the same time at one gate, or in one home.
pub(super) const MOST_HOLDERS: usize = 256;

/// A claim in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClaimPtr(pub NonNull<Registration>);

// SAFETY: a pointer without access. The registration, which is Sync, lives as long as it has an
// entry in a queue.
unsafe impl Send for ClaimPtr {}

/// Claims whose last entry was granted. Their owner is the thread that has this list.
#[derive(Default)]
pub(crate) struct Ready(SmallVec<[ClaimPtr; 4]>);

impl Ready {
    /// Counts a granted entry of a claim, which is ready if it was the last.
    fn granted(&mut self, claim: ClaimPtr) {
        // SAFETY: the registration lives, as one of its entries was not counted until here.
        let pending = unsafe { &(*claim.0.as_ptr()).pending };
        // AcqRel pairs with itself: the thread that grants the last entry sees what the claim has
        // registered, and what all holders before it did.
        if pending.fetch_sub(1, AcqRel) == 1 {
            self.0.push(claim);
        }
    }

    /// Takes out the claim that has been ready longest.
    pub fn pop(&mut self) -> Option<ClaimPtr> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
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
    holders: SmallVec<[GateEntry; 2]>,
    waiters: VecDeque<GateEntry>,
}

impl GateQueue {
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiters.is_empty()
    }

    /// Returns true if the modes clash with nothing that holds or waits here. What is counted is
    /// not known here.
    pub fn admits(&self, claim: ClaimPtr, modes: Modes) -> bool {
        self.waiters.len() < WINDOW && self.is_free(claim, modes, self.waiters.len())
    }

    /// Returns true if the modes clash with no holder and none of the first waiters.
    fn is_free(&self, claim: ClaimPtr, modes: Modes, waiters: usize) -> bool {
        let clashes = modes.clashes();
        let entries = self.holders.iter().chain(self.waiters.range(..waiters));
        self.holders.len() < MOST_HOLDERS
            && !entries.into_iter().any(|entry| entry.claim != claim && entry.modes.meets(clashes))
    }

    pub fn hold(&mut self, entry: GateEntry) {
        self.holders.push(entry);
    }

    pub fn wait(&mut self, entry: GateEntry) {
        self.waiters.push_back(entry);
    }

    /// Removes a holder.
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
            let is_granted = self.is_free(claim, modes, next) && !(has_entry && is_counted(modes.clashes()));
            if !is_granted {
                next += 1;
                continue;
            }
            self.waiters.remove(next);
            if has_entry {
                self.holders.push(entry);
            } else {
                count_in(modes);
            }
            ready.granted(claim);
        }
    }
}

/// A claim in a home.
#[derive(Clone, Copy)]
pub(crate) struct HomeEntry {
    pub claim: ClaimPtr,
    pub exact: Exact,
}

/// Queues of homes whose hashes are equal.
#[derive(Default)]
pub(crate) struct Stripe {
    /// Holders in any of the homes.
    holders: SmallVec<[HomeEntry; 4]>,
    /// Homes in which claims wait.
    waiting: Vec<HomeQueue>,
}

struct HomeQueue {
    home: u32,
    waiters: VecDeque<HomeEntry>,
}

impl Stripe {
    /// Returns true if the entry clashes with nothing that holds or waits in its home.
    #[inline]
    pub fn admits(&self, entry: &HomeEntry, meet: impl Fn(&HomeEntry, &HomeEntry) -> bool) -> bool {
        let queue = self.waiting.iter().find(|queue| queue.home == entry.exact.home);
        queue.is_none_or(|queue| queue.waiters.len() < WINDOW && is_free(queue.waiters.iter(), entry, &meet))
            && is_free(self.holders.iter(), entry, &meet)
    }

    pub fn hold(&mut self, entry: HomeEntry) {
        self.holders.push(entry);
    }

    pub fn wait(&mut self, entry: HomeEntry) {
        let home = entry.exact.home;
        match self.waiting.iter_mut().find(|queue| queue.home == home) {
            Some(queue) => queue.waiters.push_back(entry),
            None => self.waiting.push(HomeQueue { home, waiters: VecDeque::from([entry]) }),
        }
    }

    /// Enters a home for a task that runs. Calls a function with each holder.
    pub fn hold_displacing(&mut self, entry: HomeEntry, displace: impl FnMut(&HomeEntry)) {
        self.holders.iter().for_each(displace);
        self.holders.push(entry);
    }

    /// Removes a holder's entry.
    pub fn remove(&mut self, claim: ClaimPtr, exact: &Exact) {
        let is_it = |entry: &HomeEntry| entry.claim == claim && entry.exact == *exact;
        if let Some(at) = self.holders.iter().rposition(is_it) {
            self.holders.swap_remove(at);
        }
    }

    /// Grants waiters of a home in order.
    pub fn grant(&mut self, home: u32, meet: impl Fn(&HomeEntry, &HomeEntry) -> bool, ready: &mut Ready) {
        let Some(at) = self.waiting.iter().position(|queue| queue.home == home) else { return };
        let waiters = &mut self.waiting[at].waiters;
        let mut next = 0;
        while next < waiters.len().min(WINDOW) {
            let entry = waiters[next];
            if is_free(self.holders.iter(), &entry, &meet) && is_free(waiters.range(..next), &entry, &meet) {
                waiters.remove(next);
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

/// Returns true if an entry clashes with none of the others, which are not too many of its home.
#[inline]
fn is_free<'e>(
    others: impl Iterator<Item = &'e HomeEntry>,
    entry: &HomeEntry,
    meet: &impl Fn(&HomeEntry, &HomeEntry) -> bool,
) -> bool {
    let mut same_home = 0;
    for other in others {
        if other.exact.home == entry.exact.home {
            same_home += 1;
            let clashes = other.claim != entry.claim && meet(other, entry);
            if clashes || same_home == MOST_HOLDERS {
                return false;
            }
        }
    }
    true
}
