//! Hash tables of all rows of the build side: of one thread, and shared by all. Open addressing,
//! one slot after another, with a third to two thirds of the slots used.

use super::rows::{JoinRow, Matches};
use crate::tables::hashing::{Places, hash};
use crate::tables::memory::{fetch, prefer_huge_pages, zeroed_words};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn places(rows: usize) -> Places {
    Places::at_least(rows + rows / 2)
}

/// A table of one thread.
pub(super) struct Table {
    /// Keys with their payloads; a key of 0 where there is none.
    slots: Vec<[u64; 2]>,
    places: Places,
}

impl Table {
    /// Builds a table of rows.
    pub(super) fn build(rows: &[JoinRow]) -> Self {
        let places = places(rows.len());
        let mut slots = vec![[0; 2]; places.count()];
        prefer_huge_pages(&slots);
        for row in rows {
            let mut place = places.first(hash(row.key));
            while slots[place][0] != 0 {
                place = places.next(place);
            }
            slots[place] = [row.key, row.payload];
        }
        Self { slots, places }
    }

    /// Looks a row up.
    #[inline(always)]
    pub(super) fn probe(&self, row: JoinRow) -> Matches {
        let mut place = self.places.first(hash(row.key));
        loop {
            let [key, payload] = self.slots[place];
            if key == row.key {
                return Matches::of(row, Some(payload));
            }
            if key == 0 {
                return Matches::of(row, None);
            }
            place = self.places.next(place);
        }
    }
}

/// A table that many threads build, and then probe.
pub(super) struct SharedTable {
    /// For each slot a key, 0 if it is free, and a payload.
    words: Box<[AtomicU64]>,
    places: Places,
}

impl SharedTable {
    /// Creates an empty table for a number of rows.
    pub(super) fn for_rows(rows: usize) -> Self {
        let places = places(rows);
        Self { words: zeroed_words(2 * places.count()), places }
    }

    #[inline(always)]
    fn slot(&self, place: usize) -> &[AtomicU64; 2] {
        &self.words.as_chunks().0[place]
    }

    /// Starts fetching the slot where a search for a key begins.
    #[inline(always)]
    pub(super) fn fetch(&self, key: u64) {
        fetch(self.slot(self.places.first(hash(key))));
    }

    /// Inserts a row.
    #[inline(always)]
    pub(super) fn insert(&self, row: JoinRow) {
        let mut place = self.places.first(hash(row.key));
        loop {
            let [key, payload] = self.slot(place);
            // Relaxed: the end of the parallel loop orders all inserts before the lookups.
            let is_free = key.load(Relaxed) == 0;
            if is_free && key.compare_exchange(0, row.key, Relaxed, Relaxed).is_ok() {
                return payload.store(row.payload, Relaxed);
            }
            place = self.places.next(place);
        }
    }

    /// Looks a row up. All inserts have ended.
    #[inline(always)]
    pub(super) fn probe(&self, row: JoinRow) -> Matches {
        let mut place = self.places.first(hash(row.key));
        loop {
            let [key, payload] = self.slot(place);
            // Relaxed: as in `insert`.
            let key = key.load(Relaxed);
            if key == row.key {
                return Matches::of(row, Some(payload.load(Relaxed)));
            }
            if key == 0 {
                return Matches::of(row, None);
            }
            place = self.places.next(place);
        }
    }
}
