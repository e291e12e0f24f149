//! Granules and their data, and who owns them.

use super::control::Control;
use super::directory::Directory;
use super::homes::Homes;
use super::line::Line;
use super::pool::Pool;
use super::rights::Rights;
use super::toggle::Toggle;
use crate::memory::{Reclaim, Retired};
use crate::object::prefetch;
use crate::scheduler::{Runtime, Shared};
use crate::sync::{AtomicBool, AtomicU32, Padded, Relaxed, SpinMutex, UnsafeCell};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{NonNull, from_ref};

/// Granules, which are numbered, with the data of each; made by [`Runtime::granules`] and [`Runtime::granules_of`]. Clones are
/// the same ones.
///
/// Granules without data are as good: what belongs to which of them is then the business of who makes them.
///
/// ```
/// use xtasking::Runtime;
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let shelves = rt.granules_of((0..100).map(|_| Vec::new()));
/// let group = rt.group();
/// for from in 0..90 {
///     // Beside all others but those that are near.
///     let task = rt.task(()).of(&group).claim(shelves.write(from..from + 10));
///     task.spawn_with(move |(), mut held, _| (from..from + 10).for_each(|shelf| held.get_mut(shelf).push(from)));
/// }
/// group.wait()?;
/// let books = rt.task(()).claim(shelves.read(0..100)).submit_with(|(), held, _| {
///     (0..100).map(|shelf| held.get(shelf).len()).sum::<usize>()
/// });
/// assert_eq!(books.join()?, 900);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Granules<D: Send + Sync + 'static = ()> {
    keeper: Arc<Keeper<D>>,
}

/// Frees the granules when nobody has a handle and all tasks have run that were spawned before: for those an epoch keeps them
/// alive, so that no task counts as an owner.
struct Keeper<D: Send + Sync + 'static> {
    whole: NonNull<Whole<D>>,
}

// SAFETY: a handle of what is shared by its locks and claims.
unsafe impl<D: Send + Sync> Send for Keeper<D> {}
// SAFETY: as above.
unsafe impl<D: Send + Sync> Sync for Keeper<D> {}

/// All there is of the granules.
pub struct Whole<D> {
    pub(super) lines: Lines,
    data: Box<[UnsafeCell<D>]>,
}

// SAFETY: the data of a granule is reached by those who have claimed it: by one who writes it, or by several who read it.
unsafe impl<D: Send + Sync> Sync for Whole<D> {}

/// All there is of the granules but their data.
pub(super) struct Lines {
    pub shared: Arc<Shared>,
    pub all: Box<[Padded<Slot>]>,
    /// How many granules are poisoned.
    pub poisoned: AtomicU32,
    pub homes: Homes,
    /// So many readers may overtake those in line at a granule between two writers.
    pub overtaking: u32,
    /// If it is not the lines that keep tasks apart.
    pub pool: Option<Pool>,
    pub toggle: Option<Box<Toggle>>,
    pub directory: Directory,
}

pub(super) struct Slot {
    pub line: SpinMutex<Line>,
    /// Whoever wrote it last has panicked meanwhile.
    pub is_poisoned: AtomicBool,
    #[cfg(debug_assertions)]
    pub watch: super::watch::Watch,
}

/// For each worker, so many readers may overtake others before a writer has its turn.
const READERS: usize = 8;

impl Lines {
    pub fn count(&self) -> u32 {
        self.all.len() as u32
    }

    pub fn is_poisoned(&self, granule: u32) -> bool {
        // Relaxed: whoever has the granule comes after all who poisoned it, or mended it. To others it is advice.
        self.all[granule as usize].0.is_poisoned.load(Relaxed)
    }

    /// Says whether a granule is poisoned. The caller has it alone.
    pub fn set_poisoned(&self, granule: u32, is_poisoned: bool) {
        // Relaxed: whoever is granted it comes after the caller, and sees both.
        if self.all[granule as usize].0.is_poisoned.swap(is_poisoned, Relaxed) != is_poisoned {
            if is_poisoned {
                self.poisoned.fetch_add(1, Relaxed);
            } else {
                self.poisoned.fetch_sub(1, Relaxed);
            }
        }
    }

    /// How many tasks have written a granule; `None`: one does, or nobody counts that.
    pub fn version(&self, granule: u32) -> Option<u64> {
        let is_counted = self.pool.is_none() && self.toggle.is_none();
        is_counted.then(|| self.all[granule as usize].0.line.lock().version()).flatten()
    }

    /// Has a worker wait in the pool of locks until its task has these.
    pub fn lock(&self, worker: usize, rights: &Rights) {
        if let Some(pool) = &self.pool {
            pool.lock(worker, rights, || _ = self.shared.platform.interleave(true));
        }
    }
}

/// The granules as tasks see them that do not know the type of their data.
pub(super) trait Untyped: Any + Sync {
    fn lines(&self) -> &Lines;
    /// Fetches the line of a granule, and its data.
    fn prefetch(&self, granule: u32);
}

impl<D: Send + Sync + 'static> Untyped for Whole<D> {
    fn lines(&self) -> &Lines {
        &self.lines
    }

    fn prefetch(&self, granule: u32) {
        prefetch(from_ref(&self.lines.all[granule as usize]).addr() as u64);
        prefetch(from_ref(&self.data[granule as usize]).addr() as u64);
    }
}

impl<D> Whole<D> {
    /// The data of a granule.
    ///
    /// # Safety
    ///
    /// Nobody has claimed it to write it, and nobody gets it to write it, as long as this is borrowed.
    pub unsafe fn read(&self, granule: u32) -> &D {
        // SAFETY: by the caller's promise.
        self.data[granule as usize].with(|data| unsafe { &*data })
    }

