//! The crate `xtasking-hierarchy`: each insert is a task that writes the parent.

use super::super::contender::Entry;
use super::super::growth::Inserter;
use super::tasks::{Growing, OnRuntime, RootTask, TaskTree};
use std::sync::Arc;
use xtasking::{Context, Handle, JoinError, Runtime};
use xtasking_hierarchy::{Hierarchy, Node, Shape, View};

pub(super) const ENTRY: Entry = Entry {
    name: "xtasking",
    about: "xtasking-hierarchy, a task for each insert, which claims to write the parent",
    is_parallel: true,
    start: OnRuntime::<Hierarchy<u32>>::boxed,
    more: (),
};

impl TaskTree for Hierarchy<u32> {
    fn new(rt: &Runtime) -> Self {
        let shape = Shape::from_edges(1, &[]).expect("one node has no cycle");
        Hierarchy::builder(shape).build(rt, |_| 0)
    }

    fn root(&self) -> u64 {
        0
    }

    fn insert(growing: &Arc<Growing<Self>>, node: (u32, u32), inserter: Inserter, cx: &mut Context) {
        let (number, parent) = node;
        let (above, next) = (Node(growing.growth.handle(parent) as u32), growing.clone());
        let claim = growing.tree.node(above).alone().write().unordered();
        cx.task(()).as_sibling().claim(claim).spawn_with(move |(), held, cx| {
            let inserted = View::new(held).insert(above, number, cx);
            let inserted = inserted.expect("there are numbers for all nodes");
            next.growth.inserted(node, inserted.0.into());
            next.proceed(inserter, cx);
        });
    }

    fn links(&self, rt: &Runtime) -> Result<Vec<(u32, u32)>, JoinError> {
        let task = rt.task(()).claim(self.read_all()).submit_with(|(), held, _| {
            let view = View::new(held);
            let of = |node| {
                let children = view.children(node).iter();
                children.map(|&child| (view[node], view[child])).collect::<Vec<_>>()
            };
            view.subtree(Node(0)).flat_map(of).collect()
        });
        task.join()
    }

    fn write(&self, task: RootTask<'_>, node: u64, body: impl FnOnce() + Send + 'static) -> Handle<()> {
        task.claim(self.node(Node(node as u32)).write().unordered()).submit_with(move |(), _, _| body())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tasks::exclude;
    use super::*;
    use xtasking::QueuePolicy;

    /// Tasks exclude each other if, and only if, they claim a common granule.
    #[test]
    fn what_runs_agrees_with_the_granules() {
        let rt = Runtime::builder().workers(2).pool(QueuePolicy::WorkStealing).build().unwrap();
        let shape = xtasking_hierarchy::generate::complete(4, 5).unwrap();
        let nodes = Hierarchy::builder(shape).granules(20).build(&rt, |node| node.0);
        let granules = |node| {
            let claim = nodes.node(Node(node)).write();
            let task = rt
                .task(())
                .claim(claim)
                .submit_with(|(), held, _| held.granules().map(|(granule, _)| granule).collect::<Vec<_>>());
            task.join().unwrap()
        };
        let granules: Vec<_> = (0..85).map(granules).collect();
        let mut counts = [0; 2];
        for one in (1..85).step_by(7) {
            for other in (2..85).step_by(5) {
                let [a, b] = [one, other].map(|node: usize| &granules[node]);
                let meet = a.iter().any(|granule| b.contains(granule));
                let excluded = exclude(&rt, &nodes, (one as u64, other as u64)).unwrap();
                assert_eq!(excluded, meet, "{one} {other}");
                counts[usize::from(meet)] += 1;
            }
        }
        assert!(counts[0] > 10 && counts[1] > 10, "{counts:?}");
    }
}
