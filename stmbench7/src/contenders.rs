//! Lists the contenders: the locks of hierarchies, and the medium-grained locks of the benchmark.

use std::sync::LazyLock;
use xtasking::claims::{Control, Granularity};
use xtasking_harness::controls::{ALL as COMMON, ControlEntry, Isolation};

/// All contenders. The first always takes part, and ratios are relative to it.
pub(super) static ALL: LazyLock<Vec<ControlEntry>> =
    LazyLock::new(|| {
        let common = COMMON.iter().map(|&ControlEntry { name, about, is_parallel, start, more }| {
            ControlEntry { name, about, is_parallel, start, more }
        });
        let mut all: Vec<ControlEntry> = common.collect();
        let start = all[0].start;
        let medium = |name, about, control| {
            let more = Isolation::Granules(control);
            ControlEntry { name, about, is_parallel: true, start, more }
        };
        all.push(medium(
            "medium",
            "STMBench7's locks: the structure, each level, each kind of part; granted by the runtime too",
            Control::InOrder,
        ));
        all.push(medium(
            "medium-parked",
            "the same locks; tasks are parked, and overtake, as with lines",
            Control::Parked(Granularity::Exact),
        ));
        all
    });
