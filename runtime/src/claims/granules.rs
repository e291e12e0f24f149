//! Granules with their data, and the handle that keeps them.

use super::admission::{Admission, TableAdmission};
use super::affinity::Affinity;
use super::directory::Directory;
use super::queue_lock::QueueLock;
use crate::memory::{Boxed, EpochBox};
use crate::object::prefetch;
use crate::scheduler::{Runtime, RuntimeState};
use crate::sync::{AtomicBool, AtomicU32, Padded, Relaxed, SpinMutex, UnsafeCell};
use crate::task::drop_quietly;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::{Any, type_name};
use core::fmt;
use core::mem::take;
use core::ptr::{NonNull, from_ref};

/// A handle to numbered granules and the data of each; made by [`Runtime::granules`] and
/// [`Runtime::granules_of`]. Clones are handles to the same granules.
///
/// Granules need not carry data; the caller then decides what each number stands for.
///
/// ```
/// use xtasking::Runtime;
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let shelves = rt.granules_of((0..100).map(|_| Vec::new()));
/// let group = rt.group();
/// for from in 0..90 {
///     // Runs in parallel with all tasks but those whose ranges overlap with this one.
///     let task = rt.task(()).of(&group).claim(shelves.write(from..from + 10));
///     task.spawn_with(move |(), mut held, _| {
///         (from..from + 10).for_each(|shelf| held.get_mut(shelf).push(from));
///     });
/// }
/// group.wait()?;
/// let books = rt.task(()).claim(shelves.read(0..100)).submit_with(|(), held, _| {
///     (0..100).map(|shelf| held.get(shelf).len()).sum::<usize>()
/// });
/// assert_eq!(books.join()?, 900);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Granules<D: Send + Sync + 'static = ()> {
    inner: EpochBox<GranulesInner<D>>,
}

/// The granules: a table that does not depend on the type of their data, and the data.
pub struct GranulesInner<D> {
    pub(super) table: GranuleTable,
    data: Box<[UnsafeCell<D>]>,
}

impl<D> Drop for GranulesInner<D> {
    /// Drops the data. A destructor that panics keeps no other granule's data from being dropped.
    fn drop(&mut self) {
        take(&mut self.data).into_iter().for_each(drop_quietly);
    }
}

// SAFETY: the admission lets a task reach the data of a granule only after it was granted the
// granule: either one task that writes, or any number that read.
unsafe impl<D: Send + Sync> Sync for GranulesInner<D> {}

/// All that concerns the granules but their data.
pub(super) struct GranuleTable {
    pub shared: Arc<RuntimeState>,
    /// The path of the type of the data.
    pub data: &'static str,
    pub slots: Box<[Padded<GranuleSlot>]>,
    /// How many granules are poisoned.
    pub poisoned: AtomicU32,
    pub affinity: Affinity,
    /// How many readers may overtake a waiting writer between two writers of a granule.
    pub max_overtaking: u32,
    pub admission: TableAdmission,
    pub directory: Directory,
}

/// What each granule has.
pub(super) struct GranuleSlot {
    pub queue_lock: SpinMutex<QueueLock>,
    /// The last task that wrote the granule has panicked in it.
    pub is_poisoned: AtomicBool,
    #[cfg(debug_assertions)]
    pub conflict_check: super::conflict_check::ConflictCheck,
}

pub(super) const READERS_PER_WORKER: usize = 8;

impl GranuleTable {
    pub fn count(&self) -> u32 {
        self.slots.len() as u32
    }

    #[track_caller]
    pub fn slot(&self, granule: u32) -> &GranuleSlot {
        &self.slots[granule as usize].0
    }

    #[track_caller]
    pub fn queue_lock(&self, granule: u32) -> &SpinMutex<QueueLock> {
        &self.slot(granule).queue_lock
    }

    /// Returns true if the granule is poisoned.
    #[track_caller]
    pub fn is_poisoned(&self, granule: u32) -> bool {
        // Relaxed: a task with the granule is ordered after all that set the flag, by its
        // admission. To other callers the answer is a hint.
        self.slot(granule).is_poisoned.load(Relaxed)
    }

    /// Sets whether a granule is poisoned. The caller must be the granule's only holder.
    pub fn set_poisoned(&self, granule: u32, is_poisoned: bool) {
        // Relaxed: the admission orders the next holder after the caller, so that it sees both.
        if self.slot(granule).is_poisoned.swap(is_poisoned, Relaxed) != is_poisoned {
            if is_poisoned {
                self.poisoned.fetch_add(1, Relaxed);
            } else {
                self.poisoned.fetch_sub(1, Relaxed);
            }
        }
    }

    /// Returns how many tasks have written a granule; `None` while one does, or if the admission
    /// does not count that.
    #[track_caller]
    pub fn version(&self, granule: u32) -> Option<u64> {
        if self.admission.counts_writes() { self.queue_lock(granule).lock().version() } else { None }
    }
}

/// Granules whose data are of any type, as a claim's state knows them.
pub(super) trait ErasedGranules: Any + Sync {
    fn table(&self) -> &GranuleTable;
    /// Prefetches a granule's slot and its data.
    fn prefetch(&self, granule: u32);
}

impl<D: Send + Sync + 'static> ErasedGranules for GranulesInner<D> {
    fn table(&self) -> &GranuleTable {
        &self.table
    }

    fn prefetch(&self, granule: u32) {
        prefetch(from_ref(&self.table.slots[granule as usize]).addr() as u64);
        prefetch(from_ref(&self.data[granule as usize]).addr() as u64);
    }
}

