//! The sets of a pool: its lanes, and how a thread waits for a set.
//!
//! A set of one function is a *request*: its function lies in the slot of its id. Runners take
//! requests from the lanes, and so does a thread that waits for one. A set of several functions
//! (`set.rs`) has runners of its own, and a slot only for its id.

use super::block::{Block, SLOTS, Slot, TakenFunction};
use super::lane::{LANES, Lane};
use super::records::{Found, Records, Snapshot};
use super::runners::Runners;
use super::set::AnySet;
use super::stored_function::StoredFunction;
use super::{SetError, SetId};
use crate::memory::preferred_slot;
use crate::platform::this_thread;
use crate::scheduler::RuntimeState;
use crate::sync::{AtomicUsize, Guard, Relaxed, SpinMutex};
use crate::task::{JoinError, quietly};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::array::from_fn;
use core::task::Waker;

pub(super) struct Requests {
    pub shared: Arc<RuntimeState>,
    pub lanes: [Lane; LANES],
    turn: AtomicUsize,
    pub runners: Runners,
    /// The threads that wait for a set that other threads run.
    waiters: SpinMutex<Vec<(SetId, Waker)>>,
    /// The threads that run functions of a set while they wait for it.
    helpers: SpinMutex<Vec<(SetId, usize)>>,
}

impl Requests {
    pub fn new(shared: Arc<RuntimeState>) -> Self {
        let runners = Runners::new(shared.slots.len());
        let lanes = from_fn(|_| Lane::new());
        Self {
            shared,
            lanes,
            turn: AtomicUsize::new(0),
            runners,
            waiters: SpinMutex::default(),
            helpers: SpinMutex::default(),
        }
    }

    fn lane(&self, id: SetId) -> &Lane {
        &self.lanes[id.lane()]
    }

    /// Adds a set to the lane that the calling thread prefers, or to another that is free.
    #[inline(always)]
    fn push(&self, write: impl FnOnce(&Slot)) -> SetId {
        let preferred = (preferred_slot() + self.turn.load(Relaxed)) % LANES;
        let mut lanes = (preferred..LANES).chain(0..preferred);
        let free = lanes.find_map(|lane| self.lanes[lane].try_fill().map(|filling| (lane, filling)));
        let (lane, filling) = free.unwrap_or_else(|| (preferred, self.lanes[preferred].fill()));
        let position = self.lanes[lane].push(filling, write);
        if position % SLOTS == SLOTS - 1 {
            // Relaxed, and no exchange: a lost update only makes a lane longer.
            self.turn.store(self.turn.load(Relaxed).wrapping_add(1), Relaxed);
        }
        SetId::new(lane, position)
    }

    /// Adds a set of one function. If it `is_forgotten`, its id is stale from the beginning.
    #[inline(never)]
    pub fn add(&self, function: StoredFunction, is_forgotten: bool) -> SetId {
        // SAFETY: `push` passes the fresh slot of a position that is not published yet.
        self.push(|slot| unsafe { slot.put(function, is_forgotten) })
    }

    /// Reserves the id of a set of several functions.
    pub fn reserve(&self, is_awaited: bool) -> SetId {
        self.push(|slot| slot.reserve(is_awaited))
    }

    /// Adds a set of several functions under its id.
    pub fn add_set(&self, id: SetId, set: Arc<dyn AnySet>) {
        self.lane(id).records.lock().add_set(id.position(), set);
    }

    /// Takes one request and runs or drops it. Does nothing if another thread has it.
    pub fn take_one(&self, id: SetId, with: impl FnOnce(TakenFunction<'_>)) {
        let block = self.lane(id).records.lock().block(id.position()).cloned();
        if let Some(block) = block
            && let Some(function) = block.slot(id.position()).take()
        {
            with(function);
            self.count_ended(id.lane(), &block, 1);
        }
    }

    /// Runs a request. Its block does not count it as over yet.
    #[inline(always)]
    pub fn run(&self, id: SetId, function: TakenFunction<'_>, worker: Option<usize>) {
        let slot = function.slot();
        if let Err(error) = function.run() {
            self.fail(id, error, worker);
        }
        self.end(id, slot);
    }

    /// Drops a request. Its block does not count it as over yet.
    pub fn abandon(&self, id: SetId, function: TakenFunction<'_>, why: JoinError) {
        let slot = function.slot();
        function.drop_unrun();
        self.fail(id, why, None);
        self.end(id, slot);
    }

    /// Keeps a failure for a waiter, or reports it if none can come.
    #[cold]
    fn fail(&self, id: SetId, error: JoinError, worker: Option<usize>) {
        let unwanted = self.lane(id).records.lock().add_failure(id.position(), error);
        if let Some(error) = unwanted {
            self.shared.report(error, worker);
        }
    }

    /// Ends a set, once.
    #[inline(always)]
    fn end(&self, id: SetId, slot: &Slot) {
        if slot.end() && !planted!("request-wakes-none") {
            self.wake(id);
        }
    }

    /// Counts ended sets of a block. The block is freed with the last.
    pub fn count_ended(&self, lane: usize, block: &Block, ended: u32) {
        if block.count_ended(ended) {
            self.lanes[lane].records.lock().retire(block);
        }
    }

    /// Ends a set of several functions. Several threads may see its end.
    pub fn end_set(&self, id: SetId) {
        let mut records = self.lane(id).records.lock();
        let Some(set) = records.remove_set(id.position()) else { return };
        let block = records.block(id.position()).cloned();
        drop(records);
        if let Some(error) = set.take_failure() {
            self.fail(id, error, None);
        }
        if let Some(block) = block {
            self.end(id, block.slot(id.position()));
            self.count_ended(id.lane(), &block, 1);
        }
    }

    /// Wakes the threads that wait for a set.
    #[cold]
    fn wake(&self, id: SetId) {
        let waiters: Vec<_> = self.waiters.lock().extract_if(.., |(waits_for, _)| *waits_for == id).collect();
        // Quietly: a waker is user code.
        waiters.into_iter().for_each(|(_, waker)| quietly(|| waker.wake()));
    }

    /// Reserves an id for the caller's wait, and finds its set.
    pub fn begin_wait(&self, id: SetId) -> Result<Found, SetError> {
        let mut records = self.known(id)?;
        records.begin_wait(id.position())?;
        Ok(records.find(id.position()))
    }

    /// Finds the set of an id that the caller has reserved.
    pub fn find(&self, id: SetId) -> Found {
        self.lane(id).records.lock().find(id.position())
    }

    /// Returns the records for an id. Fails if it was not given to any set yet.
    fn known(&self, id: SetId) -> Result<Guard<'_, Records>, SetError> {
        let lane = self.lane(id);
        if id.position() < lane.end() { Ok(lane.records.lock()) } else { Err(SetError::Stale) }
    }

