//! Claims that wait, as an inspection sees them.
//!
//! Nothing is recorded for this while claims wait. Instead the queue locks are looked through, one
//! after another: a claim whose waiter is in a queue keeps its state in place, and changes nothing
//! there, until the waiter is dequeued under that lock.

use super::claim_state::ClaimState;
use super::granules::GranuleTable;
use crate::monitor::{Description, Inspection, Observer, Snapshot, WaitingClaim};
use crate::scheduler::RuntimeState;
use crate::sync::SpinMutex;
use crate::task::Task;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use core::ptr::NonNull;

/// Granules of each table that are looked through.
const MAX_GRANULES: usize = 1 << 16;

/// The granules of an inspected runtime.
#[derive(Default)]
pub(crate) struct GranuleTables(SpinMutex<BTreeMap<usize, TablePtr>>);

struct TablePtr(NonNull<GranuleTable>);

// SAFETY: a pointer to a table, which is Sync; it is only followed under the lock.
unsafe impl Send for TablePtr {}

/// A claim that was found in a queue.
struct FoundClaim {
    task: Option<(&'static str, Option<u64>)>,
    ranges: Vec<Range<u32>>,
    is_write: bool,
    ahead: u64,
}

impl GranuleTables {
    /// Adds a table.
    ///
    /// # Safety
    ///
    /// The table stays in place, and is only shared, until it is [removed](Self::remove).
    unsafe fn insert(&self, table: NonNull<GranuleTable>) {
        self.0.lock().insert(table.addr().get(), TablePtr(table));
    }

    /// Removes a table, if it is there. No thread looks at it any more when this returns.
    pub(super) fn remove(&self, table: NonNull<GranuleTable>) {
        self.0.lock().remove(&table.addr().get());
    }
}

impl RuntimeState {
    /// Lists granules, if the runtime is inspected.
    ///
    /// # Safety
    ///
    /// As for [`GranuleTables::insert`].
    pub(super) unsafe fn list_granules(&self, table: NonNull<GranuleTable>) {
        if self.observer.as_ref().is_some_and(|observer| observer.demand.is_some()) {
            // SAFETY: forwarded.
            unsafe { self.granule_tables.insert(table) };
        }
    }

    /// Returns claims that wait for granules.
    pub(crate) fn waiting_claims(&self, observer: &Observer, snapshot: &Snapshot<'_>) -> Vec<WaitingClaim> {
        let mut waiting = Vec::new();
        for (&address, table) in &*self.granule_tables.0.lock() {
            // SAFETY: the table is in place and shared, as it is in the map, whose lock is held.
            let table = unsafe { table.0.as_ref() };
            for found in find_claims(table, observer, Inspection::MAX_CLAIMS - waiting.len()) {
                waiting.push(WaitingClaim {
                    task: found.task.map_or(SEVERAL_OBJECTS, |(name, _)| name).into(),
                    data: table.data.into(),
                    address,
                    holders: snapshot.holders(address, &found.ranges),
                    ranges: found.ranges,
                    is_write: found.is_write,
                    ahead: found.ahead,
                    waiting: found.task.and_then(|(_, since)| since).map(|since| snapshot.since(since)),
                });
            }
        }
        waiting
    }
}

/// What a parked task is called whose placeholders wait with it: it is not among them.
const SEVERAL_OBJECTS: &str = "(a task with several objects)";

/// Returns up to `most` claims that wait in the queues of a table.
fn find_claims(table: &GranuleTable, observer: &Observer, most: usize) -> impl Iterator<Item = FoundClaim> {
    let mut claims = BTreeMap::<NonNull<ClaimState>, FoundClaim>::new();
    for (granule, slot) in (0..).zip(table.slots.iter().take(MAX_GRANULES)) {
        slot.0.queue_lock.lock().for_each_waiter(|state, write, ahead| {
            if claims.len() == most && !claims.contains_key(&state) {
                return;
            }
            let new = || {
                // SAFETY: the state's waiter is in the queue whose lock is held.
                let task = unsafe { state.as_ref().parked_task() };
                // SAFETY: as above; the task is parked there, and so nothing else uses it.
                FoundClaim::new(task.map(|task| unsafe { describe(task, observer) }))
            };
            claims.entry(state).or_insert_with(new).add(granule, write, ahead);
        });
    }
    claims.into_values()
}

/// Returns the name of a parked task, and since when it has been waiting.
///
/// # Safety
///
/// The task stays parked, and its owner does not access it meanwhile.
unsafe fn describe(task: NonNull<Task>, observer: &Observer) -> (&'static str, Option<u64>) {
    // SAFETY: by the contract.
    let (Description { task: name, .. }, since) =
        unsafe { ((task.as_ref().vtable.describe)(task), observer.waiting_since(task)) };
    (name, since)
}

impl FoundClaim {
    fn new(task: Option<(&'static str, Option<u64>)>) -> Self {
        Self { task, ranges: Vec::new(), is_write: false, ahead: 0 }
    }

    /// Adds a granule that the claim waits for; they come in ascending order.
    fn add(&mut self, granule: u32, write: bool, ahead: u64) {
        match self.ranges.last_mut() {
            Some(last) if last.end == granule => last.end += 1,
            _ => self.ranges.push(granule..granule + 1),
        }
        self.is_write |= write;
        self.ahead = self.ahead.max(ahead);
    }
}
