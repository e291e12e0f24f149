//! How the records of all workers become one [`Inspection`].

use super::details::{Details, Kind};
use super::top_objects::TrackedObject;
use super::{Inspection, ObjectLabel, ObjectUse, Observer, RunningInspection, TaskKind, Touched};
use crate::object::ObjectNames;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

/// Reads what an observer has recorded on demand.
pub(crate) struct Snapshot<'o> {
    observer: &'o Observer,
    names: &'o ObjectNames,
    now: u64,
    /// The length of a tick in nanoseconds.
    scale: f64,
}

/// What the workers have recorded of an object, all together. Times are in ticks.
struct MergedObject {
    object: Touched,
    accesses: u64,
    error: u64,
    waits: u64,
    waited: u64,
}

impl<'o> Snapshot<'o> {
    /// Begins to read.
    pub fn new(observer: &'o Observer, names: &'o ObjectNames) -> Self {
        Self { observer, names, now: observer.clock.now(), scale: observer.clock.scale() }
    }

    pub fn duration(&self, ticks: u64) -> Duration {
        Duration::from_nanos((ticks as f64 * self.scale) as u64)
    }

    /// Returns the time since a moment.
    pub fn since(&self, ticks: u64) -> Duration {
        self.duration(self.now.saturating_sub(ticks))
    }

    /// Adds what the workers have recorded.
    pub fn fill(&self, inspection: &mut Inspection) {
        let Some(demand) = &self.observer.demand else { return };
        let time = demand.sessions.time(self.now);
        inspection.elapsed = self.since(self.observer.clock.began());
        inspection.is_recording = time.session_number != 0;
        inspection.recorded = self.duration(time.total);
        inspection.session = self.duration(time.session);
        // See `Record::busy_since`.
        let now = if self.observer.asked.is_constant() { self.now } else { time.total };
        for (worker, record) in inspection.workers.iter_mut().zip(&self.observer.records) {
            let record = &record.0;
            let counted = |counted, since| self.observer.time(counted, since, now, self.scale);
            worker.tasks = record.running.count();
            worker.busy = counted(&record.busy, &record.busy_since);
            worker.asleep = counted(&record.asleep, &record.asleep_since);
            worker.running = self.running(&record.details.lock(), time.session_number);
        }
        inspection.kinds = self.kinds();
        (inspection.objects, inspection.object_error) = self.objects(time.last_number);
    }

    /// Returns what runs on a worker, the oldest first.
    fn running(&self, details: &Details, session: u32) -> Vec<RunningInspection> {
        if session == 0 || !details.is_of(session) {
            return Vec::new();
        }
        let run = details.running.iter().map(|run| RunningInspection {
            task: run.description.task.into(),
            running: self.since(run.begin),
            is_blocked: run.is_blocked,
            objects: run.description.objects.iter().flatten().map(|object| self.label(object)).collect(),
        });
        run.collect()
    }

    /// Returns all kinds of tasks, the most frequent first.
    fn kinds(&self) -> Vec<TaskKind> {
        let mut all = BTreeMap::<&'static str, Kind>::new();
        for record in &self.observer.records {
            let details = record.0.details.lock();
            details.kinds().for_each(|kind| all.entry(kind.name).or_default().merge(kind));
        }
        let mut kinds: Vec<_> = all.into_iter().map(|(name, kind)| self.kind(name, &kind)).collect();
        kinds.sort_by_key(|kind| core::cmp::Reverse(kind.runs));
        kinds
    }

    fn kind(&self, name: &str, kind: &Kind) -> TaskKind {
        TaskKind {
            name: name.into(),
            finished: kind.finished,
            runs: kind.runs,
            panics: kind.panics,
            waiting: kind.waiting.read(self.scale),
            running: kind.running.read(self.scale),
        }
    }

    /// Returns the objects of a session, and how many accesses others can have.
    fn objects(&self, session: u32) -> (Vec<ObjectUse>, u64) {
        let (mut all, mut missed) = (BTreeMap::new(), 0);
        for record in &self.observer.records {
            let details = record.0.details.lock();
            if details.is_of(session) {
                missed += details.hottest.least();
                merge_objects(&mut all, &details);
            }
        }
        let mut objects: Vec<_> = all.into_values().map(|object| self.object(&object)).collect();
        let half = Inspection::MAX_OBJECTS / 2;
        objects.sort_by_key(|object| core::cmp::Reverse((object.waited, object.accesses)));
        let end = objects.len();
        let rest = &mut objects[half.min(end)..];
        rest.sort_by_key(|object| core::cmp::Reverse((object.accesses, object.waited)));
        objects.truncate(Inspection::MAX_OBJECTS);
        (objects, missed)
    }

    fn object(&self, merged: &MergedObject) -> ObjectUse {
        let lengths = self.observer.demand.as_ref().map(|demand| &demand.lengths);
        ObjectUse {
            object: self.label(&merged.object),
            accesses: merged.accesses,
            error: merged.error,
            waits: merged.waits,
            waited: self.duration(merged.waited),
            queued: lengths.map_or(0, |lengths| lengths.length(merged.object.address)),
        }
    }

    fn label(&self, object: &Touched) -> ObjectLabel {
        let &Touched { name, data, address, primitive, .. } = object;
        let name = name.or_else(|| self.names.get(address)).map(String::from);
        ObjectLabel { name, data: data.into(), address, primitive }
    }

    /// Returns the names of running tasks that hold one of these granules of a table.
    pub fn holders(&self, table: usize, ranges: &[Range<u32>]) -> Vec<String> {
        let mut names = Vec::new();
        for record in &self.observer.records {
            let details = record.0.details.lock();
            for run in details.running.iter().filter(|_| details.is_of(self.observer.session())) {
                let held = run.granules.as_ref().filter(|held| held.table == table);
                let overlaps = |held: &Range<u32>| {
                    ranges.iter().any(|range| held.start < range.end && range.start < held.end)
                };
                if held.is_some_and(|held| held.ranges.iter().any(overlaps)) {
                    names.push(run.description.task.into());
                }
            }
        }
        names
    }
}

/// Adds the objects that a worker has recorded. One in both of its tables counts once.
fn merge_objects(all: &mut BTreeMap<usize, MergedObject>, details: &Details) {
    let mut own = BTreeMap::<usize, (u64, TrackedObject)>::new();
    for (weight, tracked) in details.hottest.iter() {
        own.insert(tracked.object.address, (weight, *tracked));
    }
    for (_, tracked) in details.longest.iter() {
        let here = TrackedObject { error: 0, ..*tracked };
        let (_, known) = own.entry(tracked.object.address).or_insert((tracked.accesses, here));
        // What either table has seen has happened.
        known.waits = known.waits.max(tracked.waits);
        known.waited = known.waited.max(tracked.waited);
    }
    for (address, (accesses, tracked)) in own {
        let nothing = MergedObject { object: tracked.object, accesses: 0, error: 0, waits: 0, waited: 0 };
        let merged = all.entry(address).or_insert(nothing);
        merged.accesses += accesses;
        merged.error += tracked.error;
        merged.waits += tracked.waits;
        merged.waited += tracked.waited;
    }
}
