//! A table of locks of sets of granules, with the policy of the [queue
//! locks](crate::claims::queue_lock) for unordered claims.
//!
//! A claim that cannot be granted waits in the table and holds nothing. When it may succeed it is
//! notified, and tries again. What decides is the same as at a queue lock, with the sets of two
//! claims in the place of a granule:
//!
//! - A claim that tries for the first time comes before those that wait to retry.
//! - Up to `max_overtaking` readers come before a waiting writer that they conflict with, between
//!   two writers.
//! - After a writer, readers are notified first; after a reader, writers.
//! - A claim that has failed often has a *reservation*: no writer overtakes it, and a bounded
//!   number of readers.
//!
//! Each operation looks through all claims that wait or hold.

use crate::claims::rights::Rights;
use alloc::vec::Vec;

/// The locks of one table. `C` identifies a claim.
pub(super) struct LockTable<C> {
    /// What is held, by the number of the lock.
    holders: Vec<Option<HeldLock>>,
    /// The claims that wait, in the order in which they came.
    waiting: Vec<TableWaiter<C>>,
    max_overtaking: u32,
}

struct HeldLock {
    rights: Rights,
    /// When it was locked, in nanoseconds.
    since: u64,
}

struct TableWaiter<C> {
    claim: C,
    rights: Rights,
    state: WaitState,
    /// Readers that have overtaken this writer since the last writer.
    overtaken: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitState {
    /// It leaves the table when it is notified.
    Retries,
    /// It has a reservation, and stays in the table until it is granted.
    Reserved,
    /// It has a reservation, and tries again at the moment.
    Notified,
    /// Its worker waits for it, so that no other claim may come before it.
    Blocks,
}

impl<C: Copy + PartialEq> LockTable<C> {
    pub fn new(max_overtaking: u32) -> Self {
        Self { holders: Vec::new(), waiting: Vec::new(), max_overtaking }
    }

    /// Locks these granules for a claim, unless others hold them or come first. Returns the number
    /// of the lock.
    pub fn try_lock(&mut self, claim: C, rights: &Rights, now: u64) -> Option<u32> {
        let own = self.waiting.iter().position(|waiting| waiting.claim == claim);
        if self.is_held(rights) || self.is_barred(rights, own) {
            return None;
        }
        if let Some(own) = own {
            self.waiting.remove(own);
        } else {
            self.count_overtaken(rights);
        }
        let lock = Some(HeldLock { rights: rights.clone(), since: now });
        match self.holders.iter().position(Option::is_none) {
            Some(free) => {
                self.holders[free] = lock;
                Some(free as u32)
            }
            None => {
                self.holders.push(lock);
                Some(self.holders.len() as u32 - 1)
            }
        }
    }

    /// Unlocks, and returns the claims to be notified, and when the granules were locked.
    pub fn unlock(&mut self, lock: u32) -> (Vec<C>, u64) {
        let HeldLock { rights, since } = self.holders[lock as usize].take().expect("the lock is held");
        (self.notify(rights.has_writes()), since)
    }

    /// Lets a claim wait that could not be granted these granules. It keeps its reservation if it
    /// has one.
    pub fn wait(&mut self, claim: C, rights: &Rights, is_reserved: bool) {
        let state = if is_reserved { WaitState::Reserved } else { WaitState::Retries };
        self.enter(claim, rights, state);
    }

    /// Lets a claim wait whose worker does nothing else meanwhile. It is not notified.
    pub fn block(&mut self, claim: C, rights: &Rights) {
        self.enter(claim, rights, WaitState::Blocks);
    }

    fn enter(&mut self, claim: C, rights: &Rights, state: WaitState) {
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.claim == claim) {
            (waiting.state, waiting.rights) = (state, rights.clone());
        } else {
            self.waiting.push(TableWaiter { claim, rights: rights.clone(), state, overtaken: 0 });
        }
    }

    /// Removes a claim that waits or was notified, and returns others to be notified instead.
    pub fn withdraw(&mut self, claim: C) -> Vec<C> {
        self.waiting.retain(|waiting| waiting.claim != claim);
        self.notify(false)
    }

