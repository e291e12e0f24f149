//! What a worker records on demand: what runs, kinds of tasks, and objects.
//!
//! The worker and a thread that takes a snapshot share it by a lock, which each holds only to add
//! or to copy.

use super::histogram::LocalBuckets;
use super::top_objects::{ObjectAccess, TopObjects};
use super::{Description, Inspection};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

/// What one worker has recorded. Times are in ticks of the observer's clock.
#[derive(Default)]
pub(crate) struct Details {
    /// The session of `running` and of the objects.
    session: u32,
    /// What runs now, or is suspended.
    pub running: Vec<RecordedRun>,
    /// By the address and length of the name, so that a search compares no texts. Two kinds of the
    /// same name are merged when they are read.
    kinds: BTreeMap<(usize, usize), Kind>,
    /// The objects that tasks accessed most, weighted by accesses.
    pub hottest: TopObjects,
    /// The objects that tasks waited for longest, weighted by ticks.
    pub longest: TopObjects,
}

/// A run that has not ended.
pub(crate) struct RecordedRun {
    /// Distinct among the runs of its worker.
    pub id: u64,
    pub description: Description,
    pub begin: u64,
    /// Whether it blocks in place.
    pub is_blocked: bool,
    /// The granules that its task was granted.
    pub granules: Option<HeldGranules>,
}

/// The granules that a running task holds.
pub(crate) struct HeldGranules {
    /// The address of the table that they are in.
    pub table: usize,
    pub ranges: Vec<Range<u32>>,
}

/// Tasks of one name.
#[derive(Clone, Default)]
pub(crate) struct Kind {
    pub name: &'static str,
    pub finished: u64,
    pub runs: u64,
    pub panics: u64,
    pub waiting: LocalBuckets,
    pub running: LocalBuckets,
}

/// A run that has ended.
pub(crate) struct EndedRun {
    pub id: u64,
    pub description: Description,
    /// How long the run took.
    pub time: u64,
    /// From the spawn of the task to its first run, if this was it and the spawn was recorded.
    pub waiting: Option<u64>,
    /// How long the task waited at latches in this run.
    pub latch_time: u64,
    /// Whether it had to wait at a latch.
    pub waits: bool,
    /// Whether it only found that its task has to wait on: no access, and no run of the kind.
    pub is_attempt: bool,
    pub has_finished: bool,
    pub has_panicked: bool,
}

impl Details {
    /// Begins a session: forgets what ran and the objects of the one before.
    pub fn begin_session(&mut self, session: u32) {
        self.session = session;
        self.running.clear();
        self.hottest.clear();
        self.longest.clear();
    }

    /// Returns true if this is of that session.
    pub fn is_of(&self, session: u32) -> bool {
        self.session == session
    }

    /// Records that a run has begun, for which its task has waited in queues. If `waits`, that was
    /// because another task held its object.
    pub fn begin(&mut self, run: RecordedRun, waited: u64, waits: bool) {
        for object in run.description.objects.into_iter().flatten() {
            let access = ObjectAccess { object, accesses: 1, waits, waited };
            self.hottest.add(&access, 1);
            if waited > 0 {
                self.longest.add(&access, waited);
            }
        }
        self.running.push(run);
    }

    /// Takes back the accesses of a run that has just begun: its task has to wait on.
    pub fn take_back(&mut self, description: &Description) {
        for object in description.objects.iter().flatten() {
            self.hottest.take_back(object.address, 1);
            self.longest.take_back(object.address, 0);
        }
    }

    /// Returns a run that has begun and not ended.
    pub fn run_mut(&mut self, id: u64) -> Option<&mut RecordedRun> {
        self.running.iter_mut().rfind(|run| run.id == id)
    }

    /// Records that a run has ended.
    pub fn end(&mut self, run: &EndedRun) {
        self.running.retain(|running| running.id != run.id);
        let kind = self.kind_mut(run.description.task);
        run.waiting.into_iter().for_each(|time| kind.waiting.record(time));
        if run.is_attempt {
            return;
        }
        kind.runs += 1;
        kind.finished += u64::from(run.has_finished);
        kind.panics += u64::from(run.has_panicked);
        kind.running.record(run.time);
        if run.waits {
            for object in run.description.objects.into_iter().flatten() {
                let access = ObjectAccess { object, accesses: 0, waits: true, waited: run.latch_time };
                self.hottest.add(&access, 0);
                self.longest.add(&access, run.latch_time);
            }
        }
    }

    fn kind_mut(&mut self, name: &'static str) -> &mut Kind {
        let key = |name: &'static str| (name.as_ptr().addr(), name.len());
        let is_known = self.kinds.len() < Inspection::MAX_KINDS || self.kinds.contains_key(&key(name));
        let name = if is_known { name } else { Inspection::OTHER_KINDS };
        self.kinds.entry(key(name)).or_insert_with(|| Kind { name, ..Kind::default() })
    }

    /// Returns the kinds so far.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds.values()
    }
}

impl Kind {
    /// Adds what another worker has recorded of the same kind.
    pub fn merge(&mut self, other: &Self) {
        self.finished += other.finished;
        self.runs += other.runs;
        self.panics += other.panics;
        self.waiting.merge(&other.waiting);
        self.running.merge(&other.running);
    }
}
