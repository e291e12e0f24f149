//! Classes of equal cores of a node. The solver counts workers for each class; single cores are
//! selected later.

use crate::machine::{Machine, WorkerSpeeds};
use std::mem;
use std::ops::Range;

/// A class of equal cores.
pub(crate) struct Class {
    /// Their node.
    pub node: u32,
    /// Their indices in the machine.
    pub cores: Vec<usize>,
    /// The speeds of the workers of a core that has one, two and so on.
    pub options: Vec<WorkerSpeeds>,
    /// The number of options of all previous classes.
    before: usize,
}

impl Class {
    /// Returns the throughput of a core with `workers` workers.
    pub fn value(&self, workers: usize) -> f64 {
        if workers == 0 { 0.0 } else { f64::from(self.options[workers - 1].sum) }
    }

    /// Returns the range of this class in [`WorkerCounts`](super::WorkerCounts): cores with one
    /// worker, two and so on.
    pub fn counts(&self) -> Range<usize> {
        self.before..self.before + self.options.len()
    }

    /// Returns the maximum number of workers of a core that are no slower than `slowest`. Further
    /// workers never make one faster.
    pub fn allowed(&self, slowest: u32) -> usize {
        self.options.iter().take_while(|option| option.slowest >= slowest).count()
    }

    /// Returns true if each further worker of a core adds no more than the previous one. This holds
    /// for two threads. A third may displace a competitor that slows the others anyway.
    pub fn is_concave(&self) -> bool {
        (2..=self.options.len())
            .all(|n| self.value(n) - self.value(n - 1) <= self.value(n - 1) - self.value(n - 2))
    }
}

/// Sorts the cores of a machine into classes.
pub(crate) fn classes(machine: &Machine) -> Vec<Class> {
    let options =
        |core| (1..=machine.room(core)).map(|workers| machine.workers(core, workers)).collect::<Vec<_>>();
    let mut cores: Vec<_> = machine.cores.iter().map(|core| (core.node, options(core))).zip(0..).collect();
    cores.sort_unstable();
    let mut before = 0;
    let class = |alike: &mut [((u32, Vec<WorkerSpeeds>), usize)]| {
        let (node, options) = mem::take(&mut alike[0].0);
        let cores = alike.iter().map(|core| core.1).collect();
        before += options.len();
        Class { node, cores, before: before - options.len(), options }
    };
    cores.chunk_by_mut(|one, other| one.0 == other.0).map(class).collect()
}
