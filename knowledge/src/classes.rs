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

/// The program gets no more classes than that, as far as nodes allow it: its time grows fast with them.
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

/// Sorts cores into classes.
pub(crate) fn exact(machine: &Machine) -> Vec<Class> {
    in_steps(machine, &options(machine), 1)
}

/// Sorts cores into few classes, for the program: where there would be too many, speeds are told apart in coarser steps.
pub(crate) fn few(machine: &Machine) -> Vec<Class> {
    let options = options(machine);
    let steps = std::iter::once(1).chain((4..=10).map(|exponent| 1 << exponent));
    let mut classes = Vec::new();
    for step in steps {
        classes = in_steps(machine, &options, step);
        if classes.len() <= MOST {
            break;
        }
    }
    classes
}

/// For each core, how fast the workers are if it has one, two and so on.
fn options(machine: &Machine) -> Vec<Vec<Vec<u32>>> {
    let options = |core| {
        let room = 1..=machine.room(core);
        room.map(|workers| machine.speeds(core, |thread| thread < workers)).collect()
    };
    machine.cores.iter().map(options).collect()
}

fn in_steps(machine: &Machine, options: &[Vec<Vec<u32>>], step: u32) -> Vec<Class> {
    let mut classes = BTreeMap::<(u32, Vec<Vec<u32>>), Vec<usize>>::new();
    for (index, (core, options)) in machine.cores.iter().zip(options).enumerate() {
        let coarse = |speed: &u32| (speed.div_ceil(step) * step).max(1);
        let options = options.iter().map(|speeds| speeds.iter().map(coarse).collect()).collect();
        classes.entry((core.node, options)).or_default().push(index);
    }
    let class = |((node, options), cores)| Class { node, cores, options };
    classes.into_iter().map(class).collect()
}
