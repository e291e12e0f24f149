//! How contenders are set up: what the command line says about them. Everything is about speed; none changes a result.

use clap::ValueEnum;

/// How the runtime keeps tasks on the same node of the tree apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Primitive {
    /// Optimistic reads; the writers of a node run one after another on its home worker.
    Sequenced,
    /// Optimistic reads; the writers of a node latch it.
    Latched,
    /// Readers and writers of a node take its spin latch.
    SpinLatch,
    /// Readers and writers of a node take its reader/writer latch.
    ReaderWriterLatch,
    /// Readers and writers of a node run one after another on its home worker.
    Sequencing,
}

/// How the entries of a node lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// A first line that leads to the blocks of keys: three lines touched a visit.
    Hinted,
    /// Sorted keys under a binary search.
    Sorted,
}

/// How far ahead data is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    /// As the runtime thinks best.
    Automatic,
    /// Not at all.
    Off,
    /// This many tasks ahead.
    Distance(usize),
}

/// How a contender is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many workers carry out the plans.
    pub workers: usize,
    /// How many records will be loaded.
    pub records: u64,
    /// Workers are virtual cores, interleaved as this seed says.
    pub simulation: Option<u64>,
    /// The primitive, unless the runtime is to choose.
    pub primitive: Option<Primitive>,
    /// How far ahead the runtime fetches.
    pub prefetch: Prefetch,
    /// How many operations of a worker are under way at once, unless the contender is to choose.
    pub in_flight: Option<usize>,
    /// The size of a node in bytes, unless the contender is to choose.
    pub node_size: Option<usize>,
    /// The layout of nodes, unless the contender is to choose.
    pub layout: Option<Layout>,
}

impl Settings {
    /// Everything as the contender chooses.
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
        }
    }
}
