//! The handle that keeps a tree, and references that make claims.

use super::claim::TreeClaim;
use super::inner::{TreeInner, TreePtr};
use super::node::Node;
use super::plan::{Named, Planned};
use super::table::TreeTable;
use super::tree_plan::TreePlan;
use crate::memory::EpochBox;
use crate::scheduler::Runtime;
use core::fmt;

/// A handle to a tree of nodes, with data at each, of which tasks claim parts; made by
/// [`Runtime::tree`]. Clones are handles to the same tree.
///
/// See [the module](super) for what a claim costs and which claims clash.
pub struct Tree<D: Send + Sync + 'static> {
    inner: EpochBox<TreeInner<D>>,
}

impl Runtime {
    /// Creates a tree of one node, the root, with these data.
    ///
    /// ```
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = rt.tree("root");
    /// let root = tree.root();
    /// let task = rt.task(()).claim(tree.write_alone(root));
    /// let leaf = task.submit_with(move |(), mut nodes, _| nodes.insert(root, "leaf")).join()??;
    /// let task = rt.task(()).claim(tree.read(root));
    /// let names = task.submit_with(move |(), nodes, _| {
    ///     let names = nodes.subtree(root)?.map(|(_, name)| *name);
    ///     Ok::<_, xtasking::trees::TreeError>(names.collect())
    /// });
    /// let names: Vec<&str> = names.join()??;
    /// assert_eq!(names, ["root", "leaf"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tree<D: Send + Sync + 'static>(&self, root: D) -> Tree<D> {
        Tree { inner: EpochBox::new(TreeInner::new(self.shared().clone(), root)) }
    }
}

/// A tree that a handle or a running task keeps: makes claims, like a [`Tree`].
pub struct TreeRef<'t, D: Send + Sync + 'static> {
    inner: &'t TreeInner<D>,
    /// Slot of the epoch that keeps the tree, if no handle does: a task must be of it, too.
    operation: Option<u8>,
}

impl<D: Send + Sync + 'static> Clone for TreeRef<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Send + Sync + 'static> Copy for TreeRef<'_, D> {}

impl<D: Send + Sync + 'static> TreeInner<D> {
    /// Returns the tree as a task of this operation may use it.
    pub fn within(&self, operation: u8) -> TreeRef<'_, D> {
        TreeRef { inner: self, operation: Some(operation) }
    }
}

impl<'t, D: Send + Sync + 'static> TreeRef<'t, D> {
    /// Returns the root, which always exists.
    pub fn root(self) -> Node {
        TreeTable::ROOT
    }

    /// Creates a claim to read a node and all nodes below it.
    pub fn read(self, node: Node) -> TreeClaim<'t, Named<D>> {
        self.nothing().and_read(node)
    }

    /// Creates a claim to write a node and all nodes below it.
    pub fn write(self, node: Node) -> TreeClaim<'t, Named<D>> {
        self.nothing().and_write(node)
    }

    /// Creates a claim to read a node without those below.
    pub fn read_alone(self, node: Node) -> TreeClaim<'t, Named<D>> {
        self.nothing().and_read_alone(node)
    }

    /// Creates a claim to write a node without those below.
    pub fn write_alone(self, node: Node) -> TreeClaim<'t, Named<D>> {
        self.nothing().and_write_alone(node)
    }

    /// Creates a claim to what a plan names: see [`Tree::planned`].
    pub fn planned<P, R>(self, plan: P) -> TreeClaim<'t, Planned<D, P, R>>
    where
        P: FnMut(&mut TreePlan<'_, '_, D>) -> R + Send + 'static,
        R: Send + 'static,
    {
        self.claim(Planned { tree: self.pointer(), plan, found: None })
    }

    fn nothing(self) -> TreeClaim<'t, Named<D>> {
        self.claim(Named { tree: self.pointer(), targets: Default::default() })
    }

    fn claim<Q>(self, request: Q) -> TreeClaim<'t, Q> {
        TreeClaim::new(request, self.operation)
    }

    fn pointer(self) -> TreePtr<D> {
        TreePtr::new(self.inner)
    }
}