impl<D> GranulesInner<D> {
    /// Returns the data of a granule.
    ///
    /// # Safety
    ///
    /// The caller holds the granule, to read at least, for as long as the result is borrowed.
    pub unsafe fn read(&self, granule: u32) -> &D {
        // SAFETY: the caller is a reader, and the admission lets no writer in beside it.
        self.data[granule as usize].with(|data| unsafe { &*data })
    }

    /// Returns the data of a granule, to change them.
    ///
    /// # Safety
    ///
    /// The caller holds the granule to write it for as long as the result is borrowed, and has
    /// borrowed nothing else of it.
    #[expect(clippy::mut_from_ref, reason = "a holder that writes is the only one")]
    pub unsafe fn write(&self, granule: u32) -> &mut D {
        // SAFETY: the caller is the only holder, and this is its only borrow.
        self.data[granule as usize].with_mut(|data| unsafe { &mut *data })
    }
}

impl Runtime {
    /// Creates `count` granules without data.
    #[track_caller]
    pub fn granules(&self, count: u32) -> Granules {
        self.granules_of((0..count).map(|_| ()))
    }

    /// Creates a granule for each item of `data`. Only tasks that claim a granule reach its data.
    ///
    /// # Panics
    ///
    /// If there are 2³² items or more.
    #[track_caller]
    pub fn granules_of<D: Send + Sync + 'static>(&self, data: impl IntoIterator<Item = D>) -> Granules<D> {
        self.granules_with(Directory::default(), data)
    }

    /// Creates a granule for each item of `data`, with a directory that already says which granule
    /// something is in.
    ///
    /// # Panics
    ///
    /// If there are 2³² items or more.
    #[track_caller]
    pub fn granules_with<D: Send + Sync + 'static>(
        &self,
        directory: Directory,
        data: impl IntoIterator<Item = D>,
    ) -> Granules<D> {
        self.granules_under(|_, _| TableAdmission::default(), directory, data)
    }

    /// Creates granules whose admission is made for this runtime and this number of granules.
    #[track_caller]
    pub(super) fn granules_under<D: Send + Sync + 'static>(
        &self,
        admission: impl FnOnce(&RuntimeState, u32) -> TableAdmission,
        directory: Directory,
        data: impl IntoIterator<Item = D>,
    ) -> Granules<D> {
        let data: Box<[UnsafeCell<D>]> = data.into_iter().map(UnsafeCell::new).collect();
        let count = u32::try_from(data.len()).expect("granules have numbers of 32 bits");
        let slot = || GranuleSlot {
            queue_lock: SpinMutex::new(QueueLock::default()),
            is_poisoned: AtomicBool::new(false),
            #[cfg(debug_assertions)]
            conflict_check: Default::default(),
        };
        let shared = self.shared().clone();
        let table = GranuleTable {
            affinity: Affinity::new(data.len(), shared.slots.len()),
            data: type_name::<D>(),
            max_overtaking: (READERS_PER_WORKER * shared.slots.len()) as u32,
            admission: admission(&shared, count),
            shared,
            slots: data.iter().map(|_| Padded(slot())).collect(),
            poisoned: AtomicU32::new(0),
            directory,
        };
        let inner = EpochBox::new(GranulesInner { table, data });
        let table = &inner.get().table;
        // SAFETY: `GranulesInner::retire` removes the table before it is dropped.
        unsafe { table.shared.list_granules(NonNull::from(table)) };
        Granules { inner }
    }
}

impl<D: Send + Sync + 'static> Granules<D> {
    /// Returns the number of granules.
    pub fn count(&self) -> u32 {
        self.inner().table.count()
    }

    /// Returns the directory, which says which granule something is in before it is claimed.
    pub fn directory(&self) -> &Directory {
        &self.inner().table.directory
    }

    /// Returns how many tasks have written a granule until now; `None` while one does. If a task
    /// has read a granule, and the version is still [the one that it saw](crate::Held::version),
    /// then no task has written the granule meanwhile.
    ///
    /// # Panics
    ///
    /// If there is no such granule.
    #[track_caller]
    pub fn version(&self, granule: u32) -> Option<u64> {
        self.inner().table.version(granule)
    }

    /// Returns true if a task panicked while it had claimed the granule to write it. Later tasks
    /// that claim it fail with [`JoinError::Poisoned`](crate::JoinError::Poisoned), until one has
    /// [repaired](crate::Claim::even_poisoned) it. (Only data are poisoned: a task that was spawned
    /// without access to them poisons nothing.)
    ///
    /// # Panics
    ///
    /// If there is no such granule.
    #[track_caller]
    pub fn is_poisoned(&self, granule: u32) -> bool {
        self.inner().table.is_poisoned(granule)
    }

    /// Admits tasks to all poisoned granules again; the caller has made sure that the data make
    /// sense, or does not care. No task may claim any of them meanwhile: beside other tasks, a
    /// [task](Self::write_poisoned) must repair them.
    pub fn clear_poison(&self) {
        let table = &self.inner().table;
        (0..table.count()).for_each(|granule| table.set_poisoned(granule, false));
    }

    pub(super) fn inner(&self) -> &GranulesInner<D> {
        self.inner.get()
    }
}

impl<D: Send + Sync + 'static> Boxed for GranulesInner<D> {
    fn shared(&self) -> &Arc<RuntimeState> {
        &self.table.shared
    }

    fn retire(&self) {
        self.table.shared.granule_tables.remove(NonNull::from(&self.table));
    }
}

impl<D: Send + Sync + 'static> Clone for Granules<D> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<D: Send + Sync + 'static> fmt::Debug for Granules<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Granules").field("count", &self.count()).finish()
    }
}
