//! Parsers of `/proc/stat` and of the `stat` files of threads.
//!
//! Times are in clock ticks. The length of a tick does not matter, because only ratios are used.

use std::collections::BTreeMap;

/// No system has run for longer; the sum over all threads of a process cannot overflow.
const TICKS_MAX: u64 = 1 << 46;

/// The time of a CPU since boot, by use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CpuTicks {
    /// Processes at normal priority, the kernel and its interrupts. Guests of a hypervisor are
    /// processes.
    pub(super) common: u64,
    /// Niced processes.
    pub(super) nice: u64,
    /// Time taken by the hypervisor.
    pub(super) steal: u64,
    /// Idle, or waiting for a device. Both in one, because the kernel may move time between the
    /// two.
    pub(super) idle: u64,
}

/// The time of a thread or process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ThreadTicks {
    /// Its start, which distinguishes it from earlier threads with the same number.
    pub(super) started: u64,
    pub(super) user: u64,
    pub(super) system: u64,
    /// True if it is niced.
    pub(super) nice: bool,
    /// The CPU on which it ran last.
    pub(super) cpu: u32,
}

/// Parses `/proc/stat`. Malformed lines are skipped.
pub(super) fn cpus(text: &str) -> BTreeMap<u32, CpuTicks> {
    let cpu = |line: &str| {
        let mut words = line.split_whitespace();
        let number = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        // Guest times, the ninth and tenth, are contained in the first two.
        let words: Vec<_> = words.take(8).map(ticks).collect::<Option<_>>()?;
        let at = |index: usize| words.get(index).copied().unwrap_or(0);
        let [user, nice, system, idle, io, interrupts, soft_interrupts, steal] =
            [0, 1, 2, 3, 4, 5, 6, 7].map(at);
        // Every kernel has the first four.
        (words.len() >= 4).then_some((
            number,
            CpuTicks { common: user + system + interrupts + soft_interrupts, nice, steal, idle: idle + io },
        ))
    };
    text.lines().filter_map(cpu).collect()
}

/// Parses the `stat` file of a thread or process.
pub(super) fn thread(text: &str) -> Option<ThreadTicks> {
    // The name, in parentheses, may contain anything.
    let (_, rest) = text.rsplit_once(')')?;
    // The rest begins with the third field.
    let fields: Vec<_> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    Some(ThreadTicks {
        started: field(22)?.parse().ok()?,
        user: ticks(field(14)?)?,
        system: ticks(field(15)?)?,
        nice: field(19)?.parse::<i64>().ok()? > 0,
        cpu: field(39)?.parse().ok()?,
    })
}

fn ticks(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&ticks| ticks < TICKS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lines_are_parsed() {
        let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 20 30 400 5 6 7 8 90 10\ncpu2 1 2 3 4\n\
                    cpu3 1 2 x 4\ncpu4 1 2 3\nintr 5\n";
        let read = cpus(text);
        assert_eq!(read.len(), 2);
        assert_eq!(read[&0], CpuTicks { common: 143, nice: 20, steal: 8, idle: 405 });
        assert_eq!(read[&2], CpuTicks { common: 4, nice: 2, steal: 0, idle: 4 });
    }

    #[test]
    fn thread_names_may_contain_anything() {
        let rest = "S 1 1 1 0 -1 64 101 0 0 0 12 34 0 0 20 5 1 0 777 3133440 393 184 9 9 9 \
                    0 0 0 0 0 0 0 0 0 17 3 0 0";
        let expected = ThreadTicks { started: 777, user: 12, system: 34, nice: true, cpu: 3 };
        for name in ["cat", "a b", ") R 9 (", "", "(((", ")))"] {
            assert_eq!(thread(&format!("42 ({name}) {rest}\n")), Some(expected), "{name}");
        }
        for wrong in ["", "42 cat S 1", "42 (cat", "42 (cat) S 1 1"] {
            assert_eq!(thread(wrong), None, "{wrong}");
        }
    }
}
