//! What scans do with the entries that they read.

use super::key_range::KeyRange;
use super::order::{Order, Rest};
use super::range::decode;
use crate::key_space::KeySpace;
use crate::key_value::Key;
use crate::node::Layout;
use crate::value::Value;
use core::cell::{Cell, RefCell};
use core::marker::PhantomData;
use xtasking::Context;

/// An entry of a leaf, encoded: while a writer is active, it may be torn.
pub(super) type Entry<S> = (<S as KeySpace>::Owned, u64);

/// What a read of a leaf has found, and what is left of the range.
pub(super) type LeafResult<R, S> = (R, Option<Rest<S>>);

/// What a scan does with the entries of each leaf.
pub(super) trait EntrySink<S: KeySpace>: Send + 'static {
    /// The result of the scan.
    type Result;

    /// Reads the entries of a leaf, and returns what is left of the range. It replaces what an
    /// earlier, invalid read of the same leaf found. (Reads are repeated, so they have no `&mut
    /// self`; hence the cells.)
    fn read_leaf<O: Order, L: Layout<Keys = S>>(&self, leaf: &L, range: &KeyRange<S>) -> Option<Rest<S>>;

    /// Keeps what the last read found: it was validated. Returns true if the scan should continue.
    fn commit(&mut self) -> bool;

    /// Returns the result. `rest` are the keys of the leaves that were not read.
    fn finish(self, rest: Option<KeyRange<S>>, cx: &Context) -> Self::Result;
}

/// Collects entries.
pub(super) struct EntryCollector<K: Key, V> {
    /// Decoded at the end: while a writer is active, they may be torn.
    entries: RefCell<Vec<Entry<K::Keys>>>,
    /// Entries of the leaves that are done.
    kept: usize,
    limit: usize,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Key, V> EntryCollector<K, V> {
    pub fn new(limit: usize) -> Self {
        // Most scans are short; the vector grows for a long one.
        let entries = RefCell::new(Vec::with_capacity(limit.min(128)));
        Self { entries, kept: 0, limit, types: PhantomData }
    }
}

impl<K: Key, V: Value> EntrySink<K::Keys> for EntryCollector<K, V> {
    type Result = Vec<(K, V)>;

    fn read_leaf<O: Order, L: Layout<Keys = K::Keys>>(
        &self,
        leaf: &L,
        range: &KeyRange<K::Keys>,
    ) -> Option<Rest<K::Keys>> {
        let mut entries = self.entries.borrow_mut();
        entries.truncate(self.kept);
        O::read_leaf(leaf, range, |key, value| {
            if entries.len() < self.limit {
                entries.push((K::Keys::to_owned(key), value));
            }
        })
    }

    fn commit(&mut self) -> bool {
        self.kept = self.entries.get_mut().len();
        self.kept < self.limit
    }

    fn finish(self, _: Option<KeyRange<K::Keys>>, cx: &Context) -> Vec<(K, V)> {
        self.entries.into_inner().into_iter().map(|entry| decode(entry, cx)).collect()
    }
}

/// Collects the entries of some leaves as a whole.
pub(super) struct LeafCollector<K: Key, V> {
    entries: EntryCollector<K, V>,
    leaves_left: usize,
}

impl<K: Key, V> LeafCollector<K, V> {
    pub fn new(leaves: usize) -> Self {
        Self { entries: EntryCollector::new(usize::MAX), leaves_left: leaves }
    }
}

impl<K: Key, V: Value> EntrySink<K::Keys> for LeafCollector<K, V> {
    type Result = (Vec<(K, V)>, Option<KeyRange<K::Keys>>);

    fn read_leaf<O: Order, L: Layout<Keys = K::Keys>>(
        &self,
        leaf: &L,
        range: &KeyRange<K::Keys>,
    ) -> Option<Rest<K::Keys>> {
        self.entries.read_leaf::<O, L>(leaf, range)
    }

    fn commit(&mut self) -> bool {
        self.leaves_left -= 1;
        self.entries.commit() && self.leaves_left > 0
    }

    fn finish(self, rest: Option<KeyRange<K::Keys>>, cx: &Context) -> Self::Result {
        (self.entries.finish(None, cx), rest)
    }
}

/// Keeps the first entry.
pub(super) struct FirstEntry<S: KeySpace>(RefCell<Option<Entry<S>>>);

impl<S: KeySpace> FirstEntry<S> {
    pub const fn new() -> Self {
        Self(RefCell::new(None))
    }
}

impl<S: KeySpace> EntrySink<S> for FirstEntry<S> {
    type Result = Option<Entry<S>>;

    fn read_leaf<O: Order, L: Layout<Keys = S>>(&self, leaf: &L, range: &KeyRange<S>) -> Option<Rest<S>> {
        let (first, rest) = first_entry::<O, L>(leaf, range);
        self.0.replace(first);
        rest
    }

    fn commit(&mut self) -> bool {
        self.0.get_mut().is_none()
    }

    fn finish(self, _: Option<KeyRange<S>>, _: &Context) -> Option<Entry<S>> {
        self.0.into_inner()
    }
}

/// Returns the first entry of a leaf in a range and in this order, and what is left of the range.
pub(super) fn first_entry<O: Order, L: Layout>(
    leaf: &L,
    range: &KeyRange<L::Keys>,
) -> LeafResult<Option<Entry<L::Keys>>, L::Keys> {
    let mut first = None;
    let rest = O::read_leaf(leaf, range, |key, value| {
        if first.is_none() {
            first = Some((L::Keys::to_owned(key), value));
        }
    });
    (first, rest)
}

/// Counts entries.
#[derive(Default)]
pub(super) struct EntryCounter {
    here: Cell<u64>,
    before: u64,
}

impl<S: KeySpace> EntrySink<S> for EntryCounter {
    type Result = u64;

    fn read_leaf<O: Order, L: Layout<Keys = S>>(&self, leaf: &L, range: &KeyRange<S>) -> Option<Rest<S>> {
        let mut here = 0;
        let rest = O::read_leaf(leaf, range, |_, _| here += 1);
        self.here.set(here);
        rest
    }

    fn commit(&mut self) -> bool {
        self.before += self.here.take();
        true
    }

    fn finish(self, _: Option<KeyRange<S>>, _: &Context) -> u64 {
        self.before
    }
}
