//! A worker's time at work and asleep, while it is recorded.
//!
//! In a runtime that is recorded on demand this time is on a clock that stands still between
//! sessions. So what a worker was about when a session ended counts until then, although the worker
//! learns of the end only later.

use crate::monitor::{Observer, Record};
use crate::sync::{Padded, Relaxed};
use alloc::sync::Arc;

/// Counts a worker's time at work and asleep. All moments are in ticks of the observer's clock.
pub(super) struct BusyClock {
    observer: Arc<Observer>,
    record: Arc<Padded<Record>>,
    /// The session that the worker knows.
    session: u32,
    /// How long nothing was recorded before this session; 0 if tasks are always recorded.
    unrecorded: u64,
}

impl BusyClock {
    pub fn new(observer: &Arc<Observer>, record: &Arc<Padded<Record>>) -> Self {
        Self { observer: observer.clone(), record: record.clone(), session: 0, unrecorded: 0 }
    }

    /// Learns in which session the worker records; 0 is none.
    pub fn set_session(&mut self, session: u32) {
        self.session = session;
        if let Some(demand) = self.observer.demand.as_ref().filter(|_| !self.observer.asked.is_constant()) {
            self.unrecorded = demand.sessions.unrecorded();
        }
    }

    /// Returns a moment of this session on the clock of recorded time, as a record has it.
    fn started(&self, now: u64) -> u64 {
        now.saturating_sub(self.unrecorded) + 1
    }

    /// Returns how much was recorded until now. The session may be over.
    fn recorded(&self, now: u64) -> u64 {
        match &self.observer.demand {
            Some(demand)
                if !self.observer.asked.is_constant()
                    && demand.sessions.current() != self.session
                    && !planted!("busy-after-session") =>
            {
                demand.sessions.time(now).total
            }
            _ => now.saturating_sub(self.unrecorded),
        }
    }

    /// Begins to count time at work.
    pub fn begin_busy(&self, now: u64) {
        self.record.0.busy_since.store(self.started(now), Relaxed);
    }

    /// Counts time at work, if that has begun. Returns true if it had.
    pub fn end_busy(&self, now: u64) -> bool {
        let record = &self.record.0;
        let since = record.busy_since.load(Relaxed);
        if since != 0 {
            record.busy_since.store(0, Relaxed);
            record.busy.add(self.recorded(now).saturating_sub(since - 1));
        }
        since != 0
    }

    /// Begins to count time asleep.
    pub fn begin_sleep(&self, now: u64) {
        self.record.0.asleep_since.store(self.started(now), Relaxed);
    }

    /// Counts time asleep, if that has begun. Returns when it had.
    pub fn end_sleep(&self, now: u64) -> Option<u64> {
        let record = &self.record.0;
        let since = record.asleep_since.load(Relaxed);
        (since != 0).then(|| {
            record.asleep_since.store(0, Relaxed);
            record.asleep.add(self.recorded(now).saturating_sub(since - 1));
            (since - 1 + self.unrecorded).min(now)
        })
    }
}
