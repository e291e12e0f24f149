//! Waits of workers for tasks of another runtime, which a watchdog reports.

use core::fmt;

/// A worker that waits for a task of another runtime.
///
/// Runtimes on [`Threads`](super::Threads) are numbered in the order in which their platforms were
/// made, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeWait {
    /// The number of the runtime that waits.
    pub waiting: u64,
    /// The number of the runtime that it waits for.
    pub waits_for: u64,
    /// True if a worker of that runtime waits in turn, directly or by way of others, for the
    /// runtime that waits. If each has one worker only, none of them goes on.
    pub is_circular: bool,
}

impl fmt::Display for RuntimeWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting, waits_for, is_circular } = self;
        write!(f, "runtime {waiting} waits for runtime {waits_for}")?;
        if *is_circular {
            write!(f, ", which waits for runtime {waiting}: a deadlock, unless other workers are free")?;
        }
        Ok(())
    }
}

#[cfg(feature = "std")]
pub(super) mod registry {
    use super::RuntimeWait;
    use crate::sync::global::GlobalMutex;
    use alloc::vec::Vec;

    /// A worker: the number of its runtime, and its index there. Numbers begin at 1.
    pub type WorkerId = (u64, usize);

    /// The workers of this process that wait, and the runtimes that they wait for. Few are in here
    /// at a time, as such a wait keeps a worker from its tasks.
    static WAITS: GlobalMutex<Vec<(WorkerId, u64)>> = GlobalMutex::new(Vec::new());

    /// Keeps the wait of a worker on record until it is dropped.
    pub struct RecordedWait(WorkerId, u64);

    impl RecordedWait {
        pub fn new(worker: WorkerId, waits_for: u64) -> Self {
            WAITS.with(|waits| waits.push((worker, waits_for)));
            Self(worker, waits_for)
        }
    }

    impl Drop for RecordedWait {
        fn drop(&mut self) {
            WAITS.with(|waits| {
                if let Some(at) = waits.iter().rposition(|&wait| wait == (self.0, self.1)) {
                    waits.swap_remove(at);
                }
            });
        }
    }

    /// Returns what a worker waits for, if it does.
    pub fn wait_of(worker: WorkerId) -> Option<RuntimeWait> {
        let waits = WAITS.with(|waits| waits.clone());
        let (waiting, waits_for) = (worker.0, waits.iter().find(|wait| wait.0 == worker)?.1);
        Some(RuntimeWait { waiting, waits_for, is_circular: is_reached(&waits, waits_for, waiting) })
    }

    /// Returns true if waits lead from one runtime to another.
    fn is_reached(waits: &[(WorkerId, u64)], from: u64, to: u64) -> bool {
        let (mut known, mut next) = (alloc::vec![from], 0);
        while let Some(&runtime) = known.get(next) {
            let further = waits.iter().filter(|wait| wait.0.0 == runtime).map(|wait| wait.1);
            for other in further {
                if !known.contains(&other) {
                    known.push(other);
                }
            }
            next += 1;
        }
        known[1..].contains(&to)
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::registry::{RecordedWait, wait_of};
    use alloc::string::ToString;

    #[test]
    fn a_wait_that_leads_back_is_circular() {
        // Numbers that no runtime has.
        let [one, two, three] = [1 << 40, (1 << 40) + 1, (1 << 40) + 2];
        assert_eq!(wait_of((one, 0)), None);
        let first = RecordedWait::new((one, 0), two);
        let second = RecordedWait::new((two, 3), three);
        let said = wait_of((one, 0)).expect("it waits");
        assert!(!said.is_circular && said.waits_for == two);
        let third = RecordedWait::new((three, 1), one);
        assert!(wait_of((one, 0)).is_some_and(|wait| wait.is_circular));
        assert!(wait_of((two, 3)).expect("it waits").to_string().contains("a deadlock"));
        assert_eq!(wait_of((two, 0)), None);
        drop((first, second));
        assert_eq!(wait_of((one, 0)), None);
        assert!(wait_of((three, 1)).is_some_and(|wait| !wait.is_circular));
        drop(third);
    }
}
