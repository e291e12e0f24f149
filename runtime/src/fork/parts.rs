//! Stealing parts of a job, for a worker that waits for it.
//!
//! The jobs that a thief pushes while it runs a job are *parts* of it, and so are their parts. A
//! worker that waits for a job steals only parts of that: so no unrelated work delays it, and it
//! needs no more stack than without thieves.
//!
//! First it looks at the thief. That may have nothing left, as others have taken its jobs: then the
//! worker goes on to these, from thief to thief. Joins that lean to the right leave one job at a
//! time, at the end of such a path:
//!
//! ```text
//! worker 0: piece 1, waits ──> worker 1: piece 2, waits ──> worker 2: runs piece 3, has pieces 4..
//!              └─ taken by 1             └─ taken by 2                └─ can be stolen by 0 and 1
//! ```
//!
//! The same paths lead to the workers that it asks for parts, and the other way round to those that
//! are woken when a part was published: `Forks::wholes`.
//!
//! No worker on the path is stopped meanwhile, so each step is a hint. It is verified once the job
//! at its end can be taken by no other thief:
//!
//! - Each job on the path is not done. So it was pushed and taken while the one before it was run,
//!   and is a part of it for ever: jobs from the thief's place on (`Handover::base`) did not exist
//!   when it took that one.
//! - Each slot is still that of the same job: its stack has settled none since it was looked at.
//!
//! If the job is then taken, its owner has not popped it meanwhile. So it is a part of the last job
//! on the path, as that one's thief had no other job left when it took it (`ForkStack`). Models:
//! `model/fork_stack.rs`.

use super::job::Sight;
use super::stack::Taken;
use super::{Handover, Job, Top};
use crate::scheduler::{Worker, WorkerSlot};
use crate::sync::Backoff;
use core::iter::successors;
use core::ptr::NonNull;
use smallvec::SmallVec;

/// Places of one worker at which a search looks for taken jobs, unless it takes long anyway.
const MOST_PLACES: usize = 4;

/// The way from a job that a worker waits for to one that it may steal.
pub(crate) struct Path<'s> {
    whole: &'s Handover,
    /// Taken jobs, each a part of another one of them or of the whole.
    parts: SmallVec<[Taken<'s>; 16]>,
}

impl<'s> Path<'s> {
    pub fn new(whole: &'s Handover) -> Self {
        Self { whole, parts: SmallVec::new() }
    }

    pub fn push(&mut self, part: Taken<'s>) {
        self.parts.push(part);
    }

    /// Returns true if jobs at its end are parts of the whole: see the head of this file.
    pub fn is_right(&self) -> bool {
        (!self.whole.state().is_done() || planted!("part-of-another"))
            && (self.parts.iter().all(Taken::is_running) || planted!("path-unverified"))
    }
}

/// A worker that runs a job or parts of it.
struct Runner<'s> {
    worker: usize,
    /// From this address on its jobs are parts.
    base: usize,
    was_visited: bool,
    /// The job that it has taken, and the position of the runner that pushed it. `None` for the
    /// thief of the whole.
    taken: Option<(usize, Taken<'s>)>,
}

/// The workers that run a job or parts of it, as far as they are known, the thief first.
///
/// Many paths lead to one worker, if it has taken many parts. Of these the one is kept whose job
/// lies lowest in its stack: it has all that the others lead to.
struct Runners<'s> {
    whole: &'s Handover,
    found: SmallVec<[Runner<'s>; 8]>,
}

impl<'s> Runners<'s> {
    fn of(whole: &'s Handover) -> Self {
        let thief = Runner { worker: whole.thief(), base: whole.base(), was_visited: false, taken: None };
        let mut found = SmallVec::new();
        found.push(thief);
        Self { whole, found }
    }

    /// Returns the position of a runner to visit, its worker, and where its parts begin.
    fn next(&mut self) -> Option<(usize, usize, usize)> {
        let (at, runner) = self.found.iter_mut().enumerate().find(|(_, runner)| !runner.was_visited)?;
        runner.was_visited = true;
        Some((at, runner.worker, runner.base))
    }

    /// Adds the workers that have taken these jobs, which the runner at this position has pushed.
    fn add(&mut self, from: usize, jobs: impl Iterator<Item = Taken<'s>>) {
        for job in jobs {
            let (worker, base) = (job.thief(), job.base());
            let next = Runner { worker, base, was_visited: false, taken: Some((from, job)) };
            match self.found.iter_mut().find(|runner| runner.worker == worker) {
                Some(runner) if runner.base <= base || runner.taken.is_none() => {}
                Some(runner) => *runner = next,
                None => self.found.push(next),
            }
        }
    }

    /// Returns the path to the runner at this position. Hints from different moments may lead in a
    /// circle: such a path ends anywhere, and some job on it is done.
    fn path(&self, at: usize) -> Path<'s> {
        let mut path = Path::new(self.whole);
        let steps = successors(self.found[at].taken, |&(from, _)| self.found[from].taken);
        steps.take(self.found.len()).for_each(|(_, job)| path.push(job));
        path
    }
}

impl Worker {
    /// Steals a part of a job from its thief or, less often, from workers that have taken parts of
    /// it. A private one only now and then, as that takes long.
    pub(super) fn steal_part(&self, whole: &Handover, at: Top, backoff: &Backoff) -> Option<NonNull<Job>> {
        let forces = backoff.is_at_milestone();
        let is_due = match self.shared().slots[whole.thief()].forks.sight() {
            Sight::Public => true,
            Sight::Private => forces,
            Sight::Nothing => forces || backoff.is_eighth(),
        };
        let places = if forces { usize::MAX } else { MOST_PLACES };
        let mut runners = Runners::of(whole);
        while is_due && let Some((position, victim, base)) = runners.next() {
            let forks = &self.shared().slots[victim].forks;
            let is_part = || runners.path(position).is_right();
            let part = match forks.sight() {
                Sight::Public => forks.steal(self.thief(at), is_part, None),
                Sight::Private if forces => self.force(victim, at, is_part),
                Sight::Private | Sight::Nothing => None,
            };
            if part.is_some() {
                return part;
            }
            runners.add(position, forks.taken_from(base, places));
        }
        None
    }

    /// Sends a steal request to the thief of a job, and to workers that have taken parts of it: to
    /// `all`, or to those that are quickly found.
    pub(super) fn request_parts(&self, whole: &Handover, all: bool) {
        let all = all && !planted!("part-behind-others-unseen");
        self.any_runs(whole, if all { usize::MAX } else { MOST_PLACES }, |slot| {
            slot.forks.ask();
            planted!("part-of-part-unasked")
        });
    }

    /// Returns true if there is a part of a job that this worker could steal, or will soon see.
    pub(super) fn sees_part(&self, whole: &Handover) -> bool {
        self.any_runs(whole, usize::MAX, |slot| self.can_steal_from(slot) || slot.forks.is_theft_in_transit())
    }

    /// Returns true if `test` does so for a worker that runs a job or parts of it. Looks at this
    /// many places of each.
    fn any_runs(&self, whole: &Handover, places: usize, test: impl Fn(&WorkerSlot) -> bool) -> bool {
        let mut runners = Runners::of(whole);
        while let Some((position, worker, base)) = runners.next() {
            let slot = &self.shared().slots[worker];
            if test(slot) {
                return true;
            }
            runners.add(position, slot.forks.taken_from(base, places));
        }
        false
    }
}
