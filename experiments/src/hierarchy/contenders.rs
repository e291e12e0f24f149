//! Who takes part, here and in STMBench7: this runtime, with each way that it has to keep tasks on sub-trees apart.

use crate::failure::Failure;
use xtasking::Control;

pub(crate) type Entry = crate::lineup::Entry<(), Control>;

/// All contenders. The first always takes part, and ratios are those to it.
pub(crate) static ALL: &[Entry] = &[
    Entry {
        name: "lines",
        about: "tasks stand in line at each granule, and go where it is at home",
        is_parallel: true,
        start: nothing,
        more: Control::Lines,
    },
    Entry {
        name: "coarse",
        about: "one lock for readers and writers; tasks are dealt out, and wait on their worker",
        is_parallel: true,
        start: nothing,
        more: Control::Coarse,
    },
    Entry {
        name: "domlock",
        about: "a lock of one interval of granules for each task (DomLock); dealt out as well",
        is_parallel: true,
        start: nothing,
        more: Control::DomLock,
    },
    Entry {
        name: "numlock",
        about: "a lock of as many intervals as are worth it (NumLock); dealt out as well",
        is_parallel: true,
        start: nothing,
        more: Control::NumLock,
    },
    Entry {
        name: "toggle",
        about: "tasks wait in buckets, which workers host and others may help with (Toggle)",
        is_parallel: true,
        start: nothing,
        more: Control::Toggle,
    },
];

/// Each turn has a runtime and a hierarchy of its own.
fn nothing(_: usize) -> Result<(), Failure> {
    Ok(())
}
