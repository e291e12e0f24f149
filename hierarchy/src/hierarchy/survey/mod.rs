//! Consistent reads of many nodes, in many short tasks.
//!
//! A survey is an optimistic transaction that only reads. Its tasks read a few granules each and
//! remember their versions. When all is read, the versions are compared: this is the validation. If
//! some granules were written meanwhile, only these are read again. After nine failed validations
//! the survey claims everything.
//!
//! | file | contents |
//! |---|---|
//! | `progress` | what has been read, and what is pending |
//! | `run` | the chain of tasks |

mod progress;
mod run;

use super::Hierarchy;
use super::claim::NodeRef;
use super::plan::NodeView;
use crate::Node;
use run::SurveyRun;
use std::collections::BTreeMap;
use xtasking::{Context, Handle, Promise, Runtime};

/// A consistent read of many nodes while other tasks write; made by [`Hierarchy::survey`].
#[derive(Clone, Debug)]
#[must_use = "a survey does nothing until it is run"]
pub struct Survey<T: Send + Sync + 'static> {
    tree: Hierarchy<T>,
    selected: Vec<Selected>,
}

/// A node to be read.
#[derive(Clone, Copy, Debug)]
struct Selected {
    node: Node,
    /// Whether its descendants are read, too.
    with_descendants: bool,
}

/// The user of a [survey](Survey::follow): says what to keep of each node, and receives the result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not survey nodes",
    label = "does not implement `Surveyor`",
    note = "implement `Surveyor`: it says what to keep of each node, and receives the result"
)]
pub trait Surveyor<T>: Send + 'static {
    /// What is kept of a node.
    type Output: Send + 'static;

    /// Reads a node. It is called again for the node if its granule was written since, and the
    /// earlier output is dropped. Hence outputs may be inconsistent with each other until the
    /// survey is validated; do not panic because of that.
    fn read_node(&mut self, node: NodeView<'_, T>) -> Self::Output;

    /// Called when a task has read `nodes` nodes, while it still holds their granules.
    fn nodes_read(&mut self, nodes: usize, cx: &mut Context) {
        _ = (nodes, cx);
    }

    /// Called before each validation, with the number of granules to validate. If none of them was
    /// written, this call is the survey's linearization point: each writer that the survey has seen
    /// ended before it, and each writer that it has not seen begins after it. Otherwise the
    /// validation fails, and this is called again later.
    fn before_validation(&mut self, granules: usize, cx: &mut Context) {
        _ = (granules, cx);
    }

    /// Receives the result, in a task that holds no granules.
    fn finish(self, result: SurveyResult<Self::Output>, cx: &mut Context);
}

/// The result of a [survey](Survey): what was kept of each node.
#[derive(Clone, Debug)]
pub struct SurveyResult<R> {
    entries: BTreeMap<Node, Entry<R>>,
    retries: u32,
    is_claimed: bool,
}

#[derive(Clone, Debug)]
struct Entry<R> {
    output: R,
    children: Box<[Node]>,
    /// Whether the children belong to the survey, too.
    with_descendants: bool,
}

impl<T: Send + Sync + 'static> Hierarchy<T> {
    /// Reads nodes, each with its descendants or [alone](NodeRef::alone), as they are at one
    /// moment. A writer waits at most for the reading of a few granules.
    ///
    /// The survey is *optimistic*. Tasks read a few granules each, and in the end the granules'
    /// versions tell which of them were written meanwhile. These are read again, with new
    /// descendants, and all is validated again. So even a long survey ends while there are
    /// occasional writes. After nine failed validations the survey [claims](Self::node)
    /// everything. (With a baseline, which does not count writes, it does so at once.)
    ///
    /// The result has each node once, even if it was selected several times, is below several
    /// selected nodes, or has several parents. A selected node that does not exist is left out.
    ///
    /// **Memory.** Until it ends, the survey keeps the output and the children of each node, and
    /// about 50 bytes more.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_hierarchy::{Hierarchy, Node, generate};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = Hierarchy::builder(generate::complete(2, 12)?).build(&rt, |_| 1u64);
    /// let all = tree.survey([tree.node(Node(1))]).submit(&rt, |node| *node.value()).join()?;
    /// assert_eq!(all.values().sum::<u64>(), 2047);
    /// // Nodes of the other half: its topmost node, and one that the first sub-tree has anyway.
    /// let nodes = [tree.node(Node(1)), tree.node(Node(2)).alone(), tree.node(Node(3))];
    /// assert_eq!(tree.survey(nodes).submit(&rt, |_| ()).join()?.len(), 2048);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if a node is of another hierarchy.
    pub fn survey<'g>(&self, nodes: impl IntoIterator<Item = NodeRef<'g, T>>) -> Survey<T> {
        let select = |at: NodeRef<'g, T>| {
            let (node, alone) = at.of(self);
            Selected { node, with_descendants: !alone }
        };
        Survey { tree: self.clone(), selected: nodes.into_iter().map(select).collect() }
    }
}