impl<D: Send + Sync + 'static> Tree<D> {
    /// Returns the root, which always exists.
    pub fn root(&self) -> Node {
        TreeTable::ROOT
    }

    /// Creates a claim to read a node and all nodes below it, by [links](super::Nodes::link) as
    /// well. A node that does not exist is not claimed; the body finds that it is
    /// [missing](super::TreeError::Missing).
    pub fn read(&self, node: Node) -> TreeClaim<'_, Named<D>> {
        self.by_ref().read(node)
    }

    /// Creates a claim to write a node and all nodes below it, by [links](super::Nodes::link) as
    /// well.
    pub fn write(&self, node: Node) -> TreeClaim<'_, Named<D>> {
        self.by_ref().write(node)
    }

    /// Creates a claim to read a node without those below.
    pub fn read_alone(&self, node: Node) -> TreeClaim<'_, Named<D>> {
        self.by_ref().read_alone(node)
    }

    /// Creates a claim to write a node without those below. That is what it takes to insert
    /// children.
    pub fn write_alone(&self, node: Node) -> TreeClaim<'_, Named<D>> {
        self.by_ref().write_alone(node)
    }

    /// Creates a claim to what a plan names, which depends on what it sees in the tree. What the
    /// plan returns goes to the body.
    ///
    /// The spawner calls the plan when the task is spawned. What it looks at the task holds, so it
    /// stays the same until the task is over. If other tasks are in the way, the task gives back
    /// all that it holds, waits for what was named, and then the plan is called again. As no task
    /// holds nodes while it waits for others, there is no deadlock.
    ///
    /// The plan should be short, and depend on nothing but what it sees. If it panics, so does the
    /// task. If it was called 16 times, the task claims the whole tree.
    ///
    /// ```
    /// use xtasking::{Runtime, trees::Node};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tree = rt.tree(("/", 0));
    /// let root = tree.root();
    /// let fill = rt.task(()).claim(tree.write_alone(root)).submit_with(move |(), mut nodes, _| {
    ///     nodes.insert(root, ("home", 1))?;
    ///     nodes.insert(root, ("tmp", 2))
    /// });
    /// fill.join()??;
    ///
    /// // Looks a name up, and writes the node that it stands for.
    /// let claim = tree.planned(move |plan| {
    ///     let children = plan.children(root)?;
    ///     let is_tmp = |child: &&Node| plan.peek(**child).is_some_and(|data| data.0 == "tmp");
    ///     let found = children.iter().find(is_tmp);
    ///     found.inspect(|&&node| plan.write_alone(node)).copied()
    /// });
    /// let task = rt.task(()).claim(claim).submit_with(|(), (found, mut nodes), _| {
    ///     let found: Node = found.expect("there is one");
    ///     let data = nodes.get_mut(found)?;
    ///     data.1 += 10;
    ///     Ok::<_, xtasking::trees::TreeError>(data.1)
    /// });
    /// assert_eq!(task.join()??, 12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn planned<P, R>(&self, plan: P) -> TreeClaim<'_, Planned<D, P, R>>
    where
        P: FnMut(&mut TreePlan<'_, '_, D>) -> R + Send + 'static,
        R: Send + 'static,
    {
        self.by_ref().planned(plan)
    }

    /// Returns true if a node exists. It may be removed meanwhile.
    pub fn contains(&self, node: Node) -> bool {
        self.inner().table.find(node).is_some()
    }

    /// Returns true if a task has panicked after it had written the node. Later tasks that claim
    /// it fail with [`JoinError::Poisoned`](crate::JoinError::Poisoned), until one has
    /// [repaired](TreeClaim::even_poisoned) it.
    pub fn is_poisoned(&self, node: Node) -> bool {
        self.inner().table.is_poisoned(node)
    }

    /// Returns a reference by which claims are made, as a running task has one.
    pub fn by_ref(&self) -> TreeRef<'_, D> {
        TreeRef { inner: self.inner(), operation: None }
    }

    fn inner(&self) -> &TreeInner<D> {
        self.inner.get()
    }
}

impl<D: Send + Sync + 'static> Clone for Tree<D> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

impl<D: Send + Sync + 'static> fmt::Debug for Tree<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").finish_non_exhaustive()
    }
}

impl<D: Send + Sync + 'static> fmt::Debug for TreeRef<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeRef").finish_non_exhaustive()
    }
}
