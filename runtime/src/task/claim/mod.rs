//! Granules: parts of something large that tasks claim by ranges.
//!
//! What is too large for one object, and too finely divided for an object each, is cut into *granules*. A task claims ranges of
//! them, to read or to write, and runs when it has all of them: readers beside each other, writers alone, in the order in which
//! they came. Nobody blocks meanwhile, and nobody waits in a circle. (Two-phase enqueue as in behaviour-oriented concurrency,
//! Cheeseman et al., OOPSLA 2023; readers that share, in one line with writers.)

mod line;
mod stand;

pub use stand::{Claiming, Within};

use super::Immediate;
use crate::scheduler::{Runtime, Shared};
use crate::sync::{Padded, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use line::{Line, Place};
use stand::Lines;

/// Granules, which are numbered; made by [`Runtime::granules`]. Clones are the same ones.
///
/// They have no data: what belongs to which of them is the business of who makes them.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use xtasking::Runtime;
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let shelves = rt.granules(100);
/// let moved = Arc::new(AtomicU64::new(0));
/// let group = rt.group();
/// for from in 0..90 {
///     let moved = moved.clone();
///     // Beside all others but those that are near.
///     let claim = shelves.write(from..from + 10);
///     rt.task(()).of(&group).claim(claim).spawn(move |(), _| _ = moved.fetch_add(1, Relaxed));
/// }
/// group.wait()?;
/// assert_eq!(rt.task(()).claim(shelves.read(0..100)).submit(move |(), _| moved.load(Relaxed)).join()?, 90);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Granules {
    shared: Arc<Shared>,
    lines: Lines,
}

/// Ranges of granules, each to be read or written.
#[derive(Clone, Debug)]
#[must_use = "a claim is for a task"]
pub struct Claim {
    granules: Granules,
    ranges: Vec<(Range<u32>, bool)>,
}

impl Runtime {
    /// So many granules, which nobody has.
    pub fn granules(&self, count: u32) -> Granules {
        let lines = (0..count).map(|_| Padded(SpinMutex::new(Line::default())));
        Granules { shared: self.shared().clone(), lines: lines.collect() }
    }
}

impl Granules {
    /// How many there are.
    pub fn count(&self) -> u32 {
        self.lines.len() as u32
    }

    /// A claim to read these.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn read(&self, range: Range<u32>) -> Claim {
        Claim { granules: self.clone(), ranges: Vec::new() }.and_read(range)
    }

    /// A claim to write these.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn write(&self, range: Range<u32>) -> Claim {
        Claim { granules: self.clone(), ranges: Vec::new() }.and_write(range)
    }

    fn check(&self, shared: &Arc<Shared>) {
        assert!(Arc::ptr_eq(&self.shared, shared), "granules are claimed by a task of another runtime");
    }
}

impl Claim {
    /// To read these as well.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn and_read(self, range: Range<u32>) -> Self {
        self.and(range, false)
    }

    /// To write these as well. What is read and written is written.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn and_write(self, range: Range<u32>) -> Self {
        self.and(range, true)
    }

    fn and(mut self, range: Range<u32>, write: bool) -> Self {
        assert!(range.end <= self.granules.count(), "there are no granules {range:?}");
        self.ranges.push((range, write));
        self
    }

    /// A place for each granule, in their order.
    fn places(&self) -> Box<[Place]> {
        let mut all: Vec<(u32, bool)> = self
            .ranges
            .iter()
            .flat_map(|(range, write)| range.clone().map(move |granule| (granule, *write)))
            .collect();
        // Of the same granule that to write comes first.
        all.sort_unstable_by_key(|&(granule, write)| (granule, !write));
        all.dedup_by_key(|&mut (granule, _)| granule);
        all.into_iter().map(|(granule, write)| Place::new(granule, write)).collect()
    }
}

impl fmt::Debug for Granules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Granules").field("count", &self.count()).finish()
    }
}
