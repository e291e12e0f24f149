//! Keeps the books of a round: atomic counters of what was put in and what came out, shared by all
//! tasks.

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
#[derive(Debug, Default)]
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
    /// Bodies that ran to their end.
    pub(super) ran: Count,
    /// Bodies that panicked as intended.
    pub(super) panicked: Count,
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

    /// Returns true if everything that was begun has ended. Some of it may end a little after the
    /// runtime.
    pub(super) fn is_closed(&self) -> bool {
        [&self.bodies, &self.accounts, &self.chains].iter().all(|pairs| pairs.open() == 0)
    }

    /// Checks everything, after the runtime has ended.
    pub(super) fn close(&self) -> Result<(), Wrong> {
        self.first_violation()?;
        self.bodies.check("bodies")?;
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

/// A value that each body of a round owns, which reports its drop to the books.
pub(super) struct Body(pub(super) Arc<Books>);

impl Body {
    pub(super) fn new(books: &Arc<Books>) -> Self {
        books.bodies.begin();
        Self(books.clone())
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.0.bodies.end();
    }
}
