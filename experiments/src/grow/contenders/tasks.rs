//! A tree that grows by tasks of this runtime.
//!
//! Another way to keep tasks apart is a file with a [`TaskTree`] and an entry.

use super::super::contender::Contender;
use super::super::encounter::Encounter;
use super::super::growth::{Growth, Inserter};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::{Context, Handle, JoinError, QueuePolicy, Runtime, TaskBuilder};
use xtasking_harness::failure::{Failure, Wrong};
use xtasking_harness::lineup::cannot_start;
use xtasking_harness::page;

/// A tree whose inserts are tasks. The data of a node are its number. Nodes are named by the bits
/// of their handles.
pub(super) trait TaskTree: Send + Sync + Sized + 'static {
    /// Creates a tree that consists of its root.
    fn new(rt: &Runtime) -> Self;

    /// Returns the handle of the root.
    fn root(&self) -> u64;

    /// Spawns a task that inserts a node as the last child of its parent, notes it, and
    /// [proceeds](Growing::proceed).
    fn insert(growing: &Arc<Growing<Self>>, node: (u32, u32), inserter: Inserter, cx: &mut Context);

    /// Returns all links from parents to children, as numbers of nodes.
    ///
    /// # Errors
    ///
    /// If the task that reads them fails.
    fn links(&self, rt: &Runtime) -> Result<Vec<(u32, u32)>, JoinError>;

    /// Submits a task that claims to write the sub-tree of a node, and runs this body.
    fn write(&self, task: RootTask<'_>, node: u64, body: impl FnOnce() + Send + 'static) -> Handle<()>;
}

/// A task that is to be submitted from outside of the runtime.
pub(super) type RootTask<'r> = TaskBuilder<&'r Runtime, ()>;

/// What the tasks share while the tree grows.
pub(super) struct Growing<T> {
    pub tree: T,
    pub growth: Arc<Growth>,
}

/// A runtime, and the tree that has grown last, which is dropped before.
pub(super) struct OnRuntime<T> {
    tree: Arc<Growing<T>>,
    rt: Runtime,
}

/// Inserts in flight for each worker.
const CLIENTS: usize = 4;

fn failed(error: JoinError) -> Wrong {
    Wrong::new(format!("a task failed: {error}"))
}

impl<T: TaskTree> Growing<T> {
    fn new(rt: &Runtime, growth: &Arc<Growth>) -> Arc<Self> {
        Arc::new(Self { tree: T::new(rt), growth: growth.clone() })
    }

    /// Inserts the next node of a client, if it has one.
    pub fn proceed(self: &Arc<Self>, mut inserter: Inserter, cx: &mut Context) {
        if let Some(node) = self.growth.next(&mut inserter) {
            T::insert(self, node, inserter, cx);
        }
    }
}

impl<T: TaskTree> OnRuntime<T> {
    /// Starts a runtime with a tree of one node.
    ///
    /// # Errors
    ///
    /// If the runtime cannot start.
    pub fn boxed(workers: usize) -> Result<Box<dyn Contender>, Failure> {
        let builder = Runtime::builder().workers(workers).pool(QueuePolicy::WorkStealing);
        let rt = page::start(builder).map_err(|error| cannot_start("xtasking", workers, &error))?;
        Ok(Box::new(Self { tree: Growing::new(&rt, &Arc::new(Growth::new(1, 0))), rt }))
    }
}

/// Returns true if tasks on two sub-trees exclude each other.
pub(super) fn exclude<T: TaskTree>(
    rt: &Runtime,
    tree: &T,
    (one, other): (u64, u64),
) -> Result<bool, JoinError> {
    let encounter = Arc::new(Encounter::default());
    let (holding, passing) = (encounter.clone(), encounter.clone());
    let on_worker = |worker| rt.task(()).core(worker);
    let first = tree.write(on_worker(0), one, move || holding.hold());
    encounter.wait_until_held();
    let second = tree.write(on_worker(1), other, move || passing.pass());
    // This worker has come to the second task before.
    let had_chance = on_worker(1).submit(|(), _| ()).join();
    let is_excluded = encounter.release();
    had_chance.and(first.join()).and(second.join())?;
    Ok(is_excluded)
}

impl<T: TaskTree> Contender for OnRuntime<T> {
    fn grow(&mut self, growth: &Arc<Growth>) -> Result<Duration, Wrong> {
        self.tree = Growing::new(&self.rt, growth);
        growth.begin(self.tree.tree.root());
        let (group, began) = (self.rt.group(), Instant::now());
        for inserter in growth.inserters((CLIENTS * self.rt.workers()) as u32) {
            let tree = self.tree.clone();
            self.rt.task(()).of(&group).spawn(move |(), cx| tree.proceed(inserter, cx));
        }
        group.wait().map_err(failed)?;
        Ok(began.elapsed())
    }

    fn links(&mut self) -> Result<Vec<(u32, u32)>, Wrong> {
        self.tree.tree.links(&self.rt).map_err(failed)
    }

    fn count_exclusive(&mut self, growth: &Growth, pairs: &[(u32, u32)]) -> Result<Option<usize>, Wrong> {
        if self.rt.workers() < 2 {
            return Ok(None);
        }
        let mut count = 0;
        for &(one, other) in pairs {
            let nodes = (growth.handle(one), growth.handle(other));
            count += usize::from(exclude(&self.rt, &self.tree.tree, nodes).map_err(failed)?);
        }
        Ok(Some(count))
    }
}
