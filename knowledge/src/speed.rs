//! How fast a worker is on a CPU: what strangers leave it, and what the other threads of its core do.
//!
//! In thousandths of an undisturbed CPU of the strongest kind, alone on its core: whole numbers, so that CPUs that are
//! alike are seen to be so.
//!
//! **Strangers.** A worker always wants to run. If strangers take *s* of a CPU without it, it gets what they leave, 1 − *s*,
//! and at least an even share beside them, as the system divides time evenly among those who want it: max(1 − *s*,
//! 1/(1 + *k*)) beside *k* strangers. How many they are is not told, so *k* = 1: one hog leaves a half. Where this process
//! already runs and nothing is idle, the strangers' share has been measured in competition: then 1 − *s* is what it gets,
//! as two hogs take two thirds. Workers that our own runtimes have registered count as strangers that want all, each.
//! Loads are told apart in steps of 1/32: they are not known better.
//!
//! **Threads of a core.** Two that are busy do together 1.25 times what one does if computing bounds them, and no more
//! than one if memory does; further ones add nothing.

use crate::facts::CpuLoad;

/// All of an undisturbed CPU.
pub(crate) const WHOLE: u32 = 1000;
/// Steps in which loads are told apart.
const STEPS: u32 = 32;
/// What a second busy thread adds to its core, in thousandths, where computing bounds the work.
pub(crate) const SECOND_THREAD: u32 = 250;
/// Who gets that much of a CPU wants to run there.
const RUNS: f64 = 0.1;
/// A CPU that is idle for no more than that is taken for busy all the time.
const IDLE: f64 = 0.1;

/// What strangers take of a CPU, in steps, and whether that was seen while this process competed with them.
pub(crate) fn strangers(load: Option<&CpuLoad>) -> (u32, bool) {
    let Some(load) = load else { return (0, false) };
    let taken = load.strangers();
    // Those who give way leave their time to a worker as well.
    let left = 1.0 - taken - load.own.clamp(0.0, 1.0);
    let steps = (taken * f64::from(STEPS)).round() as u32;
    (steps, load.own >= RUNS && left <= IDLE && steps > 0)
}

/// What one more worker gets of a CPU.
pub(crate) fn share(steps: u32, competing: bool, workers: u32) -> u32 {
    let left = WHOLE * (STEPS - steps) / STEPS;
    if competing && workers == 0 {
        return left.max(1);
    }
    let rivals = u32::from(steps > 0);
    (left / (1 + workers)).max(WHOLE / (1 + rivals + workers)).max(1)
}

/// How much of the time a CPU is busy without us.
pub(crate) fn busy(steps: u32, workers: u32) -> u32 {
    if workers > 0 { WHOLE } else { WHOLE * steps / STEPS }
}

/// What each busy thread of a core gets of it: `second` is what a second one adds.
pub(crate) fn beside(busy: u32, second: u32) -> u32 {
    let more = busy.saturating_sub(WHOLE).min(WHOLE);
    (WHOLE + second * more / WHOLE) * WHOLE / busy.max(WHOLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(own: f64, others: f64) -> CpuLoad {
        CpuLoad { own, others, ..CpuLoad::default() }
    }

    fn left(own: f64, others: f64) -> u32 {
        let (steps, competing) = strangers(Some(&load(own, others)));
        share(steps, competing, 0)
    }

    #[test]
    fn strangers_leave_the_rest_or_an_even_share() {
        assert_eq!(share(0, false, 0), WHOLE);
        assert_eq!(left(0.0, 0.25), 750);
        assert_eq!(left(0.0, 1.0), 500);
        // The same hog, seen while we run.
        assert_eq!(left(0.5, 0.5), 500);
        // Two of them.
        assert!(left(0.333, 0.667).abs_diff(333) < WHOLE / STEPS);
        // What we take is not taken from us, and who gives way leaves all.
        assert_eq!(left(1.0, 0.0), WHOLE);
        assert_eq!(strangers(Some(&CpuLoad { nice: 1.0, ..CpuLoad::default() })), (0, false));
        assert_eq!(strangers(None), (0, false));
    }

    #[test]
    fn own_workers_share_evenly() {
        assert_eq!(share(0, false, 1), 500);
        assert_eq!(share(0, false, 3), 250);
        assert_eq!(share(32, false, 1), 333);
    }

    #[test]
    fn threads_of_a_core() {
        assert_eq!(beside(WHOLE, SECOND_THREAD), WHOLE);
        assert_eq!(beside(2 * WHOLE, SECOND_THREAD), 625);
        assert_eq!(beside(2 * WHOLE, 0), 500);
        assert_eq!(beside(4 * WHOLE, SECOND_THREAD), 312);
        assert!(beside(1500, SECOND_THREAD) > 625);
    }
}
