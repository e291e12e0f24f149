//! Who takes part: those of hierarchies, and the medium-grained locks of the benchmark.

use crate::hierarchy::contenders::{ALL as COMMON, Entry};
use std::sync::LazyLock;
use xtasking::Control;

/// All contenders. The first always takes part, and ratios are those to it.
pub(super) static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let common = COMMON.iter().map(|&Entry { name, about, is_parallel, start, more }| Entry {
        name,
        about,
        is_parallel,
        start,
        more,
    });
    let mut all: Vec<Entry> = common.collect();
    let medium = Entry {
        name: "medium",
        about: "a lock for the structure, each level and each kind of part, as STMBench7 has it; dealt out as well",
        is_parallel: true,
        start: all[0].start,
        more: Control::InOrder,
    };
    all.push(medium);
    all
});
