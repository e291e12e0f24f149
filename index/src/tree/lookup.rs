//! Looking up a key: one task per node. It first names the node's first cache lines, then the lines
//! that these point out. A plain thread reads the same nodes without a task.

use super::links::{mark, step_to_link};
use super::root::{Root, RootRef};
use crate::key_space::EncodedKey;
use crate::node::{DescendResult, FindResult, KeyRef, Layout};
use crate::root::{Continuation, Epoch, Operation};
use core::marker::PhantomData;
use xtasking::{
    Context, JoinError, Part,
    arena::{Link, Reader, Step, Visit},
    task::Spawner,
};

/// Looks up a key from the topmost node on, without a task. The reader must be older than the look
/// at the link.
#[inline]
pub(super) fn get<L: Layout, Q: EncodedKey<L::Keys> + 'static>(
    reader: &Reader<'_>,
    top: Link<L>,
    key: Q,
) -> Result<Option<u64>, JoinError> {
    reader.walk(top, move |at, node| read_node(key.key(), at, node))
}

/// Reads a node on the path to a key.
#[cfg_attr(not(debug_assertions), inline(always))]
fn read_node<L: Layout>(key: KeyRef<'_, L>, at: Link<L>, node: &L) -> Step<L, Option<u64>> {
    if at.mark() == mark::LEAF {
        match node.find(key) {
            FindResult::Value(value) => Step::End(Some(value)),
            FindResult::Missing => Step::End(None),
            FindResult::Right(word) => step_to_link(word),
        }
    } else {
        let (DescendResult::Child(word) | DescendResult::Right(word)) = node.descend(key);
        step_to_link(word)
    }
}

/// Starts a lookup.
#[inline(always)]
pub(super) fn begin<S, L, Q, F>(at: S, root: RootRef<L>, key: Q, then: F)
where
    S: Spawner,
    L: Layout,
    Q: EncodedKey<L::Keys> + 'static,
    F: Continuation<Option<u64>>,
{
    root.begin(at, Lookup { key, then, layout: PhantomData });
}

struct Lookup<L, Q, F> {
    key: Q,
    then: F,
    layout: PhantomData<fn(L)>,
}

impl<L, Q, F> Operation<Root<L>> for Lookup<L, Q, F>
where
    L: Layout,
    Q: EncodedKey<L::Keys> + 'static,
    F: Continuation<Option<u64>>,
{
    #[inline(always)]
    fn start<S: Spawner>(self, at: S, root: &Root<L>, epoch: Epoch) {
        let top = root.link.get();
        epoch.annotate(at.task(top.read().part(L::FIRST))).visit(self);
    }
}

impl<L, Q, F> Visit for Lookup<L, Q, F>
where
    L: Layout,
    Q: EncodedKey<L::Keys> + 'static,
    F: Continuation<Option<u64>>,
{
    type Target = L;
    type Output = Option<u64>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.key.key())
    }

    #[inline(always)]
    fn read(&self, at: Link<L>, node: &L) -> Step<L, Option<u64>> {
        read_node(self.key.key(), at, node)
    }

    #[inline(always)]
    fn then(self, value: Option<u64>, cx: &mut Context) {
        (self.then)(value, cx);
    }
}
