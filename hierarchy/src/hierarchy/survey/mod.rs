//! Long looks at many nodes, in many short tasks.
//!
//! | file | what it holds |
//! |---|---|
//! | `found` | what has been looked at so far, and what is to come |
//! | `course` | the tasks |

mod course;
mod found;

use super::Hierarchy;
use super::touch::{At, Seen};
use crate::Node;
use course::Course;
use std::collections::BTreeMap;
use xtasking::{Context, Handle, Promise, Runtime};

/// Nodes to be looked at as they are at one moment, while others write; made by [`Hierarchy::survey`].
#[derive(Clone, Debug)]
#[must_use = "it is for tasks"]
pub struct Survey<T: Send + Sync + 'static> {
    tree: Hierarchy<T>,
    named: Vec<Named>,
}

/// A node that is named, or is below one.
#[derive(Clone, Copy, Debug)]
struct Named {
    node: Node,
    /// With all below it.
    below: bool,
}

/// Whoever makes a [survey](Survey::follow): what is kept of each node, and what is done with it.
pub trait Surveyor<T>: Send + 'static {
    /// What is kept of a node.
    type Kept: Send + 'static;

    /// Looks at a node. It is looked at again if it was written meanwhile, or another one of its granule, and what was kept is
    /// dropped then. So nodes may come that do not fit together, and nothing may fail for that.
    fn look(&mut self, seen: Seen<'_, T>) -> Self::Kept;

    /// A task has looked at so many nodes, whose granules it still has.
    fn looked(&mut self, nodes: usize, cx: &mut Context) {
        _ = (nodes, cx);
    }

    /// All has been looked at, and so many granules come to be compared. If nobody has written there, this is the moment that the
    /// survey tells of: whoever has written what it saw has begun and ended before, and whoever wrote anything there later, or will,
    /// has begun after this. If somebody has, it is called again later, and this call was in vain.
    fn moment(&mut self, granules: usize, cx: &mut Context) {
        _ = (granules, cx);
    }

    /// It is over: what was kept of all nodes. This is in a task that has nothing.
    fn over(self, surveyed: Surveyed<Self::Kept>, cx: &mut Context);
}

/// What a [survey](Survey) has kept of each node that it has looked at.
#[derive(Clone, Debug)]
pub struct Surveyed<R> {
    entries: BTreeMap<Node, Entry<R>>,
    repeats: u32,
    is_claimed: bool,
}

#[derive(Clone, Debug)]
struct Entry<R> {
    kept: R,
    children: Box<[Node]>,
    /// Whether its children belong to it as well.
    below: bool,
}

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// A long look at nodes, each with all below it or [alone](At::alone), as they are at one moment, though nobody who writes has to
    /// wait for longer than it takes to look at a few granules.
    ///
    /// It is *optimistic*: task after task looks at some granules, and in the end their versions tell whether any of them was written
    /// meanwhile. Those are looked at again, and what has come below them, and all is compared once more; so long surveys come to an
    /// end as well, where a little is always written. If that has been in vain eight times, there is a [claim](Self::node) to all of it.
    /// (Where other controls than [lines](xtasking::Control::Lines) keep tasks apart, there is one at once.)
    ///
    /// A node that is named several times, is below several named ones, or has several parents, is in it once. A named node that is
    /// not there when it is looked for is left out.
    ///
    /// **Costs.** Something is kept of each node, besides its children and 50 bytes or so, until all of it is looked at.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_hierarchy::{Hierarchy, Node, generate};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Hierarchy::builder(generate::complete(2, 12)?).build(&rt, |_| 1u64);
    /// let all = tree.survey([tree.node(Node(1))]).submit(&rt, |seen| *seen.value()).join()?;
    /// assert_eq!(all.values().sum::<u64>(), 2047);
    /// // Of the other half, the topmost node, and one that is in it anyway.
    /// let named = [tree.node(Node(1)), tree.node(Node(2)).alone(), tree.node(Node(3))];
    /// assert_eq!(tree.survey(named).submit(&rt, |_| ()).join()?.len(), 2048);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If they are nodes of another hierarchy.
    pub fn survey<'g>(&self, nodes: impl IntoIterator<Item = At<'g, T>>) -> Survey<T> {
        let name = |at: At<'g, T>| {
            let (node, alone) = at.of(self);
            Named { node, below: !alone }
        };
        Survey { tree: self.clone(), named: nodes.into_iter().map(name).collect() }
    }
}