impl<T: Send + Sync + 'static> Survey<T> {
    /// Runs the survey and keeps what `read` returns for each node. `read` may be called several
    /// times for a node; only the last output counts. It must not panic if nodes are inconsistent
    /// with each other: see [`Surveyor::read_node`].
    ///
    /// The handle fails with [`JoinError::Abandoned`](xtasking::JoinError::Abandoned) if `read`
    /// panics, or if data are poisoned.
    pub fn submit<R, F>(self, rt: &Runtime, read: F) -> Handle<SurveyResult<R>>
    where
        R: Send + 'static,
        F: FnMut(NodeView<'_, T>) -> R + Send + 'static,
    {
        let (promise, handle) = rt.promise();
        let surveyor = ClosureSurveyor { read, promise };
        rt.task(()).of(&rt.group()).spawn(move |(), cx| self.follow(cx, surveyor));
        handle
    }

    /// Runs the survey in follow-ups of the running task, which are members of that task's group.
    /// If the surveyor panics, or if data are poisoned, one of them fails, and the surveyor is
    /// dropped.
    ///
    /// # Panics
    ///
    /// Panics if the running task is not a member of a group.
    pub fn follow<S: Surveyor<T>>(self, cx: &mut Context, surveyor: S) {
        SurveyRun::begin(self, surveyor, cx);
    }
}

/// Keeps what a closure returns.
struct ClosureSurveyor<F, R: Send> {
    read: F,
    promise: Promise<SurveyResult<R>>,
}

impl<T, R, F> Surveyor<T> for ClosureSurveyor<F, R>
where
    R: Send + 'static,
    F: FnMut(NodeView<'_, T>) -> R + Send + 'static,
{
    type Output = R;

    fn read_node(&mut self, node: NodeView<'_, T>) -> R {
        (self.read)(node)
    }

    fn finish(self, result: SurveyResult<R>, _: &mut Context) {
        self.promise.fulfil(result);
    }
}

impl<R> SurveyResult<R> {
    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the survey has no nodes, because none of the selected ones exists.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns what was kept of a node, if the survey has it.
    pub fn get(&self, node: Node) -> Option<&R> {
        self.entries.get(&node).map(|entry| &entry.output)
    }

    /// Returns the children of a node, in order, if the survey has the node. The survey has the
    /// children as well, unless it reads the node alone.
    pub fn children(&self, node: Node) -> Option<&[Node]> {
        self.entries.get(&node).map(|entry| &*entry.children)
    }

    /// Returns all nodes in ascending order, each with what was kept of it.
    pub fn iter(&self) -> impl Iterator<Item = (Node, &R)> {
        self.entries.iter().map(|(&node, entry)| (node, &entry.output))
    }

    /// Returns what was kept of each node, in ascending order of the nodes.
    pub fn values(&self) -> impl Iterator<Item = &R> {
        self.entries.values().map(|entry| &entry.output)
    }

    /// Returns the number of failed validations.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Returns true if the survey has claimed everything in the end.
    pub fn is_claimed(&self) -> bool {
        self.is_claimed
    }
}

/// All nodes in ascending order, each with what was kept of it.
impl<R> IntoIterator for SurveyResult<R> {
    type Item = (Node, R);
    type IntoIter = SurveyIntoIter<R>;

    fn into_iter(self) -> SurveyIntoIter<R> {
        SurveyIntoIter(self.entries.into_iter())
    }
}

/// An iterator over the nodes of a [`SurveyResult`], each with what was kept of it.
#[derive(Debug)]
pub struct SurveyIntoIter<R>(std::collections::btree_map::IntoIter<Node, Entry<R>>);

impl<R> Iterator for SurveyIntoIter<R> {
    type Item = (Node, R);

    fn next(&mut self) -> Option<(Node, R)> {
        self.0.next().map(|(node, entry)| (node, entry.output))
    }
}
