//! What a caller wants to know: data to partition, and constraints on the plan.

use crate::facts::CpuSet;
use serde::{Deserialize, Serialize};

/// A request to partition data among workers, with constraints on their placement.
///
/// ```
/// use xtasking_knowledge::{Bound, Request};
///
/// let base = Request::new(64 << 20, Bound::Memory);
/// let request = Request { partitions_max: Some(8), siblings: false, ..base };
/// assert_eq!(request.partition_bytes_max, None);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Size of all data in bytes.
    pub bytes: u64,
    /// The bottleneck of the work.
    pub bound: Bound,
    /// The minimum number of partitions.
    pub partitions_min: Option<u32>,
    /// The maximum number of partitions.
    pub partitions_max: Option<u32>,
    /// The minimum size of an equal partition in bytes; bounds the number of partitions from above.
    pub partition_bytes_min: Option<u64>,
    /// The maximum size of an equal partition in bytes; bounds the number of partitions from below.
    pub partition_bytes_max: Option<u64>,
    /// Whether neighbouring workers should share caches.
    pub caches: CacheSharing,
    /// True if partitions may differ in size, so that a worker on a slower CPU gets less.
    pub weighted: bool,
    /// True if the hardware threads of a core may each have a worker.
    pub siblings: bool,
    /// CPUs that get no worker.
    pub excluded: CpuSet,
    /// The name under which the requester is registered; its own workers do not count as
    /// competition.
    pub requester: Option<String>,
}

/// The bottleneck of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Bound {
    /// Computing: nodes are filled one after another.
    Compute,
    /// Memory bandwidth: workers are spread evenly over the nodes, and a core's second thread adds
    /// nothing.
    Memory,
}

/// Whether workers should share caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CacheSharing {
    /// No preference.
    #[default]
    Any,
    /// Workers use the same data: prefer a shared cache.
    Together,
    /// Each worker uses its own data: prefer a cache for each.
    Apart,
}

impl Request {
    /// Creates a request without constraints: partitions of unequal size, on all CPUs that shorten
    /// the time.
    pub fn new(bytes: u64, bound: Bound) -> Self {
        Self {
            bytes,
            bound,
            partitions_min: None,
            partitions_max: None,
            partition_bytes_min: None,
            partition_bytes_max: None,
            caches: CacheSharing::Any,
            weighted: true,
            siblings: true,
            excluded: CpuSet::default(),
            requester: None,
        }
    }

    /// Returns the minimum and maximum number of partitions.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let needed = self.partition_bytes_max.map_or(1, |size| self.bytes.div_ceil(size.max(1)));
        let fitting = self.partition_bytes_min.map_or(u64::MAX, |size| self.bytes / size.max(1));
        let fewest = needed.max(self.partitions_min.unwrap_or(1).into()).max(1);
        let most = self.partitions_max.map_or(u64::MAX, u64::from).min(fitting.max(1)).min(self.bytes.max(1));
        (fewest, most)
    }
}
