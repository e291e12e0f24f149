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
use core::ptr::NonNull;
use smallvec::SmallVec;

/// Places of one worker at which a search looks for taken jobs, unless it takes long anyway.
const MOST_PLACES: usize = 4;
/// Taken jobs whose thieves a search looks at in all.
const MOST_STEPS: usize = 64;

/// The way from a job that a worker waits for to one that it may steal.
pub(crate) struct Path<'s> {
    whole: &'s Handover,
    /// Taken jobs, each a part of the one before, and the first of the whole.
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

/// A search for a part of a job, by a worker at this place of its stack.
struct Search<'s> {
    path: Path<'s>,
    at: Top,
    steps: usize,
    /// Takes private jobs as well, by a barrier, and looks at all places.
    forces: bool,
}

impl Worker {
    /// Steals a part of a job from its thief or, less often, from workers that have taken parts of
    /// it. A private one only now and then, as that takes long.
    pub(super) fn steal_part(&self, whole: &Handover, at: Top, backoff: &Backoff) -> Option<NonNull<Job>> {
        let victim = whole.thief();
        let forces = backoff.is_at_milestone();
        let is_due = match self.shared().slots[victim].forks.sight() {
            Sight::Public => true,
            Sight::Private => forces,
            Sight::Nothing => forces || backoff.is_eighth(),
        };
        let mut search = Search { path: Path::new(whole), at, steps: MOST_STEPS, forces };
        is_due.then(|| self.search(victim, whole.base(), &mut search)).flatten()
    }

    /// Steals the oldest job of a worker, or a part of one that was taken from it. Of its jobs only
    /// those from the address `base` on are parts of what this worker waits for.
    fn search<'s>(&'s self, worker: usize, base: usize, search: &mut Search<'s>) -> Option<NonNull<Job>> {
        let forks = &self.shared().slots[worker].forks;
        match forks.sight() {
            Sight::Public => return forks.steal(self.thief(search.at), || search.path.is_right(), None),
            Sight::Private if search.forces => {
                return self.force(worker, search.at, || search.path.is_right());
            }
            Sight::Private | Sight::Nothing => {}
        }
        let places = if search.forces { usize::MAX } else { MOST_PLACES };
        forks.taken_from(base, places).find_map(|taken| {
            search.steps = search.steps.checked_sub(1)?;
            search.path.push(taken);
            let part = self.search(taken.thief(), taken.base(), search);
            search.path.parts.pop();
            part
        })
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

    /// Returns true if `test` does so for a worker that runs a job or parts of it: the thief first.
    /// Looks at this many places of each.
    fn any_runs(&self, whole: &Handover, places: usize, test: impl Fn(&WorkerSlot) -> bool) -> bool {
        self.any_runs_from((whole.thief(), whole.base()), places, &mut { MOST_STEPS }, &test)
    }

    /// The same, for a worker and those that have taken its jobs from the address `base` on.
    fn any_runs_from(
        &self,
        (worker, base): (usize, usize),
        places: usize,
        steps: &mut usize,
        test: &impl Fn(&WorkerSlot) -> bool,
    ) -> bool {
        let slot = &self.shared().slots[worker];
        test(slot)
            || slot.forks.taken_from(base, places).any(|taken| {
                let may_go_on = *steps > 0;
                *steps -= usize::from(may_go_on);
                may_go_on && self.any_runs_from((taken.thief(), taken.base()), places, steps, test)
            })
    }
}
