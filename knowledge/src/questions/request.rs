//! What is asked for.

use crate::facts::CpuSet;
use serde::{Deserialize, Serialize};

/// Data to be divided among workers, and what is wanted of their places.
///
/// ```
/// use xtasking_knowledge::{Bound, Request};
///
/// let request = Request { most: Some(8), siblings: false, ..Request::new(64 << 20, Bound::Memory) };
/// assert_eq!(request.largest, None);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Bytes of all data.
    pub bytes: u64,
    /// What bounds the work.
    pub bound: Bound,
    /// At least so many partitions.
    pub fewest: Option<u32>,
    /// At most so many.
    pub most: Option<u32>,
    /// An even partition is to have at least so many bytes: there are no more than fit.
    pub smallest: Option<u64>,
    /// An even partition is to have at most so many bytes: there are no fewer than are needed.
    pub largest: Option<u64>,
    /// Whether workers that are near to one another should share caches.
    pub caches: Sharing,
    /// Whether partitions may differ in size, so that a worker on a slower CPU gets less.
    pub weighted: bool,
    /// Whether a core may have more than one worker, where it has several threads.
    pub siblings: bool,
    /// CPUs that get no worker.
    pub keep: CpuSet,
    /// The name by which the asker itself is registered: its own workers are not in its way.
    pub asker: Option<String>,
}

/// What bounds a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Bound {
    /// Computing: nodes are filled one after another.
    Compute,
    /// Memory: workers are spread evenly over the nodes, and a second thread of a core adds nothing.
    Memory,
}

/// Whether workers should share caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sharing {
    /// As it comes.
    #[default]
    Any,
    /// They use the same data: rather share one.
    Together,
    /// Each uses its own data: rather have one for itself.
    Apart,
}

impl Request {
    /// A number of partitions that follows from the machine, of unequal sizes where that helps, on all CPUs that help.
    pub fn new(bytes: u64, bound: Bound) -> Self {
        Self {
            bytes,
            bound,
            fewest: None,
            most: None,
            smallest: None,
            largest: None,
            caches: Sharing::Any,
            weighted: true,
            siblings: true,
            keep: CpuSet::default(),
            asker: None,
        }
    }

    /// The fewest and the most partitions that are asked for.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let needed = self.largest.map_or(1, |size| self.bytes.div_ceil(size.max(1)));
        let fitting = self.smallest.map_or(u64::MAX, |size| self.bytes / size.max(1));
        let fewest = needed.max(self.fewest.unwrap_or(1).into()).max(1);
        let most = self.most.map_or(u64::MAX, u64::from).min(fitting.max(1)).min(self.bytes.max(1));
        (fewest, most)
    }
}
