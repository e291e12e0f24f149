//! The entries of a bucket and of its chain, as the writer of the bucket sees them.
//!
//! The nodes of a chain are never changed. Only the task that holds the bucket for writing replaces
//! them, and retires those that it has replaced.

use super::bucket::{Bucket, Contents, Entry, Filter, Last, PLACES, Search};
use xtasking::{
    Context,
    arena::{Arena, Link, WriteToken, Written},
};

/// The mark on links to nodes of chains; links to buckets have none.
pub(super) const CHAIN_MARK: u8 = 1;

/// Returns the link that a bucket's or node's word encodes; `None` for 0, which a reader beside a
/// writer may see.
#[inline(always)]
pub(super) fn decode_link(word: u64) -> Option<Link<Bucket>> {
    // SAFETY: `word` was read from the value of a last place whose key told of a link, so at a
    // validated version it came from `HeldBucket::alloc`, and the node was made before the bucket
    // was left. At any other version it may be the value of an entry, and the walk does not follow
    // the link. Nodes of chains are immutable.
    unsafe { Link::from_word(word) }
}

/// A bucket that is held for writing.
pub(super) struct HeldBucket<'a> {
    bucket: &'a Bucket,
    token: &'a WriteToken<'a>,
    chains: &'a Arena<Bucket>,
}

/// Where a writer has found a key.
#[derive(Clone, Copy)]
pub(super) enum Found {
    /// In this place of the bucket.
    Here(usize),
    /// In the chain.
    InChain,
}

impl<'a> HeldBucket<'a> {
    pub(super) fn new(bucket: &'a Written<'_, Bucket>, chains: &'a Arena<Bucket>) -> Self {
        Self { bucket, token: bucket.token(), chains }
    }

    /// Returns a node of the bucket's chain.
    #[inline(always)]
    fn node(&self, word: u64) -> (Link<Bucket>, &'a Bucket) {
        let link = decode_link(word).expect("the writer of a bucket sees whole places");
        // SAFETY: only the writer of a bucket, which this task is, retires the nodes of its chain;
        // and what it retires is freed after the running task has ended.
        (link, unsafe { link.follow() })
    }

