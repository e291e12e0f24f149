//! Looking up a key: one task per node. It first names the node's first cache lines, then the lines
//! that these point out.

use super::links::{mark, step_to_link};
use super::root::{Continuation, Operation, RootRef};
use crate::node::{DescendResult, FindResult, Layout};
use core::marker::PhantomData;
use xtasking::{
    Context, Part,
    arena::{Link, Step, Visit},
    task::Spawner,
};

/// Starts a lookup.
#[inline(always)]
pub(super) fn begin<S: Spawner, L: Layout, F: Continuation<Option<u64>>>(
    at: S,
    root: RootRef<L>,
    key: u64,
    then: F,
) {
    root.begin(at, Lookup { key, then, layout: PhantomData });
}

struct Lookup<L, F> {
    key: u64,
    then: F,
    layout: PhantomData<fn(L)>,
}

impl<L: Layout, F: Continuation<Option<u64>>> Operation<L> for Lookup<L, F> {
    #[inline(always)]
    fn start<S: Spawner>(self, at: S, top: Link<L>) {
        at.task(top.read().part(L::FIRST)).begin_operation().visit(self);
    }
}

impl<L: Layout, F: Continuation<Option<u64>>> Visit for Lookup<L, F> {
    type Target = L;
    type Output = Option<u64>;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.key)
    }

    #[inline(always)]
    fn read(&self, at: Link<L>, node: &L) -> Step<L, Option<u64>> {
        if at.mark() == mark::LEAF {
            match node.find(self.key) {
                FindResult::Value(value) => Step::End(Some(value)),
                FindResult::Missing => Step::End(None),
                FindResult::Right(word) => step_to_link(word),
            }
        } else {
            let (DescendResult::Child(word) | DescendResult::Right(word)) = node.descend(self.key);
            step_to_link(word)
        }
    }

    #[inline(always)]
    fn then(self, value: Option<u64>, cx: &mut Context) {
        (self.then)(value, cx);
    }
}