    /// Returns the claims to be notified, because a claim is over that has written or read; or
    /// because a notified claim could not be granted its granules.
    pub fn notify(&mut self, has_written: bool) -> Vec<C> {
        let mut chosen = Vec::new();
        let is_turn = |waiting: &TableWaiter<C>, turn| match waiting.state {
            WaitState::Reserved => turn == 0,
            WaitState::Retries if waiting.rights.has_writes() == has_written => turn == 2,
            WaitState::Retries => turn == 1,
            WaitState::Notified | WaitState::Blocks => false,
        };
        for turn in 0..3 {
            for at in 0..self.waiting.len() {
                if chosen.len() == self.max_overtaking as usize {
                    break;
                }
                if is_turn(&self.waiting[at], turn) && self.may_retry(at, &chosen) {
                    chosen.push(at);
                }
            }
        }
        let claims = chosen.iter().map(|&at| self.waiting[at].claim).collect();
        chosen.iter().for_each(|&at| {
            let state = &mut self.waiting[at].state;
            if *state == WaitState::Reserved {
                *state = WaitState::Notified;
            }
        });
        let mut at = 0;
        self.waiting.retain(|waiting| {
            at += 1;
            waiting.state != WaitState::Retries || !chosen.contains(&(at - 1))
        });
        claims
    }

    /// Returns true if a waiting claim could be granted its granules now, also beside the chosen
    /// ones.
    fn may_retry(&self, at: usize, chosen: &[usize]) -> bool {
        let TableWaiter { rights, state, .. } = &self.waiting[at];
        let own = (*state == WaitState::Reserved).then_some(at);
        !self.is_held(rights)
            && !chosen.iter().any(|&other| self.waiting[other].rights.conflicts_with(rights))
            && !self.is_barred(rights, own)
    }

    /// Returns true if another claim holds some of these granules, and one of the two writes them.
    pub fn is_held(&self, rights: &Rights) -> bool {
        self.holders.iter().flatten().any(|held| held.rights.conflicts_with(rights))
    }

    /// Returns true if a waiting claim comes before one with these rights. One that has a
    /// reservation, or blocks, stands itself at index `own`.
    fn is_barred(&self, rights: &Rights, own: Option<usize>) -> bool {
        let is_reader = !rights.has_writes();
        let may_overtake = |waiting: &TableWaiter<C>| {
            is_reader && waiting.overtaken < self.max_overtaking
                || planted!("parked-writers-overtaken-for-ever")
        };
        let bars = |waiting: &TableWaiter<C>| match (waiting.state, own) {
            (WaitState::Blocks, _) => true,
            (WaitState::Retries, Some(_)) => false,
            (WaitState::Retries, None) => is_reader && !may_overtake(waiting),
            // A worker that waits must not wait for a task in its own run queue.
            (_, Some(own)) => self.waiting[own].state != WaitState::Blocks,
            (_, None) => !may_overtake(waiting),
        };
        let ahead = &self.waiting[..own.unwrap_or(self.waiting.len())];
        ahead.iter().any(|waiting| bars(waiting) && waiting.rights.conflicts_with(rights))
    }

