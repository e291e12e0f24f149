//! What a lane knows of its ids: sets that are not over, failures for which a thread may come, and
//! which ids were waited for.
//!
//! A set that is over and has not failed leaves nothing here. Its id is good because it lies below
//! the end of the lane and is not recorded as consumed.

use super::SetError;
use super::block::{Block, SLOTS, Slot};
use super::set::AnySet;
use crate::sync::under_model;
use crate::task::JoinError;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Blocks without sets that are kept, as the allocator takes long to move one between threads.
const MOST_SPARE: usize = under_model(8, 1) as usize;
/// Ended blocks of which it is known which ids were consumed.
const MOST_CONSUMED: usize = under_model(4096, 2) as usize;

pub(super) struct Records {
    /// Blocks with sets that are not over, by number.
    blocks: BTreeMap<u64, Arc<Block>>,
    /// The newest of them.
    newest: Option<Arc<Block>>,
    /// Blocks whose sets are over, to be filled again. A thread may still read one.
    spare: Vec<Arc<Block>>,
    /// Sets of several functions that are not over, by position.
    sets: BTreeMap<u64, Arc<dyn AnySet>>,
    /// Failures of sets that are over, by position.
    failures: BTreeMap<u64, JoinError>,
    /// Of blocks whose sets are over: a bit for each id that was waited for or forgotten.
    consumed: BTreeMap<u64, u64>,
    /// All ids before this position are stale, unless they are in `still_valid`.
    stale_before: u64,
    still_valid: BTreeSet<u64>,
}

/// An id for which the caller may wait.
pub(super) enum Found {
    /// The set is not over, or was not a moment ago.
    Running(Arc<Block>, Option<Arc<dyn AnySet>>),
    Over,
}

/// The sets of a lane that were not over at some moment.
pub(super) struct Snapshot {
    /// All lie before this position.
    pub end: u64,
    pub blocks: Vec<Arc<Block>>,
    /// Those with several functions.
    sets: BTreeMap<u64, Arc<dyn AnySet>>,
}

impl Snapshot {
    /// Returns the set of several functions that has a position.
    pub fn set(&self, position: u64) -> Option<&dyn AnySet> {
        self.sets.get(&position).map(|set| &**set)
    }
}

/// A `consumed` entry of a block all of whose ids were consumed.
const ALL: u64 = u64::MAX >> (u64::BITS as u64 - SLOTS);

/// Where in a `consumed` entry a position has its bit.
fn bit(position: u64) -> u64 {
    1 << (position % SLOTS)
}

impl Records {
    /// Makes records of a lane that begins at the second block: so no id is 0.
    pub fn new() -> Self {
        Self {
            blocks: BTreeMap::new(),
            newest: None,
            spare: Vec::new(),
            sets: BTreeMap::new(),
            failures: BTreeMap::new(),
            consumed: BTreeMap::new(),
            stale_before: SLOTS,
            still_valid: BTreeSet::new(),
        }
    }

    pub fn add_block(&mut self, number: u64) -> Arc<Block> {
        let block = self.renew_spare(number).unwrap_or_else(|| Arc::new(Block::new(number)));
        self.blocks.insert(number, block.clone());
        self.newest = Some(block.clone());
        block
    }

    /// Returns a spare block that no other thread reads.
    fn renew_spare(&mut self, number: u64) -> Option<Arc<Block>> {
        // The last readers of the newest may not have gone yet.
        let at = self.spare.iter_mut().position(|block| Arc::get_mut(block).is_some())?;
        let mut block = self.spare.remove(at);
        Arc::get_mut(&mut block)?.renew(number);
        Some(block)
    }

    /// Returns the block of a position. `None` if its sets are all over.
    pub fn block(&self, position: u64) -> Option<&Arc<Block>> {
        let number = position / SLOTS;
        // Most often it is the newest, of which there may be many before.
        self.newest.as_ref().filter(|block| block.number == number).or_else(|| self.blocks.get(&number))
    }

    fn slot(&self, position: u64) -> Option<&Slot> {
        self.block(position).map(|block| block.slot(position))
    }

    pub fn add_set(&mut self, position: u64, set: Arc<dyn AnySet>) {
        self.sets.insert(position, set);
    }

