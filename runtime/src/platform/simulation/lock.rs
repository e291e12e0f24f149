//! A lock in virtual time.

use alloc::collections::VecDeque;

/// When it is held. Those who run late in virtual time may come before others who run early, as a task runs as a whole; so
/// what is known is not only until when it is held, but also what is free before.
#[derive(Default)]
pub(super) struct Lock {
    /// From when until when, in order.
    held: VecDeque<(u64, u64)>,
}

impl Lock {
    /// Holds it for `span`, from the first moment at or after `from` when it is free for so long. Returns the end of that.
    /// Nobody comes any more for a moment before `past`.
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
    fn who_comes_while_it_is_held_waits() {
        let mut lock = Lock::default();
        assert_eq!(lock.hold(100, 10, 0), 110);
        assert_eq!(lock.hold(100, 10, 0), 120);
        assert_eq!(lock.hold(115, 10, 0), 130);
        assert_eq!(lock.hold(130, 10, 0), 140);
    }

    #[test]
    fn who_is_told_of_late_but_comes_early_takes_what_is_free() {
        let mut lock = Lock::default();
        assert_eq!(lock.hold(100, 10, 0), 110);
        assert_eq!(lock.hold(80, 10, 0), 90);
        // There is room between these two for one of them.
        assert_eq!(lock.hold(85, 10, 0), 100);
        assert_eq!(lock.hold(85, 10, 0), 120);
        assert_eq!(lock.hold(0, 90, 0), 210);
        assert_eq!(lock.hold(0, 80, 0), 80);
    }

    #[test]
    fn what_is_past_is_forgotten() {
        let mut lock = Lock::default();
        (0..1000).for_each(|moment| assert_eq!(lock.hold(moment * 10, 10, moment * 10), moment * 10 + 10));
        assert_eq!(lock.held.len(), 1);
        assert_eq!(lock.hold(u64::MAX, 1, 0), u64::MAX);
    }
}