    /// Looks for a key.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn find(&self, key: u64) -> Option<(Found, u64)> {
        match self.bucket.find(key) {
            Search::Here(place, value) => Some((Found::Here(place), value)),
            Search::Missing => None,
            Search::Beyond(word) => self.find_in_chain(key, word),
        }
    }

    fn find_in_chain(&self, key: u64, mut word: u64) -> Option<(Found, u64)> {
        loop {
            match self.node(word).1.find(key) {
                Search::Here(_, value) => return Some((Found::InChain, value)),
                Search::Missing => return None,
                Search::Beyond(next) => word = next,
            }
        }
    }

    /// Adds an entry whose key is not there.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn add(&self, entry: Entry, cx: &mut Context) {
        let contents = self.bucket.contents();
        match contents.last() {
            Last::Free => {
                let place = contents.free_place().unwrap_or(PLACES - 1);
                self.bucket.set(place, entry, self.token);
            }
            Last::Entry => self.begin_chain(&contents, entry, cx),
            Last::Link(filter, word) => self.add_to_chain(filter, word, entry, cx),
        }
    }

    /// Moves the last entry of a full bucket and a new one into a chain.
    fn begin_chain(&self, contents: &Contents, entry: Entry, cx: &mut Context) {
        let last = Entry { key: contents.keys[PLACES - 1], value: contents.values[PLACES - 1] };
        let mut node = Contents::default();
        node.set(0, last);
        node.set(1, entry);
        let link = self.alloc(node, cx);
        self.set_link(Filter::default().with(last.key).with(entry.key), link);
    }

    /// Adds an entry to the first node of the chain, or before it if that is full.
    fn add_to_chain(&self, filter: Filter, word: u64, entry: Entry, cx: &mut Context) {
        let (link, head) = self.node(word);
        let mut node = head.contents();
        let room = node.free_place();
        if let Some(place) = room {
            node.set(place, entry);
        } else {
            node = Contents::default();
            node.set(0, entry);
            node.set_link(filter, word);
        }
        let new = self.alloc(node, cx);
        self.set_link(filter.with(entry.key), new);
        if room.is_some() {
            // SAFETY: only this bucket linked to the node, and has just been changed. Readers that
            // have seen the link before belong to operations that have begun.
            unsafe { self.chains.retire(link, cx) };
        }
    }

    /// Replaces the value of a key that was found.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn set_value(&self, found: Found, entry: Entry, cx: &mut Context) {
        match found {
            Found::Here(place) => self.bucket.set_value(place, entry.value, self.token),
            Found::InChain => {
                let mut entries = self.all_entries();
                entries.iter_mut().filter(|there| there.key == entry.key).for_each(|there| *there = entry);
                self.replace_all(&entries, cx);
            }
        }
    }

    /// Removes a key that was found.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn remove(&self, key: u64, cx: &mut Context) {
        let contents = self.bucket.contents();
        if matches!(contents.last(), Last::Link(..)) {
            let mut entries = self.all_entries();
            entries.retain(|entry| entry.key != key);
            return self.replace_all(&entries, cx);
        }
        let (mut rest, mut count) = (Contents::default(), 0);
        contents.for_each(|entry| {
            if entry.key != key {
                rest.set(count, entry);
                count += 1;
            }
        });
        self.bucket.set_all(&rest, self.token);
    }

    /// Divides the entries: those whose key has the bit leave. `take` gets the contents of a new
    /// bucket with them; if it returns false, nothing is changed. `scratch` is any vector.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn split(
        &self,
        bit: u64,
        scratch: &mut Vec<Entry>,
        cx: &mut Context,
        take: impl FnOnce(Contents) -> bool,
    ) -> bool {
        let contents = self.bucket.contents();
        if matches!(contents.last(), Last::Link(..)) {
            self.gather(scratch);
            return self.split_all(scratch, bit, cx, take);
        }
        let (mut halves, mut counts) = ([Contents::default(); 2], [0; 2]);
        contents.for_each(|entry| {
            let half = usize::from(entry.key & bit != 0);
            halves[half].set(counts[half], entry);
            counts[half] += 1;
        });
        if !take(halves[1]) {
            return false;
        }
        if counts[1] > 0 {
            self.bucket.set_all(&halves[0], self.token);
        }
        true
    }

    /// As [`split`](Self::split), of all entries, those of the chain included.
    fn split_all(
        &self,
        entries: &mut [Entry],
        bit: u64,
        cx: &mut Context,
        take: impl FnOnce(Contents) -> bool,
    ) -> bool {
        let mut staying = 0;
        for index in 0..entries.len() {
            if entries[index].key & bit == 0 {
                entries.swap(index, staying);
                staying += 1;
            }
        }
        let (staying, leaving) = entries.split_at(staying);
        let moved = self.contents_of(leaving, cx);
        let is_taken = take(moved);
        if is_taken {
            self.replace_all(staying, cx);
        } else {
            self.retire_chain(&moved, cx);
        }
        is_taken
    }

    /// Returns all entries, those of the chain included.
    fn all_entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.gather(&mut entries);
        entries
    }

    /// Puts all entries into a vector, in place of what it has.
    fn gather(&self, entries: &mut Vec<Entry>) {
        entries.clear();
        let mut contents = self.bucket.contents();
        loop {
            entries.reserve(4 * PLACES);
            contents.for_each(|entry| entries.push(entry));
            let Last::Link(_, word) = contents.last() else { return };
            contents = self.node(word).1.contents();
        }
    }

    /// Sets all entries, in a new chain if they need one, and retires the old chain.
    fn replace_all(&self, entries: &[Entry], cx: &mut Context) {
        let old = self.bucket.contents();
        self.bucket.set_all(&self.contents_of(entries, cx), self.token);
        self.retire_chain(&old, cx);
    }

    /// Retires the chain of contents that are not linked to any more.
    fn retire_chain(&self, contents: &Contents, cx: &mut Context) {
        let mut last = contents.last();
        while let Last::Link(_, word) = last {
            let (link, node) = self.node(word);
            last = node.contents().last();
            // SAFETY: only the bucket that is held, or nothing yet, linked to the chain, and has
            // been changed. Readers that have seen the link before belong to operations that have
            // begun.
            unsafe { self.chains.retire(link, cx) };
        }
    }

    /// Returns the contents of a bucket with these entries, after making its chain from the end.
    fn contents_of(&self, entries: &[Entry], cx: &mut Context) -> Contents {
        let count = entries.len();
        // All nodes before the last one have two entries and a link.
        let in_last = if count <= PLACES { count } else { 2 + count % 2 };
        let (front, end) = entries.split_at(count - in_last);
        let (mut contents, mut filter) = (Contents::default(), Filter::default());
        for (place, &entry) in end.iter().enumerate() {
            contents.set(place, entry);
            filter = filter.with(entry.key);
        }
        for pair in front.rchunks(2) {
            let link = self.alloc(contents, cx);
            contents = Contents::default();
            contents.set_link(filter, link);
            for (place, &entry) in pair.iter().enumerate() {
                contents.set(place, entry);
                filter = filter.with(entry.key);
            }
        }
        contents
    }

    /// Makes a node. Returns the word of its link.
    fn alloc(&self, contents: Contents, cx: &mut Context) -> u64 {
        self.chains.alloc(Bucket::new(contents), cx).with_mark(CHAIN_MARK).to_word()
    }

    fn set_link(&self, filter: Filter, link: u64) {
        let mut contents = Contents::default();
        contents.set_link(filter, link);
        let place = PLACES - 1;
        let entry = Entry { key: contents.keys[place], value: contents.values[place] };
        self.bucket.set(place, entry, self.token);
    }
}
