//! The settings of contenders. They affect speed only, never a result.

use clap::ValueEnum;

/// Synchronization of tasks on the same node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Primitive {
    /// Optimistic reads; the home worker of a node runs its writers one after another.
    Sequenced,
    /// Optimistic reads; writers latch the node.
    Latched,
    /// Readers and writers take the node's spin latch.
    SpinLatch,
    /// Readers and writers take the node's reader/writer latch.
    ReaderWriterLatch,
    /// The home worker of a node runs its readers and writers one after another.
    Sequencing,
}

/// Layout of the entries in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// A cache line of hints selects a block of keys: a visit touches three cache lines.
    Hinted,
    /// Sorted keys, searched binarily.
    Sorted,
}

/// Prefetch distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    /// The runtime chooses.
    Automatic,
    /// No prefetching.
    Off,
    /// A number of tasks ahead.
    Distance(usize),
}

/// The settings of a contender.
#[derive(Clone, Debug)]
pub struct ContenderSettings {
    /// The number of workers.
    pub workers: usize,
    /// The number of records to load.
    pub records: u64,
    /// The seed of a simulation, in which workers are virtual cores; `None` for threads.
    pub simulation: Option<u64>,
    /// The synchronization of nodes; `None` for the default.
    pub primitive: Option<Primitive>,
    /// The prefetch distance.
    pub prefetch: Prefetch,
    /// Operations in flight per worker; `None` for the contender's default.
    pub in_flight: Option<usize>,
    /// The size of a node in bytes; `None` for the contender's default.
    pub node_size: Option<usize>,
    /// The layout of nodes; `None` for the contender's default.
    pub layout: Option<Layout>,
    /// The batch sizes from which interleaved lookups take the fastest; `None` for the contender's
    /// default.
    pub batches: Option<Vec<usize>>,
}

impl ContenderSettings {
    /// Creates default settings.
    pub fn new(workers: usize, records: u64) -> Self {
        Self {
            workers,
            records,
            simulation: None,
            primitive: None,
            prefetch: Prefetch::Automatic,
            in_flight: None,
            node_size: None,
            layout: None,
            batches: None,
        }
    }
}