    fn count_overtaken(&mut self, rights: &Rights) {
        let is_writer = rights.has_writes();
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.rights.conflicts_with(rights)) {
            waiting.overtaken = if is_writer { 0 } else { waiting.overtaken + 1 };
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use crate::claims::rights::Ranges;
    use core::ops::Range;

    fn rights(range: Range<u32>, write: bool) -> Rights {
        let mut ranges = Ranges::default();
        ranges.add(range, write);
        ranges.rights()
    }

    /// Lets a claim try, and wait if it fails.
    fn enter(table: &mut LockTable<u32>, claim: u32, range: Range<u32>, write: bool) -> Option<u32> {
        let rights = rights(range, write);
        let lock = table.try_lock(claim, &rights, 0);
        if lock.is_none() {
            table.wait(claim, &rights, false);
        }
        lock
    }

    #[test]
    fn a_writer_excludes_what_it_overlaps() {
        let mut table = LockTable::new(2);
        let first = enter(&mut table, 1, 0..5, true).unwrap();
        assert_eq!(enter(&mut table, 2, 4..6, false), None);
        let other = enter(&mut table, 3, 5..9, false).unwrap();
        assert_eq!(enter(&mut table, 4, 5..6, true), None);
        assert_eq!(table.unlock(first).0, [2]);
        assert_eq!(enter(&mut table, 2, 4..6, false), Some(first));
        assert_eq!(table.unlock(other).0, [0; 0], "another reader is there");
        assert_eq!(table.unlock(first).0, [4]);
    }

    /// As at a queue lock: see its test of that name.
    #[test]
    fn a_bounded_number_of_readers_overtakes_writers() {
        let mut table = LockTable::new(2);
        let first = enter(&mut table, 0, 0..9, true).unwrap();
        let waiting = [(1, true), (2, true), (3, false), (4, false), (5, false)];
        assert!(waiting.into_iter().all(|(claim, write)| enter(&mut table, claim, 0..9, write).is_none()));
        assert_eq!(table.unlock(first).0, [3, 4], "readers come first after a writer");
        let readers = [3, 4].map(|claim| enter(&mut table, claim, 0..9, false).unwrap());
        assert_eq!(enter(&mut table, 6, 3..4, false), None, "the next writer must have its turn");
        assert_eq!(table.unlock(readers[0]).0, [0; 0]);
        assert_eq!(table.unlock(readers[1]).0, [1]);
        let next = enter(&mut table, 1, 0..9, true).unwrap();
        assert_eq!(table.unlock(next).0, [5, 6]);
    }

    /// Claims that do not overlap are notified together, and a notified claim that fails passes
    /// its notification on.
    #[test]
    fn a_release_notifies_all_that_may_run_together() {
        let mut table = LockTable::new(8);
        let all = enter(&mut table, 0, 0..9, true).unwrap();
        for (claim, range) in [(1, 0..3), (2, 2..5), (3, 4..9)] {
            assert_eq!(enter(&mut table, claim, range, true), None);
        }
        assert_eq!(table.unlock(all).0, [1, 3]);
        let barging = enter(&mut table, 4, 0..1, true).unwrap();
        assert_eq!(table.try_lock(1, &rights(0..3, true), 0), None);
        assert_eq!(table.notify(false), [2]);
        table.wait(1, &rights(0..3, true), false);
        assert_eq!(table.unlock(barging).0, [1]);
    }

    #[test]
    fn a_reservation_is_not_overtaken_by_writers() {
        let mut table = LockTable::new(1);
        let reader = enter(&mut table, 0, 0..2, false).unwrap();
        table.wait(1, &rights(1..4, true), true);
        assert_eq!(table.try_lock(2, &rights(3..4, true), 0), None);
        let other = table.try_lock(3, &rights(3..4, false), 0).unwrap();
        assert_eq!(table.try_lock(4, &rights(3..4, false), 0), None, "one reader has overtaken it");
        assert!(table.unlock(other).0.is_empty());
        assert_eq!(table.unlock(reader).0, [1]);
        assert_eq!(table.try_lock(2, &rights(3..4, true), 0), None, "it is notified, but not granted yet");
        table.wait(2, &rights(3..4, true), false);
        assert_eq!(table.withdraw(1), [2]);
    }

    /// A worker that waits comes before all claims that are parked, as those may be in its own run
    /// queue.
    #[test]
    fn a_blocked_worker_waits_for_holders_only() {
        let mut table = LockTable::new(8);
        let first = enter(&mut table, 0, 0..2, true).unwrap();
        table.wait(1, &rights(0..2, true), true);
        table.block(2, &rights(0..2, true));
        assert_eq!(table.try_lock(2, &rights(0..2, true), 0), None);
        assert_eq!(table.unlock(first).0, [1]);
        assert_eq!(table.try_lock(3, &rights(1..2, false), 0), None);
        assert!(table.try_lock(2, &rights(0..2, true), 0).is_some());
    }
}
