//! The side record of a node: what has no place of a fixed size in it.

use crate::record::Record;
use std::sync::Arc;

/// Side records that were replaced.
#[must_use = "readers may still read them"]
pub struct ReplacedSides {
    pub(super) _owned: Record<Vec<Record<Side>>>,
}

/// The bounds of a node, and its keys that are too long for a block. It never changes: a writer
/// replaces it as a whole.
#[derive(Clone, Default)]
pub(super) struct Side {
    /// The lowest key that the node covers. Its beginning is the node's prefix.
    pub low: Arc<[u8]>,
    /// The lowest key above the node's range, if there is one.
    pub high: Option<Arc<[u8]>>,
    /// Long keys, in no order. An entry has the index of its key.
    pub long: Vec<Option<Arc<[u8]>>>,
}

impl Side {
    /// Adds a long key and returns its index.
    pub fn add(&mut self, key: Arc<[u8]>) -> u64 {
        match self.long.iter().position(Option::is_none) {
            Some(free) => {
                self.long[free] = Some(key);
                free as u64
            }
            None => {
                self.long.push(Some(key));
                self.long.len() as u64 - 1
            }
        }
    }

    /// Removes a long key.
    pub fn remove(&mut self, index: u64) {
        if let Some(place) = self.long.get_mut(index as usize) {
            *place = None;
        }
        while let Some(None) = self.long.last() {
            self.long.pop();
        }
    }

    /// Returns a long key; an empty one if there is none, which only a reader of a torn node finds.
    pub fn long_key(&self, index: u64) -> &[u8] {
        let place = usize::try_from(index).ok().and_then(|index| self.long.get(index));
        place.and_then(Option::as_deref).unwrap_or(&[])
    }
}
