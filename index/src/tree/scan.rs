//! Walking along the leaves.

use super::{RootRef, go_to, link_of, mark};
use crate::fixed::{Key, Value};
use crate::node::{Down, Layout, Onward};
use core::cell::RefCell;
use core::marker::PhantomData;
use xtasking::{Context, Link, Part, Spawner, Step, Visit};

/// What a walk gathers.
pub(super) trait Gather: Send + 'static {
    /// What it gives in the end.
    type Result;

    /// Takes up what a leaf holds from `from` on, in place of what an earlier, disturbed look at the same leaf found.
    fn look<L: Layout>(&self, leaf: &L, from: u64) -> Onward;

    /// The last look was good. Returns whether to go on.
    fn keep(&mut self) -> bool;

    /// The end of the walk.
    fn finish(self) -> Self::Result;
}

/// Collects entries. (The cell is there because looks are repeated and so have no `&mut`.)
pub(super) struct Collect<K, V> {
    entries: RefCell<Vec<(K, V)>>,
    /// Entries of leaves that are done with.
    kept: usize,
    limit: usize,
}

impl<K, V> Collect<K, V> {
    pub fn new(limit: usize) -> Self {
        // Scans are mostly short; a long one grows.
        Self { entries: RefCell::new(Vec::with_capacity(limit.min(128))), kept: 0, limit }
    }
}

impl<K: Key, V: Value> Gather for Collect<K, V> {
    type Result = Vec<(K, V)>;

    fn look<L: Layout>(&self, leaf: &L, from: u64) -> Onward {
        let mut entries = self.entries.borrow_mut();
        entries.truncate(self.kept);
        leaf.visit(from, |key, value| {
            if entries.len() < self.limit {
                entries.push((K::from_word(key), V::from_word(value)));
            }
        })
    }

    fn keep(&mut self) -> bool {
        self.kept = self.entries.get_mut().len();
        self.kept < self.limit
    }

    fn finish(self) -> Vec<(K, V)> {
        self.entries.into_inner()
    }
}

/// Counts entries.
#[derive(Default)]
pub(super) struct Count {
    here: core::cell::Cell<u64>,
    before: u64,
}

impl Gather for Count {
    type Result = u64;

    fn look<L: Layout>(&self, leaf: &L, from: u64) -> Onward {
        let mut here = 0;
        let onward = leaf.visit(from, |_, _| here += 1);
        self.here.set(here);
        onward
    }

    fn keep(&mut self) -> bool {
        self.before += self.here.take();
        true
    }

    fn finish(self) -> u64 {
        self.before
    }
}

/// Begins a walk.
pub(super) fn begin<S, L, G, F>(at: S, root: RootRef<L>, from: u64, gather: G, then: F)
where
    S: Spawner,
    L: Layout,
    G: Gather,
    F: FnOnce(G::Result, &mut Context) + Send + 'static,
{
    if S::IN_TASK {
        let top = root.top(&at);
        start(at, top, from, gather, then);
    } else {
        at.task(()).spawn(move |(), cx| {
            let top = root.top(&cx);
            start(cx, top, from, gather, then);
        });
    }
}

/// Begins a walk at the topmost node.
fn start<S, L, G, F>(at: S, top: Link<L>, from: u64, gather: G, then: F)
where
    S: Spawner,
    L: Layout,
    G: Gather,
    F: FnOnce(G::Result, &mut Context) + Send + 'static,
{
    let scan = Scan { from, gather, then, layout: PhantomData };
    at.task(top.read().part(L::FIRST)).begin_operation().visit(scan);
}

struct Scan<L, G, F> {
    from: u64,
    gather: G,
    then: F,
    layout: PhantomData<fn(L)>,
}

impl<L, G, F> Visit for Scan<L, G, F>
where
    L: Layout,
    G: Gather,
    F: FnOnce(G::Result, &mut Context) + Send + 'static,
{
    type Target = L;
    type Output = Onward;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, at: Link<L>, node: &L) -> Part {
        if at.mark() == mark::LEAF { L::ALL } else { node.locate(self.from) }
    }

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Onward> {
        if at.mark() == mark::LEAF {
            return Step::End(self.gather.look(node, self.from));
        }
        let (Down::Child(word) | Down::Right(word)) = node.descend(self.from);
        go_to(word)
    }

    fn then(mut self, onward: Onward, cx: &mut Context) {
        let next = match (self.gather.keep(), onward) {
            (true, Onward::Right { link, low }) => {
                // A node to the left of where the walk is (it took over a dead one's keys) holds nothing new.
                self.from = self.from.max(low);
                link_of::<L>(link)
            }
            (false, _) | (_, Onward::End) => None,
        };
        match next {
            Some(next) => cx.task(next.read().part(L::FIRST)).visit(self),
            None => (self.then)(self.gather.finish(), cx),
        }
    }
}
