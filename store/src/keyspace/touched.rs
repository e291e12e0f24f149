//! What a command has changed, for sessions that track keys and for events of new ones.

use super::Keys;

/// What was changed since it was last taken. Nothing is noted while no session tracks keys.
#[derive(Debug, Default)]
pub(crate) struct ChangedKeys {
    /// Keys of any database, in the order of the changes. One may be there several times.
    pub(crate) keys: Vec<ChangedKey>,
    /// Set if a database was emptied or swapped: any key may have changed.
    pub(crate) are_all: bool,
}

/// A key that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedKey {
    pub(crate) key: Box<[u8]>,
    /// Whether it was removed as its time was over: that is no change by the command.
    pub(crate) has_expired: bool,
}

impl Keys<'_> {
    /// Notes a change of a key, if sessions track keys.
    #[inline]
    pub(super) fn touch(&mut self, key: &[u8], has_expired: bool) {
        if self.version.is_tracked() {
            self.touched.get_or_insert_default().keys.push(ChangedKey { key: key.into(), has_expired });
        }
    }

    /// Notes that any key may have changed, if sessions track keys.
    pub(super) fn touch_any(&mut self) {
        if self.version.is_tracked() {
            self.touched.get_or_insert_default().are_all = true;
        }
    }

    /// Begins to note the keys that are inserted.
    pub(crate) fn note_insertions(&mut self) {
        self.inserted.get_or_insert_default();
    }

    /// Notes the insertion of a key, if that is wanted.
    #[inline]
    pub(super) fn note_insertion(&mut self, key: &[u8]) {
        let database = self.database();
        if let Some(inserted) = &mut self.inserted {
            inserted.push((database, key.into()));
        }
    }

    /// Takes the keys that were inserted, each with its database, in order.
    pub(crate) fn take_inserted(&mut self) -> Vec<(usize, Box<[u8]>)> {
        self.inserted.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Forgets keys that were inserted, but that no event was to tell of.
    pub(crate) fn forget_inserted(&mut self) {
        if let Some(inserted) = &mut self.inserted {
            inserted.clear();
        }
    }

    /// Takes what was changed; `None` if nothing was noted.
    #[inline]
    pub(crate) fn take_touched(&mut self) -> Option<Box<ChangedKeys>> {
        self.touched.take()
    }

    /// Sets whether sessions track keys: for all tasks, this one among them.
    pub(crate) fn set_tracked(&mut self, is_tracked: bool) {
        self.versions().set_tracked(is_tracked);
        self.version.set_tracked(is_tracked);
    }
}
