//! What a program knows of the machine.

use crate::memory::zones;
use crate::{Cores, clock, cores};
use alloc::vec::Vec;
use core::time::Duration;
use xtasking::Builder;
use xtasking::platform::{CoreInfo, CpuTopology};

/// The machine that the program runs on.
#[derive(Debug)]
pub struct Machine {
    /// The rest of the command line.
    arguments: alloc::string::String,
    topology: CpuTopology,
    /// How far each node's memory is from each node, row by row.
    distances: Vec<u8>,
}

/// The distance of a node's own memory.
const NEAR: u8 = 10;
/// The distance of other memory, where the firmware does not say.
const FAR: u8 = 20;

impl Machine {
    pub(crate) fn new(
        command_line: &str,
        nodes: usize,
        distance: impl Fn(usize, usize) -> Option<u8>,
    ) -> Self {
        let core = |core: &cores::Core| CoreInfo { os_id: core.index(), node: core.node() };
        let default = |from, to| if from == to { NEAR } else { FAR };
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        Self {
            arguments: command_line.into(),
            topology: CpuTopology { cores: cores::all().iter().map(core).collect(), nodes },
            distances: pairs.map(|(from, to)| distance(from, to).unwrap_or(default(from, to))).collect(),
        }
    }

    /// Returns the words of the command line.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.arguments.split_whitespace()
    }

    /// Returns the cores and their nodes.
    pub fn topology(&self) -> &CpuTopology {
        &self.topology
    }

    /// Returns how far the memory of a node is from the cores of another, as the firmware says: 10
    /// is a node's own memory. `None` if there is no such node.
    pub fn distance(&self, from: u16, to: u16) -> Option<u8> {
        let (from, to, nodes) = (usize::from(from), usize::from(to), self.topology.nodes);
        (from < nodes && to < nodes).then(|| self.distances[from * nodes + to])
    }

    /// Returns the bytes of memory that the image does not take, and how many of them are free.
    pub fn memory(&self) -> (u64, u64) {
        (zones::all_bytes() as u64, zones::free_bytes() as u64)
    }

    /// Returns the node of the memory at an address; `None` if that is no memory of the heap.
    pub fn node_of(&self, address: usize) -> Option<u16> {
        zones::node_of(address)
    }

    /// Returns the time since the kernel began.
    pub fn uptime(&self) -> Duration {
        Duration::from_nanos(clock::now())
    }

    /// Returns the time since 1970, by the machine's clock as this kernel began. That has whole
    /// seconds, and is taken to have the time of Greenwich.
    pub fn since_1970(&self) -> Duration {
        Duration::from_nanos(clock::since_1970())
    }

    /// Begins a runtime with a worker on each core. It names the task in the report of a panic,
    /// which costs a reading of the clock a task; see [`Builder::name_running`].
    pub fn runtime(&'static self) -> Builder {
        xtasking::Runtime::builder().platform(Cores::new(self)).name_running(true)
    }
}