    /// The same, to write it.
    ///
    /// # Safety
    ///
    /// The caller has the granule alone as long as this is borrowed, and nothing else borrowed of it.
    #[expect(clippy::mut_from_ref, reason = "whoever has claimed it has it alone")]
    pub unsafe fn write(&self, granule: u32) -> &mut D {
        // SAFETY: by the caller's promise.
        self.data[granule as usize].with_mut(|data| unsafe { &mut *data })
    }
}

impl Runtime {
    /// So many granules without data, which nobody has.
    pub fn granules(&self, count: u32) -> Granules {
        self.granules_of((0..count).map(|_| ()))
    }

    /// A granule for each of these data, which nobody has claimed. Tasks reach the data by a claim; nobody else does.
    ///
    /// # Panics
    ///
    /// If there are 2³² or more.
    pub fn granules_of<D: Send + Sync + 'static>(&self, data: impl IntoIterator<Item = D>) -> Granules<D> {
        self.granules_with(Control::Lines, Directory::default(), data)
    }

    /// The same, with a control of its own, and with a directory that says already which granule something is in.
    ///
    /// # Panics
    ///
    /// If there are 2³² or more.
    pub fn granules_with<D: Send + Sync + 'static>(
        &self,
        control: Control,
        directory: Directory,
        data: impl IntoIterator<Item = D>,
    ) -> Granules<D> {
        let data: Box<[UnsafeCell<D>]> = data.into_iter().map(UnsafeCell::new).collect();
        assert!(u32::try_from(data.len()).is_ok(), "granules have numbers of 32 bits");
        let slot = || Slot {
            line: SpinMutex::new(Line::default()),
            is_poisoned: AtomicBool::new(false),
            #[cfg(debug_assertions)]
            watch: Default::default(),
        };
        let shared = self.shared().clone();
        let lines = Lines {
            homes: Homes::new(data.len(), shared.seats.len()),
            overtaking: (READERS * shared.seats.len()) as u32,
            pool: control.pool(&shared, data.len() as u32),
            toggle: control.toggle(&shared, data.len() as u32),
            shared,
            all: data.iter().map(|_| Padded(slot())).collect(),
            poisoned: AtomicU32::new(0),
            directory,
        };
        let whole = NonNull::from(Box::leak(Box::new(Whole { lines, data })));
        Granules { keeper: Arc::new(Keeper { whole }) }
    }
}

impl<D: Send + Sync + 'static> Granules<D> {
    /// How many there are.
    pub fn count(&self) -> u32 {
        self.whole().lines.count()
    }

    /// Where to note which granule something is in, for who is to claim it.
    pub fn directory(&self) -> &Directory {
        &self.whole().lines.directory
    }

    /// How many tasks have written a granule, at this moment; `None` while one does. Who has read a granule and finds that its version
    /// is [what it was](crate::Held::version) knows that nobody has written there meanwhile.
    ///
    /// With other controls than [`Control::Lines`] nobody counts that: then it is always `None`.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn version(&self, granule: u32) -> Option<u64> {
        self.whole().lines.version(granule)
    }

    /// Whether a task panicked while it had claimed the granule to write it. Later tasks that claim it fail with
    /// [`JoinError::Poisoned`](crate::JoinError::Poisoned), until one has [mended](crate::Claim::even_poisoned) it. (Only data are
    /// poisoned: a task that never saw them, as it was spawned without them, does no harm.)
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn is_poisoned(&self, granule: u32) -> bool {
        self.whole().lines.is_poisoned(granule)
    }

    /// Lets tasks at all granules again; the caller has made sure (or does not care) that their data make sense. No task should
    /// be on its way to them meanwhile: beside others, granules are mended [by a task](Self::write_poisoned).
    pub fn clear_poison(&self) {
        let lines = &self.whole().lines;
        (0..lines.count()).for_each(|granule| lines.set_poisoned(granule, false));
    }

    pub(super) fn whole(&self) -> &Whole<D> {
        // SAFETY: the keeper keeps it.
        unsafe { self.keeper.whole.as_ref() }
    }
}

impl<D: Send + Sync + 'static> Drop for Keeper<D> {
    fn drop(&mut self) {
        // SAFETY: it is freed below at the earliest.
        let shared = unsafe { self.whole.as_ref() }.lines.shared.clone();
        let epoch = if planted!("granules-freed-at-once") { 0 } else { shared.epochs.retirement() };
        let owner: Arc<dyn Reclaim> = Arc::new(Dropper::<D>(PhantomData));
        shared.adopt([Retired { epoch, object: self.whole.cast(), owner }].into_iter());
        shared.wake_for_garbage(0);
    }
}

/// Frees granules with data of one type.
struct Dropper<D>(PhantomData<fn(D)>);

impl<D: Send + Sync + 'static> Reclaim for Dropper<D> {
    unsafe fn reclaim(&self, whole: NonNull<u8>, _: Option<usize>) {
        // SAFETY: made by `granules_of` from a box of this type, and not used any more.
        drop(unsafe { Box::from_raw(whole.cast::<Whole<D>>().as_ptr()) });
    }
}

impl<D: Send + Sync + 'static> Clone for Granules<D> {
    fn clone(&self) -> Self {
        Self { keeper: self.keeper.clone() }
    }
}

impl<D: Send + Sync + 'static> fmt::Debug for Granules<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Granules").field("count", &self.count()).finish()
    }
}
