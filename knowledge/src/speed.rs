//! The speed of a worker on a CPU: what other processes leave, and what the core's other threads
//! take.
//!
//! Speeds are integers in thousandths of an undisturbed CPU of the fastest kind, alone on its core,
//! so that equal CPUs compare equal.
//!
//! **Other processes.** A worker is always runnable. If others take a share *s* of a CPU without
//! it, the worker gets what they leave, 1 − *s*, and at least a fair share, because the scheduler
//! divides time evenly: max(1 − *s*, 1/(1 + *k*)) beside *k* competitors. Their number is unknown,
//! so *k* = 1: one competitor that is always runnable leaves a half.
//!
//! Where this process already runs and nothing is idle, *s* has been measured in competition. The
//! worker then gets the rest: beside two competitors, a third. Each worker of a registered runtime
//! counts as an always runnable competitor. Loads are rounded to steps of 1/32, which is about
//! their precision.
//!
//! **Threads of a core.** Two busy threads together do 1.25 times the work of one if computing is
//! the bottleneck. They do no more than one if memory is. Further threads add nothing.

use crate::facts::CpuLoad;

/// The speed of an undisturbed CPU.
pub(crate) const FULL_SPEED: u32 = 1000;
/// Loads are rounded to this many steps.
const LOAD_STEPS: u32 = 32;
/// The throughput in thousandths that a second busy thread adds to its core in work bound by
/// computing.
pub(crate) const SMT_GAIN: u32 = 250;
/// A process with at least this share of a CPU counts as running there.
const RUNNING_SHARE_MIN: f64 = 0.1;
/// A CPU that is idle for at most this share counts as always busy.
const IDLE_SHARE_MAX: f64 = 0.1;

/// Returns the load of other processes in steps, and whether it was measured in competition with
/// this process.
pub(crate) fn competing_load(load: Option<&CpuLoad>) -> (u32, bool) {
    let Some(load) = load else { return (0, false) };
    let taken = load.competing();
    // Niced processes yield to a worker, so their time counts as free.
    let left = 1.0 - taken - load.own.clamp(0.0, 1.0);
    let steps = (taken * f64::from(LOAD_STEPS)).round() as u32;
    (steps, load.own >= RUNNING_SHARE_MIN && left <= IDLE_SHARE_MAX && steps > 0)
}

/// Returns the share of a CPU that one more worker gets.
pub(crate) fn worker_share(steps: u32, competing: bool, workers: u32) -> u32 {
    let left = FULL_SPEED * (LOAD_STEPS - steps) / LOAD_STEPS;
    if competing && workers == 0 {
        return left.max(1);
    }
    let rivals = u32::from(steps > 0);
    (left / (1 + workers)).max(FULL_SPEED / (1 + rivals + workers)).max(1)
}

/// Returns the load of a CPU without our workers.
pub(crate) fn busy_share(steps: u32, workers: u32) -> u32 {
    if workers > 0 { FULL_SPEED } else { FULL_SPEED * steps / LOAD_STEPS }
}

/// Returns the share of its core that each busy thread gets. `second` is the gain of a second
/// thread.
pub(crate) fn smt_share(busy: u32, second: u32) -> u32 {
    let more = busy.saturating_sub(FULL_SPEED).min(FULL_SPEED);
    (FULL_SPEED + second * more / FULL_SPEED) * FULL_SPEED / busy.max(FULL_SPEED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(own: f64, others: f64) -> CpuLoad {
        CpuLoad { own, others, ..CpuLoad::default() }
    }

    fn left(own: f64, others: f64) -> u32 {
        let (steps, competing) = competing_load(Some(&load(own, others)));
        worker_share(steps, competing, 0)
    }

    #[test]
    fn competitors_leave_the_rest_or_a_fair_share() {
        assert_eq!(worker_share(0, false, 0), FULL_SPEED);
        assert_eq!(left(0.0, 0.25), 750);
        assert_eq!(left(0.0, 1.0), 500);
        // The same competitor, measured while this process runs.
        assert_eq!(left(0.5, 0.5), 500);
        // Two competitors.
        assert!(left(0.333, 0.667).abs_diff(333) < FULL_SPEED / LOAD_STEPS);
        // Time of this process is not lost, and niced processes yield all of theirs.
        assert_eq!(left(1.0, 0.0), FULL_SPEED);
        assert_eq!(competing_load(Some(&CpuLoad { nice: 1.0, ..CpuLoad::default() })), (0, false));
        assert_eq!(competing_load(None), (0, false));
    }

    #[test]
    fn own_workers_share_evenly() {
        assert_eq!(worker_share(0, false, 1), 500);
        assert_eq!(worker_share(0, false, 3), 250);
        assert_eq!(worker_share(32, false, 1), 333);
    }

    #[test]
    fn busy_threads_share_their_core() {
        assert_eq!(smt_share(FULL_SPEED, SMT_GAIN), FULL_SPEED);
        assert_eq!(smt_share(2 * FULL_SPEED, SMT_GAIN), 625);
        assert_eq!(smt_share(2 * FULL_SPEED, 0), 500);
        assert_eq!(smt_share(4 * FULL_SPEED, SMT_GAIN), 312);
        assert!(smt_share(1500, SMT_GAIN) > 625);
    }
}
