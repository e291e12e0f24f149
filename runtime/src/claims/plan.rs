//! Plans: claims that depend on data, and what a plan may look at before it has claimed anything.
//!
//! A plan runs when its task is spawned, and again whenever the task was granted all that the plan
//! has named. It is confirmed when it names nothing new, so the body sees the data that the plan
//! saw. If it names more, the task releases what it was granted and enqueues anew; therefore no
//! task waits while it holds, and plans cannot deadlock.

use super::Directory;
use super::admission::{Admission, TableAdmission};
use super::granules::{ErasedGranules, GranuleTable, GranulesInner};
use super::queue_lock::WakeList;
use super::rights::{Ranges, Rights, check_range};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ops::Range;

/// A function that names what its task claims, as far as it can see that.
pub(super) type Plan = Box<dyn FnMut(&mut PlanProbe<'_>) + Send>;

/// From where a plan peeks, in the terms of this build's admission.
pub(super) type PeekSite = <TableAdmission as Admission>::PeekSite;

/// One run of a plan, whatever the type of the data.
pub(super) struct PlanProbe<'s> {
    pub granules: &'s dyn ErasedGranules,
    /// What the task holds during this run.
    pub held: &'s Rights,
    /// What the plan has named and seen in this run.
    pub ranges: Ranges,
    /// Waiters that were granted a granule at the end of a peek.
    pub wake_lists: Vec<WakeList>,
    /// From where the plan peeks at granules that the task does not hold.
    pub site: PeekSite,
    /// The plan sees the data of poisoned granules.
    pub even_poisoned: bool,
}

impl PlanProbe<'_> {
    #[track_caller]
    fn add(&mut self, range: Range<u32>, write: bool) {
        check_range(&range, self.granules.table().count());
        self.ranges.add(range, write);
    }
}

/// Counts a plan as a reader of a granule until it is dropped, also by a panic of the plan.
struct PeekGuard<'a> {
    table: &'a GranuleTable,
    granule: u32,
    site: PeekSite,
    wake_lists: &'a mut Vec<WakeList>,
}

impl<'a> PeekGuard<'a> {
    /// Returns `None` if a writer holds the granule or tasks wait for it.
    fn new(
        granule: u32,
        table: &'a GranuleTable,
        site: PeekSite,
        wake_lists: &'a mut Vec<WakeList>,
    ) -> Option<Self> {
        table.admission.begin_peek(table, granule, site).then(|| {
            #[cfg(debug_assertions)]
            table.slot(granule).conflict_check.enter(false);
            Self { table, granule, site, wake_lists }
        })
    }
}

impl Drop for PeekGuard<'_> {
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        self.table.slot(self.granule).conflict_check.leave(false);
        if planted!("peek-uncounted") {
            return;
        }
        let wake_list = self.table.admission.end_peek(self.table, self.granule, self.site);
        if !wake_list.is_empty() {
            self.wake_lists.push(wake_list);
        }
    }
}

/// The view of granules that a [plan](crate::Granules::planned) has, and by which it names its
/// claim.
pub struct PlanView<'s, 'h, D> {
    inner: &'s GranulesInner<D>,
    probe: &'s mut PlanProbe<'h>,
    /// Index of the held range that was found last.
    last_range: Cell<usize>,
}

impl<'s, 'h, D> PlanView<'s, 'h, D> {
    pub(super) fn new(inner: &'s GranulesInner<D>, probe: &'s mut PlanProbe<'h>) -> Self {
        Self { inner, probe, last_range: Cell::new(0) }
    }

    pub(super) fn table(&self) -> &'s GranuleTable {
        &self.inner.table
    }
}

impl<D: Send + Sync + 'static> PlanView<'_, '_, D> {
    /// Names granules that the task reads.
    ///
    /// # Panics
    ///
    /// If the range ends behind the last granule.
    #[track_caller]
    pub fn read(&mut self, range: Range<u32>) {
        self.probe.add(range, false);
    }

    /// Names granules that the task writes.
    ///
    /// # Panics
    ///
    /// If the range ends behind the last granule.
    #[track_caller]
    pub fn write(&mut self, range: Range<u32>) {
        self.probe.add(range, true);
    }

    /// Returns the directory, which says which granule something is in.
    pub fn directory(&self) -> &Directory {
        &self.inner.table.directory
    }

    /// Returns the number of granules.
    pub fn count(&self) -> u32 {
        self.inner.table.count()
    }

    /// Calls `look` with the data of a granule, which the task then claims to read. Returns `None`
    /// if a task writes the granule, or waits for it. Then the plan may return, as it is called
    /// again when the task has been granted the granule. A [poisoned](crate::Granules::is_poisoned)
    /// granule yields `None` as well, as the task will fail; unless the claim is [for poisoned
    /// granules too](crate::Claim::even_poisoned).
    ///
    /// # Panics
    ///
    /// If there is no such granule.
    #[track_caller]
    pub fn peek<R>(&mut self, granule: u32, look: impl FnOnce(&D) -> R) -> Option<R> {
        check_range(&(granule..granule.saturating_add(1)), self.count());
        self.probe.ranges.add(granule..granule + 1, false);
        let table = &self.inner.table;
        let is_held = self.probe.held.find(granule, &self.last_range).is_some();
        let guard = if is_held {
            None
        } else {
            Some(PeekGuard::new(granule, table, self.probe.site, &mut self.probe.wake_lists)?)
        };
        let is_shown = self.probe.even_poisoned || !table.is_poisoned(granule);
        // SAFETY: the task holds the granule and its body does not run yet, or the guard counts as
        // a reader until `look` has returned.
        let result = is_shown.then(|| look(unsafe { self.inner.read(granule) }));
        drop(guard);
        result
    }
}
