//! Scanning the leaves in order.

use super::links::{decode_link, mark, step_to_link};
use super::root::{Continuation, Operation, RootRef};
use crate::key_value::{Key, Value};
use crate::node::{DescendResult, Layout, ScanNext};
use core::cell::RefCell;
use core::marker::PhantomData;
use xtasking::{
    Context, Part,
    arena::{Link, Step, Visit},
    task::Spawner,
};

/// What a scan does with the entries of each leaf.
pub(super) trait EntrySink: Send + 'static {
    /// The result of the scan.
    type Result;

    /// Reads the entries of a leaf from key `from` on. It replaces what an earlier, invalid read of
    /// the same leaf found.
    fn read_leaf<L: Layout>(&self, leaf: &L, from: u64) -> ScanNext;

    /// Keeps what the last read found: it was validated. Returns true if the scan should continue.
    fn commit(&mut self) -> bool;

    /// Returns the result.
    fn finish(self) -> Self::Result;
}

/// Collects entries. (Reads are repeated, so they have no `&mut self`; hence the cell.)
pub(super) struct EntryCollector<K, V> {
    entries: RefCell<Vec<(K, V)>>,
    /// Entries of the leaves that are done.
    kept: usize,
    limit: usize,
}

impl<K, V> EntryCollector<K, V> {
    pub fn new(limit: usize) -> Self {
        // Most scans are short; the vector grows for a long one.
        Self { entries: RefCell::new(Vec::with_capacity(limit.min(128))), kept: 0, limit }
    }
}

impl<K: Key, V: Value> EntrySink for EntryCollector<K, V> {
    type Result = Vec<(K, V)>;

    fn read_leaf<L: Layout>(&self, leaf: &L, from: u64) -> ScanNext {
        let mut entries = self.entries.borrow_mut();
        entries.truncate(self.kept);
        leaf.visit(from, |key, value| {
            if entries.len() < self.limit {
                entries.push((K::from_word(key), V::from_word(value)));
            }
        })
    }

    fn commit(&mut self) -> bool {
        self.kept = self.entries.get_mut().len();
        self.kept < self.limit
    }

    fn finish(self) -> Vec<(K, V)> {
        self.entries.into_inner()
    }
}

/// Counts entries.
#[derive(Default)]
pub(super) struct EntryCounter {
    here: core::cell::Cell<u64>,
    before: u64,
}

impl EntrySink for EntryCounter {
    type Result = u64;

    fn read_leaf<L: Layout>(&self, leaf: &L, from: u64) -> ScanNext {
        let mut here = 0;
        let next = leaf.visit(from, |_, _| here += 1);
        self.here.set(here);
        next
    }

    fn commit(&mut self) -> bool {
        self.before += self.here.take();
        true
    }

    fn finish(self) -> u64 {
        self.before
    }
}

/// Starts a scan.
pub(super) fn begin<S: Spawner, L: Layout, G: EntrySink, F: Continuation<G::Result>>(
    at: S,
    root: RootRef<L>,
    from: u64,
    sink: G,
    then: F,
) {
    root.begin(at, Scan { from, sink, then, layout: PhantomData });
}

struct Scan<L, G, F> {
    from: u64,
    sink: G,
    then: F,
    layout: PhantomData<fn(L)>,
}

impl<L: Layout, G: EntrySink, F: Continuation<G::Result>> Operation<L> for Scan<L, G, F> {
    fn start<S: Spawner>(self, at: S, top: Link<L>) {
        at.task(top.read().part(L::FIRST)).begin_operation().visit(self);
    }
}

impl<L: Layout, G: EntrySink, F: Continuation<G::Result>> Visit for Scan<L, G, F> {
    type Target = L;
    type Output = ScanNext;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, at: Link<L>, node: &L) -> Part {
        if at.mark() == mark::LEAF { L::ALL } else { node.locate(self.from) }
    }

    fn read(&self, at: Link<L>, node: &L) -> Step<L, ScanNext> {
        if at.mark() == mark::LEAF {
            return Step::End(self.sink.read_leaf(node, self.from));
        }
        let (DescendResult::Child(word) | DescendResult::Right(word)) = node.descend(self.from);
        step_to_link(word)
    }

    fn then(mut self, next: ScanNext, cx: &mut Context) {
        let next_leaf = match (self.sink.commit(), next) {
            (true, ScanNext::Right { link, low }) => {
                // A node to the left of the scan's position (it took over a dead node's keys) has
                // nothing new.
                self.from = self.from.max(low);
                decode_link::<L>(link)
            }
            (false, _) | (_, ScanNext::End) => None,
        };
        match next_leaf {
            Some(next) => cx.task(next.read().part(L::FIRST)).visit(self),
            None => (self.then)(self.sink.finish(), cx),
        }
    }
}
