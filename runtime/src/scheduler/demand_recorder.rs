//! What a worker records of its tasks on demand: while a session lasts.

use crate::monitor::{Arrival, Description, EndedRun, HeldGranules, Observer, Record, RecordedRun};
use crate::task::Meta;

/// The part of a worker's recorder for what is recorded on demand.
#[derive(Default)]
pub(super) struct DemandRecorder {
    /// The number of the session; 0 if there is none.
    session: u32,
    /// Runs so far.
    runs: u64,
    /// The current run.
    run: Option<NotedRun>,
}

/// A run that has not ended. Times are in ticks.
pub(super) struct NotedRun {
    session: u32,
    id: u64,
    description: Description,
    waiting: Option<u64>,
    /// How long the task waited at latches so far.
    latch_time: u64,
    /// Whether it did.
    has_waited: bool,
    /// Since when it waits at a latch, or 0.
    latch_since: u64,
    has_panicked: bool,
    /// Whether the task only found that it has to wait on.
    is_attempt: bool,
}

impl DemandRecorder {
    pub fn session(&self) -> u32 {
        self.session
    }

    /// Learns in which session the worker records.
    pub fn set_session(&mut self, session: u32, record: &Record) {
        if session != self.session {
            self.session = session;
            self.run = None;
            // A run of the session before that is suspended does not end in this one.
            record.details.lock().running.clear();
        }
    }

    /// Begins the run of a task.
    pub fn begin(
        &mut self,
        observer: &Observer,
        record: &Record,
        description: Description,
        arrival: Arrival,
        begin: u64,
        meta: Meta,
    ) {
        if let Some(demand) = observer.demand.as_ref().filter(|_| arrival.was_queued)
            && !planted!("queue-length-kept")
        {
            description.objects.iter().flatten().for_each(|object| demand.lengths.remove(object.address));
        }
        self.runs += 1;
        let run = RecordedRun { id: self.runs, description, begin, is_blocked: false, granules: None };
        let waited = begin.saturating_sub(arrival.queued);
        record.details.lock().begin(run, waited, meta.has_grant_token());
        self.run = Some(NotedRun {
            session: self.session,
            id: self.runs,
            description,
            waiting: arrival.is_first.then(|| begin.saturating_sub(arrival.spawned)),
            latch_time: 0,
            has_waited: false,
            latch_since: 0,
            has_panicked: false,
            is_attempt: false,
        });
    }

    /// Ends the current run, if one has begun in this session.
    pub fn end(&mut self, record: &Record, time: u64, has_finished: bool) {
        let Some(run) = self.run.take() else { return };
        record.details.lock().end(&EndedRun {
            id: run.id,
            description: run.description,
            time,
            waiting: run.waiting,
            latch_time: run.latch_time,
            waits: run.has_waited,
            is_attempt: run.is_attempt,
            has_finished,
            has_panicked: run.has_panicked,
        });
    }

    /// Records that the current task has panicked.
    pub fn note_panic(&mut self) {
        if let Some(run) = &mut self.run {
            run.has_panicked = true;
        }
    }

    /// Records that the current task begins to wait at a latch, unless it does already.
    pub fn begin_latch_wait(&mut self, now: u64) {
        if let Some(run) = self.run.as_mut().filter(|run| run.latch_since == 0) {
            run.latch_since = now;
        }
    }

    /// Records that the current task waits at no latch any more.
    pub fn end_latch_wait(&mut self, now: u64) {
        if let Some(run) = self.run.as_mut().filter(|run| run.latch_since != 0) {
            run.latch_time += now.saturating_sub(run.latch_since);
            (run.latch_since, run.has_waited) = (0, true);
        }
    }

    /// Records that the current task, which has just begun, has to wait on: it counts neither as a
    /// run nor as an access.
    pub fn note_attempt(&mut self, record: &Record) {
        if let Some(run) = self.run.as_mut().filter(|_| !planted!("attempt-counted")) {
            run.is_attempt = true;
            record.details.lock().take_back(&run.description);
        }
    }

    /// Records which granules the current task holds.
    #[cold]
    #[inline(never)]
    pub fn hold(&self, record: &Record, granules: HeldGranules) {
        self.update(record, |run| run.granules = Some(granules));
    }

    /// Records whether the current task blocks in place.
    pub fn set_blocked(&self, record: &Record, is_blocked: bool) {
        self.update(record, |run| run.is_blocked = is_blocked);
    }

    fn update(&self, record: &Record, update: impl FnOnce(&mut RecordedRun)) {
        if let Some(run) = &self.run
            && let Some(run) = record.details.lock().run_mut(run.id)
        {
            update(run);
        }
    }

    /// Suspends the current run.
    pub fn suspend(&mut self) -> Option<NotedRun> {
        self.run.take()
    }

    /// Resumes a suspended run.
    pub fn resume(&mut self, run: Option<NotedRun>) {
        // One of an earlier session is forgotten.
        self.run = run.filter(|run| run.session == self.session);
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use crate::Runtime;
    use crate::metrics::Inspection;
    use crate::platform::Simulation;
    use alloc::vec::Vec;

    /// In a simulation tasks run only while a thread waits, so that all of these are queued.
    #[test]
    fn queued_tasks_are_counted_until_they_run() {
        let builder = Runtime::builder().platform(Simulation::new(2, 1)).inspection(true);
        let rt = builder.build().unwrap();
        let inspector = rt.inspector().unwrap();
        let object = rt.plain(0).name("object").build();
        let add = || rt.task(object.write()).submit(|count, _| *count += 1);
        // Queued before the session: they do not count.
        let before: Vec<_> = (0..5).map(|_| add()).collect();
        let _recording = inspector.record();
        add().join().unwrap();
        before.into_iter().for_each(|task| task.join().unwrap());
        let queued: Vec<_> = (0..40).map(|_| add()).collect();
        let seen = |inspection: &Inspection| {
            let object = &inspection.objects[0];
            assert_eq!(object.object.name.as_deref(), Some("object"));
            (object.queued, object.accesses)
        };
        let inspection = inspector.snapshot().unwrap();
        assert_eq!(seen(&inspection), (40, 6));
        queued.into_iter().for_each(|task| task.join().unwrap());
        let inspection = inspector.snapshot().unwrap();
        assert_eq!(seen(&inspection), (0, 46));
        assert_eq!(inspection.kinds[0].waiting.count(), 41);
    }
}
