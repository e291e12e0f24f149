//! Lists the contenders: the locks of hierarchies, and the medium-grained locks of the benchmark.

use std::sync::LazyLock;
use xtasking::claims::Control;
use xtasking_harness::controls::{ALL as COMMON, ControlEntry};

/// All contenders. The first always takes part, and ratios are relative to it.
pub(super) static ALL: LazyLock<Vec<ControlEntry>> = LazyLock::new(|| {
    let common = COMMON.iter().map(|&ControlEntry { name, about, is_parallel, start, more }| ControlEntry {
        name,
        about,
        is_parallel,
        start,
        more,
    });
    let mut all: Vec<ControlEntry> = common.collect();
    let medium = ControlEntry {
        name: "medium",
        about: "STMBench7's locks: the structure, each level, each kind of part; granted by the runtime too",
        is_parallel: true,
        start: all[0].start,
        more: Control::InOrder,
    };
    all.push(medium);
    all
});
