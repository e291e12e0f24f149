//! The books of a round: what was put in and what came out, in atomics that all tasks reach.

use crate::ycsb::plan::Wrong;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

/// A number that many add to. Sums of money wrap around.
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

/// Something of which as many must end as begin.
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

    /// How many have begun so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun.get()
    }

    /// How many have not ended.
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

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Books {
    /// What bodies hold.
    pub(super) bodies: Pairs,
    /// Data of objects.
    pub(super) accounts: Pairs,
    /// Chains of follow-ups that end when the runtime does.
    pub(super) chains: Pairs,
    /// Money that new objects begin with.
    pub(super) paid_in: Count,
    /// Money that objects have in the end.
    pub(super) paid_out: Count,
    /// Changes that bodies have made.
    pub(super) changes_made: Count,
    /// Changes that objects remember in the end.
    pub(super) changes_found: Count,
    /// Bodies that ran to their end.
    pub(super) ran: Count,
    /// Bodies that panicked as they were to.
    pub(super) panicked: Count,
    /// The first thing that a task or a hook has found wrong.
    finding: Mutex<Option<String>>,
}

impl Books {
    /// Notes something that must not be; the first is told.
    pub(super) fn find(&self, what: impl Into<String>) {
        self.finding.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what.into());
    }

    /// What tasks have found so far.
    pub(super) fn found(&self) -> Result<(), Wrong> {
        match &*self.finding.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(finding) => Err(Wrong::new(finding.clone())),
            None => Ok(()),
        }
    }

    /// Whether all that was begun has ended: the last of it may end a little after its runtime was told to.
    pub(super) fn is_closed(&self) -> bool {
        [&self.bodies, &self.accounts, &self.chains].iter().all(|pairs| pairs.open() == 0)
    }

    /// Checks everything; the runtime is gone.
    pub(super) fn close(&self) -> Result<(), Wrong> {
        self.found()?;
        self.bodies.check("bodies")?;
        self.accounts.check("objects")?;
        self.chains.check("chains of follow-ups")?;
        let (made, found) = (self.changes_made.get(), self.changes_found.get());
        if made != found {
            return Err(Wrong::new(format!("tasks made {made} changes, the objects know of {found}")));
        }
        let (paid_in, paid_out) = (self.paid_in.get(), self.paid_out.get());
        if paid_in != paid_out {
            return Err(Wrong::new(format!("objects began with a sum of {paid_in} and end with {paid_out}")));
        }
        Ok(())
    }
}

/// What every body of a round holds: tells the books when it is dropped.
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
