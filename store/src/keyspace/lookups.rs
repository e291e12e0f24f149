//! Keys that a command looks up to read them: they are counted, and those that are missing are
//! told to listeners of keyspace events.

use super::{Entry, Keys};
use crate::server::KeyCounts;
use std::cell::{Cell, RefCell};

/// What becomes of the lookups of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LookupUse {
    /// Nothing: it looks keys up to change them.
    #[default]
    Ignored,
    /// They are counted.
    Counted,
    /// They are counted, and keys that are missing are told.
    Told,
}

/// What was noted of lookups.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    becomes: LookupUse,
    pub(super) counts: Cell<KeyCounts>,
    /// Keys that were missing, each with its database.
    missed: RefCell<Vec<(usize, Box<[u8]>)>>,
}

impl Keys<'_> {
    /// Sets what becomes of the lookups of the command that begins.
    #[inline]
    pub(crate) fn note_lookups(&mut self, becomes: LookupUse) {
        self.lookups.becomes = becomes;
    }

    /// Notes a lookup of a key.
    #[inline]
    pub(super) fn note_lookup(&self, key: &[u8], is_hit: bool) {
        if self.lookups.becomes == LookupUse::Ignored {
            return;
        }
        let mut counts = self.lookups.counts.get();
        counts.hits += u64::from(is_hit);
        counts.misses += u64::from(!is_hit);
        self.lookups.counts.set(counts);
        if !is_hit && self.lookups.becomes == LookupUse::Told {
            self.lookups.missed.borrow_mut().push((self.database(), key.into()));
        }
    }

    /// Finds the entry of a key for a command that shows something of it, without noting an access.
    pub(crate) fn look(&self, key: &[u8]) -> Option<&Entry> {
        let entry = self.peek(key);
        self.note_lookup(key, entry.is_some());
        entry
    }

    /// Takes the keys that were missing since this was last called, each with its database.
    #[inline]
    pub(crate) fn take_missed(&mut self) -> Vec<(usize, Box<[u8]>)> {
        std::mem::take(self.lookups.missed.get_mut())
    }

    /// Takes the counts of what happened to the keys.
    pub(crate) fn take_counts(&mut self) -> KeyCounts {
        self.lookups.counts.take()
    }
}
