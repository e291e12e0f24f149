//! How a snapshot of a runtime is put together, and how its recording begins and ends.

use super::RuntimeState;
use super::runtime_state::signals;
use crate::monitor::{Activity, EpochLag, Inspection, Snapshot, WorkerInspection};
use crate::sync::{Relaxed, SeqCst};
use alloc::vec::Vec;

impl RuntimeState {
    /// Begins a recording; each worker notices it between two tasks.
    pub(super) fn begin_recording(&self) {
        let Some(observer) = &self.observer else { return };
        let Some(demand) = &observer.demand else { return };
        demand.sessions.begin(observer.clock.now(), |session| {
            demand.stamps.reset();
            demand.lengths.reset();
            observer.records.iter().for_each(|record| record.0.details.lock().begin_session(session));
            // Before a pushing thread sees the session: a worker that gets a task which was pushed
            // in it learns of the session first.
            self.signals.0.fetch_or(signals::of_session(session), SeqCst);
        });
        if !planted!("pushes-unrecorded") {
            self.slots.iter().for_each(|slot| slot.inbox.begin_stamping());
        }
        // Sleeping workers note since when they sleep.
        self.wake_all();
    }

    /// Ends a recording.
    pub(super) fn end_recording(&self) {
        let Some(observer) = &self.observer else { return };
        let Some(demand) = &observer.demand else { return };
        let dropped = demand.sessions.end(observer.clock.now(), || {
            self.signals.0.fetch_and(!signals::SESSION, SeqCst);
            let is_kept = observer.asked.is_constant();
            let records = observer.records.iter().filter(|_| !is_kept);
            records.map(|record| record.0.events.lock().take()).collect::<Vec<_>>()
        });
        // Freed only here, under no lock.
        drop(dropped);
        self.wake_all();
    }

    /// Returns what the runtime looks like now, if it is inspected.
    pub(super) fn inspection(&self) -> Option<Inspection> {
        let observer = self.observer.as_ref()?;
        let counters = self.snapshot();
        let finished = self.ledgers().map(|ledger| ledger.finished()).sum();
        let snapshot = Snapshot::new(observer, &self.names);
        let mut inspection = Inspection {
            size: self.worker_set.wanted(),
            spawned: finished + self.epochs.unfinished(self.ledgers()),
            finished,
            memory: counters.allocations,
            counters: self.counting.then_some(counters),
            workers: (0..self.slots.len()).map(|queue| self.inspect_worker(queue)).collect(),
            claims: self.waiting_claims(observer, &snapshot),
            epochs: self.inspect_epochs(),
            ..Inspection::default()
        };
        snapshot.fill(&mut inspection);
        Some(inspection)
    }

    fn inspect_worker(&self, queue: usize) -> WorkerInspection {
        let slot = &self.slots[queue];
        let counters = &slot.counters.0;
        WorkerInspection {
            worker: queue,
            owner: self.owner(queue),
            activity: self.activity(queue),
            queue: slot.load.load(Relaxed),
            inbox: slot.inbox.len() as u64,
            unbound: slot.unbound.len() as u64,
            steals: counters.steals.get(),
            sleeps: counters.sleeps.get(),
            ..WorkerInspection::default()
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
        let orphans = self.orphans.lock().as_ref().map_or(0, |orphans| orphans.len() as u64);
        let retired = orphans + self.slots.iter().map(|slot| slot.counters.0.garbage()).sum::<u64>();
        let (oldest, newest) = self.epochs.span();
        EpochLag { newest, oldest, retired }
    }
}
