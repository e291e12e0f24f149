//! Looking a key up: one task a node, each naming the node's first lines, and then the lines that these tell.

use super::{link_of, mark};
use crate::node::{Down, Found, Layout};
use core::marker::PhantomData;
use xtasking::{Context, Link, Part, Spawner, Visit};

/// Begins a lookup at the topmost node.
#[inline(always)]
pub(super) fn begin<S, L, F>(at: S, top: Link<L>, key: u64, then: F)
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

/// What a node says.
enum Answer {
    /// Go on at this link.
    On(u64),
    /// This is the value, if any.
    Value(Option<u64>),
}

impl<L, F> Visit for Lookup<L, F>
where
    L: Layout,
    F: FnOnce(Option<u64>, &mut Context) + Send + 'static,
{
    type Target = L;
    type Output = Answer;

    const LOCATES: bool = true;

    #[inline(always)]
    fn locate(&self, _: Link<L>, node: &L) -> Part {
        node.locate(self.key)
    }

    #[inline(always)]
    fn read(&self, at: Link<L>, node: &L) -> Answer {
        if at.mark() == mark::LEAF {
            match node.find(self.key) {
                Found::Value(value) => Answer::Value(Some(value)),
                Found::Missing => Answer::Value(None),
                Found::Right(link) => Answer::On(link),
            }
        } else {
            match node.descend(self.key) {
                Down::Child(link) | Down::Right(link) => Answer::On(link),
            }
        }
    }

    #[inline(always)]
    fn then(self, answer: Answer, cx: &mut Context) {
        match answer {
            Answer::Value(value) => (self.then)(value, cx),
            Answer::On(word) => {
                if let Some(next) = link_of::<L>(word) {
                    cx.task(next.read().part(L::FIRST)).visit(self);
                }
            }
        }
    }
}
