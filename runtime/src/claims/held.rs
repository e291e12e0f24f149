//! The granules that a running task holds, and their data.

use super::granules::{GranuleTable, GranulesInner};
use super::rights::Rights;
use super::{Claim, Directory};
use crate::sync::Relaxed;
use core::cell::Cell;
use core::fmt;
use core::ops::Range;

/// The granules that a task has claimed, with their data, while it runs. See
/// [`TaskBuilder::spawn_with`](crate::TaskBuilder::spawn_with).
pub struct Held<'h, D> {
    inner: &'h GranulesInner<D>,
    rights: &'h Rights,
    /// Index of the range that was found last, which often has the next granule too.
    last_range: Cell<usize>,
    /// Slot of the task's epoch, which keeps the granules.
    operation: u8,
}

impl<'h, D: Send + Sync + 'static> Held<'h, D> {
    /// # Safety
    ///
    /// The rights are those of a running task of this operation, which was granted them all. This
    /// is its only `Held`, and is dropped before the task is over.
    pub(super) unsafe fn new(inner: &'h GranulesInner<D>, rights: &'h Rights, operation: u8) -> Self {
        Self { inner, rights, last_range: Cell::new(0), operation }
    }

    /// Returns the directory, which says which granule something is in.
    pub fn directory(&self) -> &'h Directory {
        &self.inner.table.directory
    }

    /// Returns the number of all granules, claimed or not.
    pub fn count(&self) -> u32 {
        self.inner.table.count()
    }

    /// Creates a claim to read a range, for a follow-up: see
    /// [`Granules::read`](crate::Granules::read). Tasks of other spawners [cannot use
    /// it](crate::TaskBuilder::claim): nothing would keep the granules for them.
    ///
    /// # Panics
    ///
    /// If the range ends behind the last granule.
    #[track_caller]
    pub fn read(&self, range: Range<u32>) -> Claim<'h, D> {
        Claim::within(self.inner, self.operation).and_read(range)
    }

    /// Creates a claim to write a range, for a follow-up, like [`read`](Self::read): see
    /// [`Granules::write`](crate::Granules::write).
    ///
    /// # Panics
    ///
    /// If the range ends behind the last granule.
    #[track_caller]
    pub fn write(&self, range: Range<u32>) -> Claim<'h, D> {
        Claim::within(self.inner, self.operation).and_write(range)
    }

    /// Returns true if the task has claimed the granule, to read or to write it.
    pub fn has(&self, granule: u32) -> bool {
        self.rights.find(granule, &self.last_range).is_some()
    }

    /// Returns true if the task has claimed the granule to write it.
    pub fn has_to_write(&self, granule: u32) -> bool {
        self.rights.find(granule, &self.last_range) == Some(true)
    }

    /// Returns true if the data of the granule may be half-written, because a task has panicked
    /// there. Only a task with a claim [for poisoned granules too](Claim::even_poisoned) sees that.
    ///
    /// # Panics
    ///
    /// If the task has not claimed the granule.
    #[track_caller]
    pub fn is_poisoned(&self, granule: u32) -> bool {
        assert!(self.has(granule), "the task has not claimed granule {granule}");
        self.inner.table.is_poisoned(granule)
    }

    /// Returns how many tasks have written a granule, which does not change until this task is
    /// over: see [`Granules::version`](crate::Granules::version). `None` if the task writes it.
    ///
    /// # Panics
    ///
    /// If the task has not claimed the granule.
    #[track_caller]
    pub fn version(&self, granule: u32) -> Option<u64> {
        assert!(self.has(granule), "the task has not claimed granule {granule}");
        self.inner.table.version(granule)
    }

    /// Returns the granules that the task has claimed, ascending, and whether it may write each.
    pub fn granules(&self) -> impl Iterator<Item = (u32, bool)> + Clone + 'h {
        self.rights.granules()
    }

    /// Returns the data of a granule.
    ///
    /// # Panics
    ///
    /// If the task has not claimed the granule.
    #[track_caller]
    pub fn get(&self, granule: u32) -> &D {
        assert!(self.has(granule), "the task has not claimed granule {granule}");
        // SAFETY: the task holds the granule while `self` lives; the shared borrow of `self`
        // excludes `get_mut`.
        unsafe { self.inner.read(granule) }
    }

    /// Returns the data of a granule, to change them.
    ///
    /// # Panics
    ///
    /// If the task has not claimed the granule to write it.
    #[track_caller]
    pub fn get_mut(&mut self, granule: u32) -> &mut D {
        assert!(
            self.has_to_write(granule) || planted!("granule-written-by-reader") && self.has(granule),
            "the task has not claimed granule {granule} to write it"
        );
        // SAFETY: the task is the only holder of the granule while `self` lives; the exclusive
        // borrow of `self` excludes any other access.
        unsafe { self.inner.write(granule) }
    }
}

impl<D> fmt::Debug for Held<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rights.iter()).finish()
    }
}

/// Poisons the granules that a task writes when it is dropped, which happens only if the task
/// unwinds: otherwise it is forgotten.
pub(super) struct PoisonGuard<'h>(pub &'h GranuleTable, pub &'h Rights);

impl Drop for PoisonGuard<'_> {
    #[cold]
    fn drop(&mut self) {
        if planted!("granule-poison-forgotten") {
            return;
        }
        set_poisoned(self.0, self.1, true);
    }
}

/// Sets whether the granules that a task writes, and still holds, are poisoned.
fn set_poisoned(table: &GranuleTable, rights: &Rights, is_poisoned: bool) {
    let written = rights.granules().filter(|granule| granule.1);
    written.for_each(|(granule, _)| table.set_poisoned(granule, is_poisoned));
}

/// Clears the poison of all granules that a task writes, at the end of a task that repairs them.
#[cold]
pub(super) fn clear_written_poison(table: &GranuleTable, rights: &Rights) {
    // Relaxed: the granules of this task were poisoned by tasks that are ordered before it.
    if table.poisoned.load(Relaxed) > 0 && !planted!("granule-not-repaired") {
        set_poisoned(table, rights, false);
    }
}
