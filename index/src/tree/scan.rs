//! Scanning the leaves in order: one task per node. A plain thread reads the same nodes without a
//! task.

use super::key_range::KeyRange;
use super::links::{decode_link, mark, step_to_link};
use super::order::{Order, Rest};
use super::root::{Root, RootRef};
use super::sinks::{EntrySink, LeafResult};
use crate::node::{DescendResult, Layout};
use crate::root::{Continuation, Epoch, Operation};
use core::marker::PhantomData;
use xtasking::{
    Context, JoinError, Part,
    arena::{Link, Reader, Step, Visit},
    task::Spawner,
};

/// Reads the leaves of a range without tasks, until `take` returns false. `take` gets what
/// `read_leaf` has found in each of them. Returns the keys that are left; `None` if there are none.
///
/// `top` returns the topmost node. The reader must be older than each of its looks at the link.
pub(super) fn each_leaf<O: Order, L: Layout, R: Send + 'static>(
    reader: &Reader<'_>,
    top: impl Fn() -> Link<L>,
    mut range: KeyRange<L::Keys>,
    read_leaf: impl Fn(&L, &KeyRange<L::Keys>) -> LeafResult<R, L::Keys> + Copy + Send + 'static,
    mut take: impl FnMut(R) -> bool,
) -> Result<Option<KeyRange<L::Keys>>, JoinError> {
    let mut at = top();
    loop {
        let (found, rest) = reader.walk(at, move |at, node: &L| {
            read_leaf_of::<O, _, _>(at, node, &range, |leaf| read_leaf(leaf, &range))
        })?;
        let goes_on = take(found);
        let Some(rest) = rest else { return Ok(None) };
        range = rest.range;
        if !goes_on {
            return Ok(Some(range));
        }
        at = decode_link(rest.link).unwrap_or_else(&top);
    }
}

/// Reads the leaf of a range that comes first in this order, or steps towards it.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn read_leaf_of<O: Order, L: Layout, R>(
    at: Link<L>,
    node: &L,
    range: &KeyRange<L::Keys>,
    read_leaf: impl FnOnce(&L) -> R,
) -> Step<L, R> {
    if at.mark() == mark::LEAF {
        return Step::End(read_leaf(node));
    }
    let (DescendResult::Child(word) | DescendResult::Right(word)) = O::descend(node, range);
    step_to_link(word)
}

/// Starts a scan.
pub(super) fn begin<O: Order, S: Spawner, L: Layout, G: EntrySink<L::Keys>, F: Continuation<G::Result>>(
    at: S,
    root: RootRef<L>,
    range: KeyRange<L::Keys>,
    sink: G,
    then: F,
) {
    root.begin(at, Scan { root, range, sink, then, order: PhantomData::<fn(O)> });
}

struct Scan<O, L: Layout, G, F> {
    root: RootRef<L>,
    range: KeyRange<L::Keys>,
    sink: G,
    then: F,
    order: PhantomData<fn(O)>,
}

impl<O: Order, L: Layout, G: EntrySink<L::Keys>, F: Continuation<G::Result>> Operation<Root<L>>
    for Scan<O, L, G, F>
{
    fn start<S: Spawner>(self, at: S, root: &Root<L>, epoch: Epoch) {
        let top = root.link.get();
        epoch.annotate(at.task(top.read().part(L::FIRST))).visit(self);
    }
}

impl<O: Order, L: Layout, G: EntrySink<L::Keys>, F: Continuation<G::Result>> Visit for Scan<O, L, G, F> {
    type Target = L;
    type Output = Option<Rest<L::Keys>>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, at: Link<L>, node: &L) -> Part {
        if at.mark() == mark::LEAF { L::ALL } else { O::locate(node, &self.range) }
    }

    fn read(&self, at: Link<L>, node: &L) -> Step<L, Self::Output> {
        read_leaf_of::<O, _, _>(at, node, &self.range, |leaf| self.sink.read_leaf::<O, L>(leaf, &self.range))
    }

    fn then(mut self, rest: Self::Output, cx: &mut Context) {
        match (self.sink.commit(), rest) {
            (true, Some(Rest { range, link })) => {
                self.range = range;
                let next = decode_link(link).unwrap_or_else(|| self.root.get(cx).link.get());
                cx.task(next.read().part(L::FIRST)).visit(self);
            }
            (_, rest) => (self.then)(self.sink.finish(rest.map(|rest| rest.range), cx), cx),
        }
    }
}