    /// Removes a set that is over. `None` if another thread has done so.
    pub fn remove_set(&mut self, position: u64) -> Option<Arc<dyn AnySet>> {
        self.sets.remove(&position)
    }

    /// Forgets a block whose sets are over, except which of its ids were consumed.
    pub fn retire(&mut self, block: &Block) {
        self.newest.take_if(|newest| newest.number == block.number);
        let removed = self.blocks.remove(&block.number);
        let end = (block.number + 1) * SLOTS;
        let is_consumed = |&(position, slot): &(u64, &Slot)| slot.is_claimed() || self.is_stale(position);
        let consumed = block.slots_before(end).filter(is_consumed).map(|(position, _)| bit(position)).sum();
        let is_all_stale = consumed == ALL && end <= self.stale_before;
        if consumed != 0 && !is_all_stale {
            self.consumed.insert(block.number, consumed);
            self.forget_old();
        }
        let has_room = self.spare.len() < MOST_SPARE;
        self.spare.extend(removed.filter(|_| has_room));
    }

    /// Keeps the memory for consumed ids bounded.
    fn forget_old(&mut self) {
        while let Some(oldest) = self.consumed.first_entry() {
            let begin = *oldest.key() * SLOTS;
            let end = begin + SLOTS;
            let is_known = end <= self.stale_before && self.still_valid.range(begin..end).next().is_none();
            if begin <= self.stale_before && *oldest.get() == ALL {
                self.stale_before = self.stale_before.max(end);
            } else if !is_known && self.consumed.len() <= MOST_CONSUMED {
                return;
            }
            self.consumed.pop_first();
        }
    }

    fn is_stale(&self, position: u64) -> bool {
        let consumed =
            || self.consumed.get(&(position / SLOTS)).is_some_and(|bits| bits & bit(position) != 0);
        position < self.stale_before && !self.still_valid.contains(&position) || consumed()
    }

    /// Reserves an id for one waiter.
    pub fn begin_wait(&mut self, position: u64) -> Result<(), SetError> {
        if self.is_stale(position) {
            return Err(SetError::Stale);
        }
        if self.slot(position).is_some_and(|slot| !slot.set_awaited()) {
            return Err(SetError::Stale);
        }
        if self.block(position).is_none() {
            self.still_valid.remove(&position);
            *self.consumed.entry(position / SLOTS).or_default() |= bit(position);
            self.forget_old();
        }
        Ok(())
    }

    /// Finds the set of an id that the caller has reserved.
    pub fn find(&self, position: u64) -> Found {
        let set = self.sets.get(&position).cloned();
        self.block(position).map_or(Found::Over, |block| Found::Running(block.clone(), set))
    }

    /// Makes an id stale whose set is over. Returns the failure.
    pub fn finish_wait(&mut self, position: u64) -> Option<JoinError> {
        if let Some(slot) = self.slot(position) {
            slot.set_consumed();
        }
        self.still_valid.remove(&position);
        self.failures.remove(&position)
    }

    /// Makes an id stale. Returns the failure of a set that is over.
    pub fn forget(&mut self, position: u64) -> Result<Option<JoinError>, SetError> {
        if position >= self.stale_before
            && let Some(slot) = self.slot(position)
        {
            // Most often the set has been enqueued just now.
            return if slot.forget() { Ok(self.failures.remove(&position)) } else { Err(SetError::Stale) };
        }
        self.begin_wait(position)?;
        Ok(self.finish_wait(position))
    }

    /// Gives an id back that a waiter has reserved.
    pub fn cancel_wait(&mut self, position: u64) {
        if let Some(slot) = self.slot(position) {
            slot.clear_awaited();
        } else if let Some(consumed) = self.consumed.get_mut(&(position / SLOTS)) {
            *consumed &= !bit(position);
        }
        if position < self.stale_before {
            self.still_valid.insert(position);
        }
    }

    /// Returns true if the set of an id is over.
    pub fn is_over(&self, position: u64) -> Result<bool, SetError> {
        let slot = self.slot(position);
        if self.is_stale(position) || slot.is_some_and(Slot::is_consumed) {
            return Err(SetError::Stale);
        }
        Ok(slot.is_none_or(Slot::is_over))
    }

