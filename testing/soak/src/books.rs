//! Keeps the books of a round: atomic counters of what was put in and what came out, shared by all
//! tasks.

use super::fates::{self, Fates, TaskNumber};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use xtasking_harness::failure::Wrong;

/// A sum that many threads add to. Sums of money wrap around.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, SeqCst);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(SeqCst)
    }
}

/// Counts of begins and ends, which must be equal in the end.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    begun: Count,
    ended: Count,
}

impl Pairs {
    pub(super) fn begin(&self) {
        self.begun.add(1);
    }

    pub(super) fn end(&self) {
        self.ended.add(1);
    }

    /// Returns how many have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun.get()
    }

    /// Returns how many have not ended.
    pub(super) fn open(&self) -> u64 {
        // In this order: nothing ends before it begins.
        let ended = self.ended.get();
        self.begun.get().saturating_sub(ended)
    }

    fn check(&self, what: &str) -> Result<(), Wrong> {
        let (begun, ended) = (self.begun.get(), self.ended.get());
        if begun == ended {
            Ok(())
        } else {
            Err(Wrong::new(format!("of {begun} {what} {ended} were dropped")))
        }
    }
}

/// The books of a round.
#[derive(Default)]
pub(super) struct Books {
    /// Values that bodies own.
    pub(super) bodies: Pairs,
    /// Data of objects.
    pub(super) accounts: Pairs,
    /// Chains of follow-ups, which end with the runtime.
    pub(super) chains: Pairs,
    /// Initial money of objects.
    pub(super) paid_in: Count,
    /// Final money of objects.
    pub(super) paid_out: Count,
    /// Changes made by bodies.
    pub(super) changes_made: Count,
    /// Changes counted by objects.
    pub(super) changes_counted: Count,
    /// What has happened to each task.
    pub(super) fates: Fates,
    /// Tasks for which there was no room.
    pub(super) refused: Count,
    /// Intended panics that the hook has heard of.
    pub(super) heard: Count,
    /// Poisoned objects of tasks that the hook has heard of.
    pub(super) heard_poisoned: Count,
    /// Missed deadlines that the hook has heard of.
    pub(super) heard_late: Count,
    /// The first violation that a task or a hook has reported.
    violation: Mutex<Option<String>>,
}

impl Books {
    /// Reports a violation; only the first one is kept.
    pub(super) fn report(&self, what: impl Into<String>) {
        self.violation.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what.into());
    }

    /// Fails with the reported violation, if there is one.
    pub(super) fn first_violation(&self) -> Result<(), Wrong> {
        match &*self.violation.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(violation) => Err(Wrong::new(violation.clone())),
            None => Ok(()),
        }
    }

    /// Returns true if everything that was begun has ended, and the hook has heard of it. Some of
    /// it may end a little after the runtime.
    pub(super) fn is_closed(&self, cancels: bool) -> bool {
        let is_over = [&self.bodies, &self.accounts, &self.chains].iter().all(|pairs| pairs.open() == 0);
        is_over && self.check_heard(cancels).is_ok()
    }

    /// Checks that the hook has heard once of each failure that no handle received. Of tasks that
    /// a runtime `cancels` it hears nothing.
    fn check_heard(&self, cancels: bool) -> Result<(), Wrong> {
        let fates = &self.fates;
        let count = |bits| fates.count_with(fates::DETACHED | bits) as u64;
        let (panicked, heard) = (count(fates::PANICKED), self.heard.get());
        if panicked != heard {
            let text = format!("{panicked} tasks without handles panicked; the hook has heard of {heard}");
            return Err(Wrong::new(text));
        }
        let (poisoned, late) = (self.heard_poisoned.get(), self.heard_late.get());
        let (unrun, refused) = (fates.count_unrun() as u64, count(fates::REFUSED));
        let explained = poisoned + late + refused;
        if explained > unrun || (explained < unrun && !cancels) {
            return Err(Wrong::new(format!(
                "{unrun} tasks without handles did not run; the hook has heard of {poisoned} that met \
                    poison and {late} that were late, and {refused} had no room"
            )));
        }
        if poisoned > count(fates::MAY_BE_POISONED) || late > count(fates::HAS_DEADLINE) {
            let text = format!("the hook has heard of {poisoned} poisoned and {late} late tasks: too many");
            return Err(Wrong::new(text));
        }
        Ok(())
    }

    /// Checks that each task has ended once, and as its options allow.
    fn close_tasks(&self, cancels: bool) -> Result<(), Wrong> {
        self.bodies.check("bodies")?;
        if let Some((task, bits)) = self.fates.unfinished() {
            return Err(Wrong::new(format!("{task:?} has not ended: its fate is {bits:#011b}")));
        }
        if let Some((task, bits)) = self.fates.unexplained(cancels) {
            let text = format!("{task:?} without a handle has the fate {bits:#011b}, which is not allowed");
            return Err(Wrong::new(text));
        }
        self.check_heard(cancels)
    }

    /// Checks everything, after the runtime has ended. Tasks may be unrun if it `cancels` them.
    pub(super) fn close(&self, cancels: bool) -> Result<(), Wrong> {
        self.first_violation()?;
        self.close_tasks(cancels)?;
        self.accounts.check("objects")?;
        self.chains.check("chains of follow-ups")?;
        let (made, counted) = (self.changes_made.get(), self.changes_counted.get());
        if made != counted {
            return Err(Wrong::new(format!("tasks made {made} changes; the objects have counted {counted}")));
        }
        let (paid_in, paid_out) = (self.paid_in.get(), self.paid_out.get());
        if paid_in != paid_out {
            return Err(Wrong::new(format!("objects began with a sum of {paid_in} and end with {paid_out}")));
        }
        Ok(())
    }
}

/// A value that each body of a round owns, which reports what happens to the body.
pub(super) struct TrackedBody {
    pub(super) books: Arc<Books>,
    task: TaskNumber,
}

impl TrackedBody {
    pub(super) fn new(books: &Arc<Books>) -> Self {
        books.bodies.begin();
        Self { books: books.clone(), task: books.fates.add() }
    }

    /// Returns the number of the task that owns this.
    pub(super) fn task(&self) -> TaskNumber {
        self.task
    }

    /// Records an event, which happens once.
    pub(super) fn note(&self, event: u16, what: &str) {
        if !self.books.fates.note(self.task, event) {
            self.books.report(format!("{:?} {what} twice", self.task));
        }
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.note(fates::DROPPED, "was dropped");
        self.books.bodies.end();
    }
}
