//! Reading how long CPUs and threads have been at what.
//!
//! Times are in ticks of the system's clock. How long a tick is does not matter, since only ratios are used.

use std::collections::BTreeMap;

/// No system has run for so many ticks, and the sum over all threads of a process does not overflow.
const MOST_TICKS: u64 = 1 << 46;

/// What a CPU has spent its time on since the system started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CpuTicks {
    /// Processes at common priority, the system itself and its interrupts. Virtual machines are processes.
    pub(super) common: u64,
    /// Processes that give way.
    pub(super) nice: u64,
    /// The machine below.
    pub(super) steal: u64,
    /// Nothing, for lack of work or for waiting for a device. Together, since the system may change its mind about which
    /// of the two it was.
    pub(super) idle: u64,
}

/// What a thread, or a process, has spent its time on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ThreadTicks {
    /// When it started, by which it is told from others that had its number.
    pub(super) started: u64,
    pub(super) user: u64,
    pub(super) system: u64,
    /// Whether it gives way.
    pub(super) nice: bool,
    /// The CPU that it last ran on.
    pub(super) cpu: u32,
}

/// Reads `/proc/stat`. A CPU whose line makes no sense is left out.
pub(super) fn cpus(text: &str) -> BTreeMap<u32, CpuTicks> {
    let cpu = |line: &str| {
        let mut words = line.split_whitespace();
        let number = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        // Guests, which come ninth and tenth, are contained in the first two.
        let words: Vec<_> = words.take(8).map(ticks).collect::<Option<_>>()?;
        let at = |index: usize| words.get(index).copied().unwrap_or(0);
        let [user, nice, system, idle, io, interrupts, soft_interrupts, steal] =
            [0, 1, 2, 3, 4, 5, 6, 7].map(at);
        // Old systems tell less, but never less than these.
        (words.len() >= 4).then_some((
            number,
            CpuTicks { common: user + system + interrupts + soft_interrupts, nice, steal, idle: idle + io },
        ))
    };
    text.lines().filter_map(cpu).collect()
}

/// Reads the `stat` file of a thread or process.
pub(super) fn thread(text: &str) -> Option<ThreadTicks> {
    // The name, in parentheses, is whatever the program likes.
    let (_, rest) = text.rsplit_once(')')?;
    // The first of them is the third field.
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
    text.parse().ok().filter(|&ticks| ticks < MOST_TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cpus() {
        let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 20 30 400 5 6 7 8 90 10\ncpu2 1 2 3 4\ncpu3 1 2 x 4\ncpu4 1 2 3\nintr 5\n";
        let read = cpus(text);
        assert_eq!(read.len(), 2);
        assert_eq!(read[&0], CpuTicks { common: 143, nice: 20, steal: 8, idle: 405 });
        assert_eq!(read[&2], CpuTicks { common: 4, nice: 2, steal: 0, idle: 4 });
    }

    #[test]
    fn names_of_threads_are_no_fields() {
        let rest = "S 1 1 1 0 -1 64 101 0 0 0 12 34 0 0 20 5 1 0 777 3133440 393 184 9 9 9 0 0 0 0 0 0 0 0 0 17 3 0 0";
        let expected = ThreadTicks { started: 777, user: 12, system: 34, nice: true, cpu: 3 };
        for name in ["cat", "a b", ") R 9 (", "", "(((", ")))"] {
            assert_eq!(thread(&format!("42 ({name}) {rest}\n")), Some(expected), "{name}");
        }
        for wrong in ["", "42 cat S 1", "42 (cat", "42 (cat) S 1 1"] {
            assert_eq!(thread(wrong), None, "{wrong}");
        }
    }
}
