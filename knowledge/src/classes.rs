//! Cores of a node that are alike, counted: which of them get workers is chosen afterwards.

use crate::machine::{Machine, Workers};
use std::mem;
use std::ops::Range;

/// Cores that are alike.
pub(crate) struct Class {
    /// The node that they are in.
    pub node: u32,
    /// Which cores of the machine.
    pub cores: Vec<usize>,
    /// What workers do if a core has one, two and so on.
    pub options: Vec<Workers>,
    /// How many options the classes before it have.
    before: usize,
}

impl Class {
    /// What workers do together, if a core has so many.
    pub fn value(&self, workers: usize) -> f64 {
        if workers == 0 { 0.0 } else { f64::from(self.options[workers - 1].sum) }
    }

    /// Where a solution says how many of its cores have one worker, two and so on.
    pub fn counts(&self) -> Range<usize> {
        self.before..self.before + self.options.len()
    }

    /// How many workers a core may have that are no slower: with more of them, none gets faster.
    pub fn allowed(&self, slowest: u32) -> usize {
        self.options.iter().take_while(|option| option.slowest >= slowest).count()
    }

    /// Whether each further worker of a core adds no more than the one before it. So it is with two threads; of more, a
    /// third may take the place of a stranger who is in the way of the others anyway.
    pub fn is_concave(&self) -> bool {
        (2..=self.options.len())
            .all(|n| self.value(n) - self.value(n - 1) <= self.value(n - 1) - self.value(n - 2))
    }
}

/// Sorts cores into classes.
pub(crate) fn classes(machine: &Machine) -> Vec<Class> {
    let options =
        |core| (1..=machine.room(core)).map(|workers| machine.workers(core, workers)).collect::<Vec<_>>();
    let mut cores: Vec<_> = machine.cores.iter().map(|core| (core.node, options(core))).zip(0..).collect();
    cores.sort_unstable();
    let mut before = 0;
    let class = |alike: &mut [((u32, Vec<Workers>), usize)]| {
        let (node, options) = mem::take(&mut alike[0].0);
        let cores = alike.iter().map(|core| core.1).collect();
        before += options.len();
        Class { node, cores, before: before - options.len(), options }
    };
    cores.chunk_by_mut(|one, other| one.0 == other.0).map(class).collect()
}
