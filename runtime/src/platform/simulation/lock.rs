//! A lock in virtual time.

use alloc::collections::VecDeque;

/// The intervals in which the lock is held. A task runs as a whole, so a core that is late in
/// virtual time may lock it before one that is early: the gaps between the intervals are needed,
/// and not only the last end.
#[derive(Default)]
pub(super) struct VirtualLock {
    /// Start and end of each interval, in order.
    held: VecDeque<(u64, u64)>,
}

impl VirtualLock {
    /// Holds the lock for `span`, from the first moment at or after `from` at which it is free for
    /// that long. Returns the end. `past` promises that no later call has a `from` before it.
    pub fn hold(&mut self, from: u64, span: u64, past: u64) -> u64 {
        while self.held.front().is_some_and(|&(_, until)| until <= past) {
            self.held.pop_front();
        }
        let (mut start, mut place) = (from, 0);
        for &(since, until) in &self.held {
            if start.saturating_add(span) <= since {
                break;
            }
            start = start.max(until);
            place += 1;
        }
        let end = start.saturating_add(span);
        self.held.insert(place, (start, end));
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_delays_the_next_holder() {
        let mut lock = VirtualLock::default();
        assert_eq!(lock.hold(100, 10, 0), 110);
        assert_eq!(lock.hold(100, 10, 0), 120);
        assert_eq!(lock.hold(115, 10, 0), 130);
        assert_eq!(lock.hold(130, 10, 0), 140);
    }

    #[test]
    fn a_late_call_for_an_early_time_uses_a_free_gap() {
        let mut lock = VirtualLock::default();
        assert_eq!(lock.hold(100, 10, 0), 110);
        assert_eq!(lock.hold(80, 10, 0), 90);
        // The gap between these two has room for one of the next two.
        assert_eq!(lock.hold(85, 10, 0), 100);
        assert_eq!(lock.hold(85, 10, 0), 120);
        assert_eq!(lock.hold(0, 90, 0), 210);
        assert_eq!(lock.hold(0, 80, 0), 80);
    }

    #[test]
    fn past_intervals_are_forgotten() {
        let mut lock = VirtualLock::default();
        (0..1000).for_each(|moment| assert_eq!(lock.hold(moment * 10, 10, moment * 10), moment * 10 + 10));
        assert_eq!(lock.held.len(), 1);
        assert_eq!(lock.hold(u64::MAX, 1, 0), u64::MAX);
    }
}