impl<T: Send + Sync + 'static> Survey<T> {
    /// Makes it, and keeps of each node what `look` tells of it. It may be called more than once for a node, for what came first is
    /// dropped, and must not fail if nodes do not fit together: see [`Surveyor::look`].
    ///
    /// The handle says [`JoinError::Abandoned`](xtasking::JoinError::Abandoned) if a look panics, or data are poisoned.
    pub fn submit<R, F>(self, rt: &Runtime, look: F) -> Handle<Surveyed<R>>
    where
        R: Send + 'static,
        F: FnMut(Seen<'_, T>) -> R + Send + 'static,
    {
        let (promise, handle) = rt.promise();
        let surveyor = Plain { look, promise };
        rt.task(()).of(&rt.group()).spawn(move |(), cx| self.follow(cx, surveyor));
        handle
    }

    /// Makes it in follow-ups of the running task, all of them members of the group that this one is a member of. If a look panics, or
    /// data are poisoned, one of them fails, and the surveyor is dropped.
    ///
    /// # Panics
    ///
    /// If the running task is a member of no group.
    pub fn follow<S: Surveyor<T>>(self, cx: &mut Context, surveyor: S) {
        Course::begin(self, surveyor, cx);
    }
}

/// Keeps what somebody's function tells.
struct Plain<F, R: Send> {
    look: F,
    promise: Promise<Surveyed<R>>,
}

impl<T, R, F> Surveyor<T> for Plain<F, R>
where
    R: Send + 'static,
    F: FnMut(Seen<'_, T>) -> R + Send + 'static,
{
    type Kept = R;

    fn look(&mut self, seen: Seen<'_, T>) -> R {
        (self.look)(seen)
    }

    fn over(self, surveyed: Surveyed<R>, _: &mut Context) {
        self.promise.fulfil(surveyed);
    }
}

impl<R> Surveyed<R> {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none, as no node was there that was named.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What was kept of a node, if it is among them.
    pub fn get(&self, node: Node) -> Option<&R> {
        self.entries.get(&node).map(|entry| &entry.kept)
    }

    /// The children of a node, in order, if it is among them; they are as well, unless the node was looked at alone.
    pub fn children(&self, node: Node) -> Option<&[Node]> {
        self.entries.get(&node).map(|entry| &*entry.children)
    }

    /// All nodes by their numbers, and what was kept of each.
    pub fn iter(&self) -> impl Iterator<Item = (Node, &R)> {
        self.entries.iter().map(|(&node, entry)| (node, &entry.kept))
    }

    /// What was kept of all nodes, in the order of their numbers.
    pub fn values(&self) -> impl Iterator<Item = &R> {
        self.entries.values().map(|entry| &entry.kept)
    }

    /// How often it was compared in vain, as something had been written meanwhile.
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Whether there was a claim to all of it in the end.
    pub fn is_claimed(&self) -> bool {
        self.is_claimed
    }
}

/// All nodes by their numbers, with what was kept of each.
impl<R> IntoIterator for Surveyed<R> {
    type Item = (Node, R);
    type IntoIter = IntoNodes<R>;

    fn into_iter(self) -> IntoNodes<R> {
        IntoNodes(self.entries.into_iter())
    }
}

/// What was kept of nodes: see [`Surveyed`].
#[derive(Debug)]
pub struct IntoNodes<R>(std::collections::btree_map::IntoIter<Node, Entry<R>>);

impl<R> Iterator for IntoNodes<R> {
    type Item = (Node, R);

    fn next(&mut self) -> Option<(Node, R)> {
        self.0.next().map(|(node, entry)| (node, entry.kept))
    }
}
