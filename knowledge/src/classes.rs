//! Cores of a node that are alike, counted: an integer program over single CPUs would try them in every order.

use crate::machine::Machine;
use std::collections::BTreeMap;

/// Cores that are alike.
pub(crate) struct Class {
    /// The node that they are in.
    pub node: u32,
    /// Which cores of the machine.
    pub cores: Vec<usize>,
    /// How fast the workers are if a core has one, two and so on.
    pub options: Vec<Vec<u32>>,
}

/// No more classes than that, where speeds can be told apart less: the time of the program grows fast with them.
const MOST: usize = 12;

impl Class {
    /// How much workers do together, if a core has so many.
    pub fn sum(&self, workers: usize) -> u32 {
        self.options[workers - 1].iter().sum()
    }

    /// How much the slowest of them does.
    pub fn slowest(&self, workers: usize) -> u32 {
        self.options[workers - 1].iter().copied().min().unwrap_or(0)
    }
}

/// Sorts cores into classes. Where there would be too many, speeds are told apart in coarser steps.
pub(crate) fn classes(machine: &Machine) -> Vec<Class> {
    let exact: Vec<(u32, Vec<Vec<u32>>)> = machine
        .cores
        .iter()
        .map(|core| {
            let options =
                (1..=machine.room(core)).map(|workers| machine.speeds(core, |thread| thread < workers));
            (core.node, options.collect())
        })
        .collect();
    let mut step = 1;
    loop {
        let mut classes = BTreeMap::<(u32, Vec<Vec<u32>>), Vec<usize>>::new();
        for (core, (node, options)) in exact.iter().enumerate() {
            let coarse = |speed: &u32| (speed.div_ceil(step) * step).max(1);
            let options = options.iter().map(|speeds| speeds.iter().map(coarse).collect()).collect();
            classes.entry((*node, options)).or_default().push(core);
        }
        if classes.len() <= MOST || step > 1000 {
            let class = |((node, options), cores)| Class { node, cores, options };
            return classes.into_iter().map(class).collect();
        }
        step = if step == 1 { 16 } else { step * 2 };
    }
}
