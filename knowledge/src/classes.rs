//! Cores of a node that are alike, counted: an integer program over single CPUs would try them in every order.

use crate::machine::{Machine, Workers};

/// Cores that are alike.
pub(crate) struct Class {
    /// The node that they are in.
    pub node: u32,
    /// Which cores of the machine.
    pub cores: Vec<usize>,
    /// What workers do if a core has one, two and so on.
    pub options: Vec<Workers>,
}

/// The program gets no more classes than that, as far as nodes allow it: its time grows fast with them.
const MOST: usize = 12;

impl Class {
    /// How much workers do together, if a core has so many.
    pub fn sum(&self, workers: usize) -> u32 {
        self.options[workers - 1].sum
    }

    /// How much the slowest of them does.
    pub fn slowest(&self, workers: usize) -> u32 {
        self.options[workers - 1].slowest
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

/// For each core, what its workers do if there is one, two and so on.
fn options(machine: &Machine) -> Vec<Vec<Workers>> {
    let options = |core| (1..=machine.room(core)).map(|workers| machine.workers(core, workers)).collect();
    machine.cores.iter().map(options).collect()
}

fn in_steps(machine: &Machine, options: &[Vec<Workers>], step: u32) -> Vec<Class> {
    let coarse = |speed: u32| (speed.div_ceil(step) * step).max(1);
    let coarse = |of: &Workers| Workers { sum: coarse(of.sum), slowest: coarse(of.slowest) };
    let coarse = |options: &Vec<Workers>| -> Vec<Workers> { options.iter().map(coarse).collect() };
    let mut cores: Vec<_> =
        machine.cores.iter().map(|core| core.node).zip(options.iter().map(coarse)).zip(0..).collect();
    cores.sort_unstable();
    let class = |alike: &[((u32, Vec<Workers>), usize)]| Class {
        node: alike[0].0.0,
        cores: alike.iter().map(|core| core.1).collect(),
        options: alike[0].0.1.clone(),
    };
    cores.chunk_by(|one, other| one.0 == other.0).map(class).collect()
}
