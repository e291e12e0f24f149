//! The latency monitor: how long the slowest events of each second took.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The samples that are kept of each event.
const MOST_SAMPLES: usize = 160;

/// Events that took longer than the setting `latency-monitor-threshold` says, by name.
#[derive(Debug, Default)]
pub struct LatencyMonitor {
    events: Mutex<BTreeMap<&'static str, LatencyEvent>>,
}

/// What is known of an event.
#[derive(Clone, Debug, Default)]
pub struct LatencyEvent {
    /// The longest time of each second in which one was slow, the last one last: the second since
    /// 1970, and ms.
    pub samples: VecDeque<(u64, u64)>,
    /// The longest time of all in ms.
    pub longest: u64,
}

impl LatencyMonitor {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, LatencyEvent>> {
        // Nothing panics inside.
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a sample of an event: how many ms it took. `now` is in ms since 1970.
    pub(crate) fn add(&self, event: &'static str, now: u64, milliseconds: u64) {
        let mut events = self.lock();
        let event = events.entry(event).or_default();
        event.longest = event.longest.max(milliseconds);
        let second = now / 1000;
        match event.samples.back_mut().filter(|(at, _)| *at == second) {
            Some((_, longest)) => *longest = milliseconds.max(*longest),
            None => event.samples.push_back((second, milliseconds)),
        }
        if event.samples.len() > MOST_SAMPLES {
            event.samples.pop_front();
        }
    }

    /// Returns the events.
    pub fn events(&self) -> BTreeMap<&'static str, LatencyEvent> {
        self.lock().clone()
    }

    /// Returns what is known of an event.
    pub fn event(&self, name: &[u8]) -> Option<LatencyEvent> {
        let name = std::str::from_utf8(name).ok()?;
        self.lock().get(name).cloned()
    }

    /// Forgets the events of these names, or all if there are none. Returns how many it knew.
    pub(crate) fn reset(&self, names: &[&[u8]]) -> usize {
        let mut events = self.lock();
        let before = events.len();
        events.retain(|event, _| !names.is_empty() && !names.contains(&event.as_bytes()));
        before - events.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{LatencyMonitor, MOST_SAMPLES};

    #[test]
    fn the_longest_of_each_second_is_kept() {
        let monitor = LatencyMonitor::default();
        for (now, milliseconds) in [(1000, 5), (1999, 9), (1999, 7), (3000, 6)] {
            monitor.add("command", now, milliseconds);
        }
        let event = monitor.event(b"command").unwrap();
        assert_eq!(event.samples, [(1, 9), (3, 6)]);
        assert_eq!(event.longest, 9);
        (0..MOST_SAMPLES as u64).for_each(|second| monitor.add("command", 10_000 + second * 1000, 1));
        assert_eq!(monitor.event(b"command").unwrap().samples.len(), MOST_SAMPLES);
        monitor.add("expire-cycle", 0, 1);
        assert_eq!(monitor.reset(&[b"nothing", b"command"]), 1);
        assert_eq!(monitor.reset(&[]), 1);
    }
}
