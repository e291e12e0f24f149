//! How a snapshot of a runtime is put together, and how its recording begins and ends.

use super::RuntimeState;
use crate::monitor::{Activity, EpochLag, Inspection, WorkerInspection};
use crate::sync::{Relaxed, SeqCst};
use core::time::Duration;

/// Bits of `RuntimeState::signals`.
pub(crate) mod signals {
    /// Tasks that have not started are cancelled.
    pub const CANCELLING: u32 = 1;
    /// Tasks are recorded.
    pub const RECORDING: u32 = 2;
}

impl RuntimeState {
    /// Begins a recording; each worker notices it between two tasks.
    pub(super) fn begin_recording(&self) {
        let Some(observer) = &self.observer else { return };
        let Some(sessions) = &observer.sessions else { return };
        sessions.begin(observer.clock.now(), || _ = self.signals.fetch_or(signals::RECORDING, SeqCst));
        // Sleeping workers note since when they sleep.
        self.wake_all();
    }

    /// Ends a recording.
    pub(super) fn end_recording(&self) {
        let Some(observer) = &self.observer else { return };
        let Some(sessions) = &observer.sessions else { return };
        sessions.end(observer.clock.now(), || _ = self.signals.fetch_and(!signals::RECORDING, SeqCst));
    }

    /// Returns what the runtime looks like now, if it is inspected.
    pub(super) fn inspection(&self) -> Option<Inspection> {
        let observer = self.observer.as_ref()?;
        let now = observer.clock.now();
        let recorded = observer.sessions.as_ref()?.time(now);
        let scale = observer.clock.scale();
        let time = |ticks: u64| Duration::from_nanos((ticks as f64 * scale) as u64);
        let counters = self.snapshot();
        let finished = self.ledgers().map(|ledger| ledger.finished()).sum();
        Some(Inspection {
            elapsed: time(now.saturating_sub(observer.clock.began())),
            size: self.worker_set.wanted(),
            spawned: finished + self.epochs.unfinished(self.ledgers()),
            finished,
            memory: counters.allocations,
            counters: self.counting.then_some(counters),
            is_recording: recorded.is_active,
            recorded: time(recorded.total),
            session: time(recorded.session),
            workers: (0..self.slots.len()).map(|queue| self.inspect_worker(queue, scale)).collect(),
            epochs: self.inspect_epochs(),
            ..Inspection::default()
        })
    }

    fn inspect_worker(&self, queue: usize, scale: f64) -> WorkerInspection {
        let slot = &self.slots[queue];
        let counters = &slot.counters.0;
        let worker = WorkerInspection {
            worker: queue,
            owner: self.owner(queue),
            activity: self.activity(queue),
            queue: slot.load.load(Relaxed),
            inbox: slot.inbox.len() as u64,
            unbound: slot.unbound.len() as u64,
            steals: counters.steals.get(),
            sleeps: counters.sleeps.get(),
            ..WorkerInspection::default()
        };
        match &self.observer {
            Some(observer) => observer.inspect_worker(queue, scale, worker),
            None => worker,
        }
    }

    fn activity(&self, queue: usize) -> Activity {
        let slot = &self.slots[queue];
        if !slot.parked.is_empty() {
            let is_blocked = self.worker_set.relay(self.owner(queue)).has_blocked();
            return if is_blocked { Activity::Blocked } else { Activity::Parked };
        }
        match (slot.asleep.0.load(Relaxed), slot.idle.load(Relaxed)) {
            (true, _) => Activity::Asleep,
            (false, true) => Activity::Searching,
            (false, false) => Activity::Running,
        }
    }

    fn inspect_epochs(&self) -> EpochLag {
        let (retired, reclaimed) = self.slots.iter().fold((0, 0), |(retired, reclaimed), slot| {
            let counters = &slot.counters.0;
            (retired + counters.retired.get(), reclaimed + counters.reclaimed.get())
        });
        let (oldest, newest) = self.epochs.span();
        EpochLag { newest, oldest, retired: retired.saturating_sub(reclaimed) }
    }
}