    /// Runs what has not begun of a set, waits for its end, and returns the failure.
    pub fn finish_wait(&self, id: SetId, found: Found) -> Result<(), SetError> {
        if let Found::Running(block, set) = found {
            self.help(id, &block, set.as_deref());
            if !self.wait_for_end(id, &block) {
                self.lane(id).records.lock().cancel_wait(id.position());
                return Err(match self.shared.wait_failure() {
                    JoinError::WouldBlock => SetError::WouldBlock,
                    lost => SetError::Failed(lost),
                });
            }
        }
        let failure = self.lane(id).records.lock().finish_wait(id.position());
        failure.map_or(Ok(()), |error| Err(SetError::Failed(error)))
    }

    /// Runs what has not begun of a set.
    fn help(&self, id: SetId, block: &Block, set: Option<&dyn AnySet>) {
        let function = block.slot(id.position()).take();
        if function.is_none() && set.is_none() {
            return;
        }
        let helper = (id, this_thread());
        self.helpers.lock().push(helper);
        if let Some(function) = function {
            self.run(id, function, None);
            self.count_ended(id.lane(), block, 1);
        }
        if let Some(set) = set {
            set.run_remaining();
        }
        let mut helpers = self.helpers.lock();
        if let Some(at) = helpers.iter().rposition(|known| *known == helper) {
            helpers.swap_remove(at);
        }
    }

    /// Waits until a set is over. Returns false if the caller must not wait.
    fn wait_for_end(&self, id: SetId, block: &Block) -> bool {
        let slot = block.slot(id.position());
        if slot.is_over() {
            return true;
        }
        // This thread runs a function of the set, which would wait for itself.
        if self.helpers.lock().contains(&(id, this_thread())) {
            return false;
        }
        let waited = self.shared.platform.block(&mut |waker| {
            if slot.is_over() {
                return true;
            }
            let mut waiters = self.waiters.lock();
            if !waiters.iter().any(|(waits_for, known)| *waits_for == id && known.will_wake(waker)) {
                waiters.push((id, waker.clone()));
            }
            drop(waiters);
            let is_over = !slot.ask_to_wake();
            if is_over {
                // The thread that ended the set may have seen no waker.
                self.wake(id);
            }
            is_over
        });
        waited.is_ok()
    }

    /// Waits for all sets that exist now. Returns their failures, and false if some run on.
    pub fn wait_for_all(&self) -> (Vec<JoinError>, bool) {
        let snapshots = self.lanes.each_ref().map(|lane| lane.records.lock().before(lane.end()));
        // Runs what has not begun in any set before it waits for one.
        for (lane, snapshot) in snapshots.iter().enumerate() {
            for block in &snapshot.blocks {
                let slots = block.slots_before(snapshot.end);
                for (position, _) in slots.filter(|(_, slot)| !slot.is_over()) {
                    self.help(SetId::new(lane, position), block, snapshot.set(position));
                }
            }
        }
        let (mut failures, mut are_all_over) = (Vec::new(), true);
        for (lane, Snapshot { end, blocks, .. }) in snapshots.iter().enumerate() {
            let mut running = Vec::new();
            for block in blocks {
                let waits =
                    |&(position, _): &(u64, &Slot)| !self.wait_for_end(SetId::new(lane, position), block);
                running.extend(block.slots_before(*end).filter(waits).map(|(position, _)| position));
            }
            are_all_over &= running.is_empty();
            failures.extend(self.lanes[lane].records.lock().consume_before(*end, &running));
        }
        (failures, are_all_over)
    }

    /// Makes an id stale. Returns the failure of a set that is over.
    pub fn forget(&self, id: SetId) -> Result<Option<JoinError>, SetError> {
        self.known(id)?.forget(id.position())
    }

    pub fn is_over(&self, id: SetId) -> Result<bool, SetError> {
        self.known(id)?.is_over(id.position())
    }

    /// Returns the number of sets that are not over.
    pub fn unfinished(&self) -> usize {
        self.lanes.iter().map(|lane| lane.records.lock().unfinished(lane.end())).sum()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // Nothing can wait for these sets any more.
        for lane in &self.lanes {
            for error in lane.records.lock().take_failures().into_values() {
                self.shared.report(error, None);
            }
        }
    }
}
