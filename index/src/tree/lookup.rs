//! Looking up a key: one task per node. It first names the node's first cache lines, then the lines
//! that these point out.

use super::links::{mark, step_to_link};
use super::root::RootRef;
use crate::node::{DescendResult, FindResult, Layout};
use core::marker::PhantomData;
use xtasking::{
    Context, Part,
    arena::{Link, Step, Visit},
    task::Spawner,
};

/// Starts a lookup.
#[inline(always)]
pub(super) fn begin<S, L, F>(at: S, root: RootRef<L>, key: u64, then: F)
where
    S: Spawner,
    L: Layout,
    F: FnOnce(Option<u64>, &mut Context) + Send + 'static,
{
    if S::IN_TASK {
        let top = root.top(&at);
        start(at, top, key, then);
    } else {
        at.task(()).spawn(move |(), cx| {
            let top = root.top(&cx);
            start(cx, top, key, then);
        });
    }
}

/// Starts a lookup at the topmost node.
#[inline(always)]
fn start<S, L, F>(at: S, top: Link<L>, key: u64, then: F)
where
    S: Spawner,
    L: Layout,
    F: FnOnce(Option<u64>, &mut Context) + Send + 'static,
{
    at.task(top.read().part(L::FIRST)).begin_operation().visit(Lookup { key, then, layout: PhantomData });
}

struct Lookup<L, F> {
    key: u64,
    then: F,
    layout: PhantomData<fn(L)>,
}

impl<L, F> Visit for Lookup<L, F>
where
    L: Layout,
    F: FnOnce(Option<u64>, &mut Context) + Send + 'static,
{
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
