//! Entries of a table that are chosen at random.

use super::{Entry, Table};

impl Table {
    /// Iterates over all entries, from a random place on and round to it. Neighbours have nothing
    /// to do with each other, as their hashes decide where they are. If only those that expire are
    /// wanted, segments without any are skipped.
    pub(crate) fn iter_from(&self, random: u64, only_expiring: bool) -> impl Iterator<Item = &Entry> {
        let segments = self.segments.len();
        let first = (random as usize).checked_rem(segments).unwrap_or(0);
        let around = (first..segments).chain(0..first).map(|at| &self.segments[at]);
        let wanted = around.filter(move |segment| !only_expiring || segment.expiring > 0);
        wanted.flat_map(move |segment| segment.entries.iter_from((random >> 32) as usize))
    }

    /// Returns an entry chosen by a random number, each about as likely as the others.
    pub(crate) fn random(&self, random: u64) -> Option<&Entry> {
        if self.len() == 0 {
            return None;
        }
        // A segment by its share of the orders; the next one that is not empty.
        let first = (random as usize) % self.segments.len();
        let around = (first..self.segments.len()).chain(0..first);
        let segment = around.map(|at| &self.segments[at]).find(|segment| segment.entries.len() > 0)?;
        segment.entries.iter().nth((random >> 32) as usize % segment.entries.len())
    }
}
