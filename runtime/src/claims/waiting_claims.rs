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
const MAX_GRANULES: u32 = 1 << 16;
/// Granules that are looked through while a thread that makes or drops granules may have to wait.
const LOCKED_GRANULES: u32 = 1 << 10;

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

    /// Returns the first table at this address or behind it, and the type of its data.
    fn first_from(&self, address: usize) -> Option<(usize, &'static str)> {
        let tables = self.0.lock();
        let (&address, table) = tables.range(address..).next()?;
        // SAFETY: the table is in place and shared, as it is in the map, whose lock is held.
        Some((address, unsafe { table.0.as_ref() }.data))
    }

    /// Returns up to `most` claims that wait in the queues of a table. The lock is given back now
    /// and then, and the table looked up again; if it was dropped meanwhile, no claim waits there.
    fn find_claims(
        &self,
        address: usize,
        observer: &Observer,
        most: usize,
    ) -> impl Iterator<Item = FoundClaim> {
        let mut claims = FoundClaims::new();
        for begin in (0..MAX_GRANULES).step_by(LOCKED_GRANULES as usize) {
            let tables = self.0.lock();
            let Some(table) = tables.get(&address) else { break };
            // SAFETY: the table is in place and shared, as it is in the map, whose lock is held.
            let table = unsafe { table.0.as_ref() };
            let end = (begin + LOCKED_GRANULES).min(table.slots.len() as u32);
            if begin >= end || claims.len() == most {
                break;
            }
            add_claims(table, begin..end, observer, most, &mut claims);
        }
        claims.into_values()
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
        let mut next = self.granule_tables.first_from(0);
        while let Some((address, data)) = next
            && waiting.len() < Inspection::MAX_CLAIMS
        {
            let most = Inspection::MAX_CLAIMS - waiting.len();
            for found in self.granule_tables.find_claims(address, observer, most) {
                waiting.push(WaitingClaim {
                    task: found.task.map_or(SEVERAL_OBJECTS, |(name, _)| name).into(),
                    data: data.into(),
                    address,
                    holders: snapshot.holders(address, &found.ranges),
                    ranges: found.ranges,
                    is_write: found.is_write,
                    ahead: found.ahead,
                    waiting: found.task.and_then(|(_, since)| since).map(|since| snapshot.since(since)),
                });
            }
            next = self.granule_tables.first_from(address + 1);
        }
        waiting
    }
}

/// What a parked task is called whose placeholders wait with it: it is not among them.
const SEVERAL_OBJECTS: &str = "(a task with several objects)";

/// Claims of one table, by their states.
type FoundClaims = BTreeMap<NonNull<ClaimState>, FoundClaim>;

/// Adds the claims that wait for some granules of a table, as long as there are fewer than `most`.
fn add_claims(
    table: &GranuleTable,
    granules: Range<u32>,
    observer: &Observer,
    most: usize,
    claims: &mut FoundClaims,
) {
    let slots = &table.slots[granules.start as usize..granules.end as usize];
    for (granule, slot) in granules.zip(slots) {
        slot.0.queue_lock.lock().for_each_waiter(most, |state, write, ahead| {
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