    /// Keeps a failure for the waiter. Returns it if the id was forgotten.
    pub fn add_failure(&mut self, position: u64, error: JoinError) -> Option<JoinError> {
        if self.slot(position).is_some_and(Slot::is_consumed) {
            return Some(error);
        }
        self.failures.insert(position, error);
        None
    }

    /// Returns the sets before a position that are not over.
    pub fn before(&self, end: u64) -> Snapshot {
        let blocks = self.blocks.range(..end.div_ceil(SLOTS)).map(|(_, block)| block.clone());
        let sets = self.sets.range(..end).map(|(&position, set)| (position, set.clone()));
        Snapshot { end, blocks: blocks.collect(), sets: sets.collect() }
    }

    /// Makes all ids before a position stale, except those of sets that run on. Returns the
    /// failures for which no other thread waits.
    pub fn consume_before(&mut self, end: u64, running: &[u64]) -> Vec<JoinError> {
        let is_free = |&position: &u64| {
            !self.is_stale(position) && self.slot(position).is_none_or(|slot| !slot.is_claimed())
        };
        let running: Vec<_> = running.iter().copied().filter(is_free).collect();
        let failed: Vec<_> = self.failures.range(..end).map(|(&failed, _)| failed).filter(is_free).collect();
        self.stale_before = self.stale_before.max(end);
        self.still_valid.retain(|&position| position >= end);
        self.still_valid.extend(running);
        self.consumed.retain(|&number, _| (number + 1) * SLOTS > self.stale_before);
        failed.iter().filter_map(|position| self.failures.remove(position)).collect()
    }

    /// Takes all failures.
    pub fn take_failures(&mut self) -> BTreeMap<u64, JoinError> {
        core::mem::take(&mut self.failures)
    }

