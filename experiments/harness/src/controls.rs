//! Contenders of the experiments on hierarchies; they differ in how tasks on sub-trees exclude each
//! other.

use crate::failure::Failure;
use xtasking::claims::{Control, Granularity};

/// How tasks on sub-trees exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// By claims of granules, under this control, in the crate `xtasking-hierarchy`.
    Granules(Control),
    /// By claims of nodes of the runtime's trees.
    Trees,
}

/// A contender that consists of an isolation alone: each turn starts a runtime of its own.
pub type ControlEntry = crate::lineup::Entry<(), Isolation>;

/// All contenders. The first always runs, and the table gives the others' ratios to it.
pub static ALL: &[ControlEntry] = &[
    ControlEntry {
        name: "lines",
        about: "XTasking's FIFO queue per granule; a task runs at the home of its granules",
        is_parallel: true,
        start: nothing,
        more: Isolation::Granules(Control::Fifo),
    },
    ControlEntry {
        name: "trees",
        about: "XTasking's trees: claims are counted at large sub-trees, and exact below",
        is_parallel: true,
        start: nothing,
        more: Isolation::Trees,
    },
    ControlEntry {
        name: "coarse",
        about: "one reader/writer lock for the hierarchy; tasks are dealt out, and block their worker",
        is_parallel: true,
        start: nothing,
        more: Isolation::Granules(Control::Coarse),
    },
    ControlEntry {
        name: "domlock",
        about: "DomLock: each task locks one interval of granules; tasks are dealt out",
        is_parallel: true,
        start: nothing,
        more: Isolation::Granules(Control::DomLock),
    },
    ControlEntry {
        name: "numlock",
        about: "NumLock: each task locks as many intervals as pay off; tasks are dealt out",
        is_parallel: true,
        start: nothing,
        more: Isolation::Granules(Control::NumLock),
    },
    ControlEntry {
        name: "toggle",
        about: "Toggle: tasks wait in buckets; each has a host worker, which idle workers help",
        is_parallel: true,
        start: nothing,
        more: Isolation::Granules(Control::Toggle),
    },
    ControlEntry {
        name: "toggle-numlock",
        about: "Toggle whose hosts lock NumLock's intervals in the place of whole buckets",
        is_parallel: true,
        start: nothing,
        more: Isolation::Granules(Control::ToggleOn(Granularity::Cheapest)),
    },
    ControlEntry {
        name: "coarse-parked",
        about: "one lock; tasks are parked, and overtake, as with lines",
        is_parallel: true,
        start: nothing,
        more: Isolation::Granules(Control::Parked(Granularity::All)),
    },
    ControlEntry {
        name: "domlock-parked",
        about: "DomLock's intervals; tasks are parked, and overtake, as with lines",
        is_parallel: true,
        start: nothing,
        more: Isolation::Granules(Control::Parked(Granularity::Hull)),
    },
    ControlEntry {
        name: "numlock-parked",
        about: "NumLock's intervals; tasks are parked, and overtake, as with lines",
        is_parallel: true,
        start: nothing,
        more: Isolation::Granules(Control::Parked(Granularity::Cheapest)),
    },
];

/// Starts nothing: each turn has a runtime and a hierarchy of its own.
fn nothing(_: usize) -> Result<(), Failure> {
    Ok(())
}
