//! What a task that has its granules sees of their data.

use super::granules::{Lines, Whole};
use super::rights::Rights;
use super::{Claim, Directory};
use crate::sync::Relaxed;
use core::cell::Cell;
use core::fmt;
use core::ops::Range;

/// The granules that a task has claimed, with their data, as long as it runs. See
/// [`TaskBuilder::spawn_with`](crate::TaskBuilder::spawn_with).
pub struct Held<'h, D> {
    whole: &'h Whole<D>,
    rights: &'h Rights,
    /// The range that was looked for last, which is often the next one as well.
    last: Cell<usize>,
    /// Slot of the task's epoch, which keeps the granules.
    operation: u8,
}

impl<'h, D: Send + Sync + 'static> Held<'h, D> {
    /// # Safety
    ///
    /// The rights are those of a task that runs and was granted them all, and this is the only one for it. It lives no longer than
    /// that. It is of this operation.
    pub(super) unsafe fn new(whole: &'h Whole<D>, rights: &'h Rights, operation: u8) -> Self {
        Self { whole, rights, last: Cell::new(0), operation }
    }

    /// Where it was noted which granule something is in.
    pub fn directory(&self) -> &'h Directory {
        &self.whole.lines.directory
    }

    /// How many granules there are.
    pub fn count(&self) -> u32 {
        self.whole.lines.count()
    }

    /// A claim for a follow-up: see [`Granules::read`](crate::Granules::read). For a task of any other spawner than the one that
    /// holds these it [does not do](crate::TaskBuilder::claim): nothing would keep the granules for that.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn read(&self, range: Range<u32>) -> Claim<'h, D> {
        Claim::within(self.whole, self.operation).and_read(range)
    }

    /// The same, to write them: see [`Granules::write`](crate::Granules::write).
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn write(&self, range: Range<u32>) -> Claim<'h, D> {
        Claim::within(self.whole, self.operation).and_write(range)
    }

    /// Whether the task has claimed a granule, be it only to read it.
    pub fn has(&self, granule: u32) -> bool {
        self.rights.find(granule, &self.last).is_some()
    }

    /// Whether the task has claimed a granule to write it.
    pub fn has_to_write(&self, granule: u32) -> bool {
        self.rights.find(granule, &self.last) == Some(true)
    }

    /// Whether the data of a granule may be half-written, as a task has panicked there: only a task that has claimed it
    /// [even so](Claim::even_poisoned) comes to see such a one.
    ///
    /// # Panics
    ///
    /// If the task has not claimed it.
    #[track_caller]
    pub fn is_poisoned(&self, granule: u32) -> bool {
        assert!(self.has(granule), "the task has not claimed granule {granule}");
        self.whole.lines.is_poisoned(granule)
    }

    /// How many tasks have written a granule that this one reads, which stays so until it is over: see
    /// [`Granules::version`](crate::Granules::version). `None` if the task writes it, or nobody counts that.
    ///
    /// # Panics
    ///
    /// If the task has not claimed it.
    #[track_caller]
    pub fn version(&self, granule: u32) -> Option<u64> {
        assert!(self.has(granule), "the task has not claimed granule {granule}");
        self.whole.lines.version(granule)
    }

    /// The granules that the task has claimed, in their order, and whether it may write each.
    pub fn granules(&self) -> impl Iterator<Item = (u32, bool)> + Clone + 'h {
        self.rights.granules()
    }

    /// The data of a granule.
    ///
    /// # Panics
    ///
    /// If the task has not claimed it.
    #[track_caller]
    pub fn get(&self, granule: u32) -> &D {
        assert!(self.has(granule), "the task has not claimed granule {granule}");
        // SAFETY: the task has it, to read at least; to write it this would have to be borrowed exclusively.
        unsafe { self.whole.read(granule) }
    }

    /// The data of a granule, to change them.
    ///
    /// # Panics
    ///
    /// If the task has not claimed it to write it.
    #[track_caller]
    pub fn get_mut(&mut self, granule: u32) -> &mut D {
        assert!(
            self.has_to_write(granule) || planted!("granule-written-by-reader") && self.has(granule),
            "the task has not claimed granule {granule} to write it"
        );
        // SAFETY: the task has it alone, and this is borrowed exclusively.
        unsafe { self.whole.write(granule) }
    }
}

impl<D> fmt::Debug for Held<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rights.iter()).finish()
    }
}

/// Poisons what a task writes if it unwinds.
pub(super) struct Poison<'h>(pub &'h Lines, pub &'h Rights);

impl Drop for Poison<'_> {
    /// Only while unwinding: otherwise it is forgotten.
    #[cold]
    fn drop(&mut self) {
        if planted!("granule-poison-forgotten") {
            return;
        }
        set_poisoned(self.0, self.1, true);
    }
}

/// Says of all that a task writes, and has yet, whether it is poisoned.
fn set_poisoned(lines: &Lines, rights: &Rights, is_poisoned: bool) {
    let written = rights.granules().filter(|granule| granule.1);
    written.for_each(|(granule, _)| lines.set_poisoned(granule, is_poisoned));
}

/// What a task writes makes sense again: it came to mend it, and is done.
#[cold]
pub(super) fn mend(lines: &Lines, rights: &Rights) {
    // Relaxed: those that are the task's were poisoned before it began.
    if lines.poisoned.load(Relaxed) > 0 && !planted!("granule-not-mended") {
        set_poisoned(lines, rights, false);
    }
}
