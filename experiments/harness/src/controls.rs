//! Contenders of the experiments on hierarchies; they differ in how conflicting claims exclude each
//! other.

use crate::failure::Failure;
use xtasking::claims::{Control, Granularity};

/// A contender that consists of a claim control alone: each turn starts a runtime of its own.
pub type ControlEntry = crate::lineup::Entry<(), Control>;

/// All contenders. The first always runs, and the table gives the others' ratios to it.
pub static ALL: &[ControlEntry] = &[
    ControlEntry {
        name: "lines",
        about: "XTasking's FIFO queue per granule; a task runs at the home of its granules",
        is_parallel: true,
        start: nothing,
        more: Control::Fifo,
    },
    ControlEntry {
        name: "coarse",
        about: "one reader/writer lock for the hierarchy; tasks are dealt out, and block their worker",
        is_parallel: true,
        start: nothing,
        more: Control::Coarse,
    },
    ControlEntry {
        name: "domlock",
        about: "DomLock: each task locks one interval of granules; tasks are dealt out",
        is_parallel: true,
        start: nothing,
        more: Control::DomLock,
    },
    ControlEntry {
        name: "numlock",
        about: "NumLock: each task locks as many intervals as pay off; tasks are dealt out",
        is_parallel: true,
        start: nothing,
        more: Control::NumLock,
    },
    ControlEntry {
        name: "toggle",
        about: "Toggle: tasks wait in buckets; each has a host worker, which idle workers help",
        is_parallel: true,
        start: nothing,
        more: Control::Toggle,
    },
    ControlEntry {
        name: "toggle-numlock",
        about: "Toggle whose hosts lock NumLock's intervals in the place of whole buckets",
        is_parallel: true,
        start: nothing,
        more: Control::ToggleOn(Granularity::Cheapest),
    },
    ControlEntry {
        name: "coarse-parked",
        about: "one lock; tasks are parked, and overtake, as with lines",
        is_parallel: true,
        start: nothing,
        more: Control::Parked(Granularity::All),
    },
    ControlEntry {
        name: "domlock-parked",
        about: "DomLock's intervals; tasks are parked, and overtake, as with lines",
        is_parallel: true,
        start: nothing,
        more: Control::Parked(Granularity::Hull),
    },
    ControlEntry {
        name: "numlock-parked",
        about: "NumLock's intervals; tasks are parked, and overtake, as with lines",
        is_parallel: true,
        start: nothing,
        more: Control::Parked(Granularity::Cheapest),
    },
];

/// Starts nothing: each turn has a runtime and a hierarchy of its own.
fn nothing(_: usize) -> Result<(), Failure> {
    Ok(())
}