    /// Returns the number of sets before a position that are not over.
    pub fn unfinished(&self, end: u64) -> usize {
        let unfinished =
            |block: &Arc<Block>| block.slots_before(end).filter(|(_, slot)| !slot.is_over()).count();
        self.blocks.values().map(unfinished).sum()
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    /// Makes records with some blocks of reserved slots.
    fn with_blocks(blocks: u64) -> (Records, Vec<Arc<Block>>) {
        let mut records = Records::new();
        let blocks: Vec<_> = (1..=blocks).map(|number| records.add_block(number)).collect();
        for block in &blocks {
            block.slots_before(u64::MAX).for_each(|(_, slot)| slot.reserve(false));
        }
        (records, blocks)
    }

    fn end(records: &mut Records, block: &Block) {
        block.slots_before(u64::MAX).for_each(|(_, slot)| assert!(!slot.end()));
        records.retire(block);
    }

    fn wait(records: &mut Records, position: u64) -> bool {
        records.begin_wait(position).map(|()| records.finish_wait(position)).is_ok()
    }

    fn is_empty(records: &Records) -> bool {
        let Records { blocks, newest, spare, sets, failures, consumed, still_valid, .. } = records;
        blocks.is_empty()
            && newest.is_none()
            && spare.len() <= MOST_SPARE
            && sets.is_empty()
            && failures.is_empty()
            && consumed.is_empty()
            && still_valid.is_empty()
    }

    #[test]
    fn ids_for_which_no_thread_waits_leave_nothing() {
        let (mut records, blocks) = with_blocks(20);
        blocks.iter().for_each(|block| end(&mut records, block));
        assert!(is_empty(&records));
        assert!(records.is_over(20 * SLOTS).unwrap());
    }

    /// A block that a thread still reads stays as it is.
    #[test]
    fn an_ended_block_is_filled_again_unless_a_thread_reads_it() {
        let (mut records, mut blocks) = with_blocks(2);
        let (read, unread) = (blocks.pop().unwrap(), blocks.pop().unwrap());
        let address = Arc::as_ptr(&unread);
        end(&mut records, &read);
        end(&mut records, &unread);
        drop(unread);
        let again = records.add_block(3);
        assert_eq!((Arc::as_ptr(&again), again.number, read.number), (address, 3, 2));
        let other = records.add_block(4);
        assert!(!Arc::ptr_eq(&other, &read) && Arc::as_ptr(&other) != address);
        // Its counts begin anew, and so do its ids.
        again.slots_before(u64::MAX).for_each(|(_, slot)| slot.reserve(false));
        assert!(!records.is_over(3 * SLOTS).unwrap() && records.is_over(SLOTS).unwrap());
        assert!(!again.count_ended(SLOTS as u32 - 1) && again.count_ended(1));
        assert!(wait(&mut records, SLOTS) && !wait(&mut records, SLOTS));
        assert!(wait(&mut records, 3 * SLOTS) && !wait(&mut records, 3 * SLOTS));
    }

    /// Whether a thread waits before the block ends, or afterwards, and in any order.
    #[test]
    fn ids_that_were_all_waited_for_leave_nothing() {
        for (early, backwards) in [(true, false), (false, false), (true, true), (false, true)] {
            let (mut records, blocks) = with_blocks(10);
            let mut positions: Vec<_> = (SLOTS..11 * SLOTS).collect();
            if backwards {
                positions.reverse();
            }
            if !early {
                blocks.iter().for_each(|block| end(&mut records, block));
            }
            for &position in &positions {
                assert!(wait(&mut records, position));
                assert!(!wait(&mut records, position) && records.is_over(position).is_err());
            }
            if early {
                blocks.iter().for_each(|block| end(&mut records, block));
            }
            assert!(is_empty(&records));
            assert!(positions.iter().all(|&position| !wait(&mut records, position)));
        }
    }

    #[test]
    fn the_memory_for_consumed_ids_is_bounded() {
        let many = MOST_CONSUMED as u64 + 10;
        let (mut records, blocks) = with_blocks(many);
        for block in &blocks {
            assert_eq!(records.forget(block.number * SLOTS).unwrap().map(|_| ()), None);
            end(&mut records, block);
        }
        assert_eq!(records.consumed.len(), MOST_CONSUMED);
        // The newest are stale. Of the oldest it is not known any more.
        assert!(!wait(&mut records, many * SLOTS) && wait(&mut records, SLOTS));
    }

    #[test]
    fn failures_wait_for_a_thread() {
        let (mut records, blocks) = with_blocks(2);
        let [waited, forgotten, unwaited, awaited] = [0, 1, 2, 3].map(|at| SLOTS + at);
        assert!(records.forget(forgotten).unwrap().is_none());
        records.begin_wait(awaited).unwrap();
        assert!(records.forget(awaited).is_err() && records.is_over(awaited).is_ok());
        for position in [waited, unwaited, awaited] {
            assert!(records.add_failure(position, JoinError::Cancelled).is_none());
        }
        assert!(records.add_failure(forgotten, JoinError::Cancelled).is_some());
        end(&mut records, &blocks[0]);
        records.begin_wait(waited).unwrap();
        assert!(records.finish_wait(waited).is_some() && records.finish_wait(waited).is_none());
        // Not the failure for which another thread waits.
        assert_eq!(records.consume_before(2 * SLOTS, &[]).len(), 1);
        assert!(records.finish_wait(awaited).is_some());
        assert!(records.failures.is_empty());
    }

    /// `wait_all` may have to return while sets are running, whose ids stay valid.
    #[test]
    fn all_ids_before_a_position_become_stale_but_those_of_running_sets() {
        let (mut records, blocks) = with_blocks(2);
        let (running, snapshot) = (SLOTS + 5, 2 * SLOTS + 5);
        records.consume_before(snapshot, &[running]);
        let is_valid = |records: &Records, position| records.is_over(position).is_ok();
        assert!(is_valid(&records, running) && is_valid(&records, snapshot));
        assert!(!is_valid(&records, running + 1) && !is_valid(&records, snapshot - 1));
        blocks.iter().for_each(|block| end(&mut records, block));
        assert!(is_valid(&records, running) && is_valid(&records, snapshot));
        assert!(!is_valid(&records, running + 1) && !is_valid(&records, snapshot - 1));
        // A wait that had to return gives the id back.
        records.begin_wait(running).unwrap();
        assert!(!is_valid(&records, running));
        records.cancel_wait(running);
        assert!(wait(&mut records, running) && !wait(&mut records, running));
        assert!((snapshot..3 * SLOTS).all(|position| wait(&mut records, position)));
        assert!(records.consumed.is_empty() && records.still_valid.is_empty());
    }
}
