//! The trees of the runtime: each insert is a task that writes the parent.

use super::super::contender::Entry;
use super::super::growth::Inserter;
use super::tasks::{Growing, OnRuntime, RootTask, TaskTree};
use std::sync::Arc;
use xtasking::trees::{Node, Nodes, Tree, TreeError};
use xtasking::{Context, Handle, JoinError, Runtime};

pub(super) const ENTRY: Entry = Entry {
    name: "xtasking-trees",
    about: "xtasking::trees, a task for each insert, which claims to write the parent",
    is_parallel: true,
    start: OnRuntime::<Tree<u32>>::boxed,
    more: (),
};

/// Returns the links of the whole tree, which the task holds.
fn links(root: Node, nodes: &Nodes<'_, u32>) -> Result<Vec<(u32, u32)>, TreeError> {
    let mut links = Vec::new();
    for (node, &number) in nodes.subtree(root)? {
        for &child in nodes.children(node)? {
            links.push((number, *nodes.get(child)?));
        }
    }
    Ok(links)
}

impl TaskTree for Tree<u32> {
    fn new(rt: &Runtime) -> Self {
        rt.tree(0)
    }

    fn root(&self) -> u64 {
        Tree::root(self).to_bits()
    }

    fn insert(growing: &Arc<Growing<Self>>, node: (u32, u32), inserter: Inserter, cx: &mut Context) {
        let (number, parent) = node;
        let (above, next) = (Node::from_bits(growing.growth.handle(parent)), growing.clone());
        let claim = growing.tree.write_alone(above);
        cx.task(()).as_sibling().claim(claim).spawn_with(move |(), mut nodes, cx| {
            let inserted = nodes.insert(above, number).expect("no node is removed");
            next.growth.inserted(node, inserted.to_bits());
            next.proceed(inserter, cx);
        });
    }

    fn links(&self, rt: &Runtime) -> Result<Vec<(u32, u32)>, JoinError> {
        let root = Tree::root(self);
        let task = rt.task(()).claim(self.read(root));
        task.submit_with(move |(), nodes, _| links(root, &nodes).expect("the claim covers all")).join()
    }

    fn write(&self, task: RootTask<'_>, node: u64, body: impl FnOnce() + Send + 'static) -> Handle<()> {
        task.claim(Tree::write(self, Node::from_bits(node))).submit_with(move |(), _, _| body())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tasks::exclude;
    use super::*;
    use xtasking::QueuePolicy;

    /// Tasks exclude each other if, and only if, one node is the other or above it.
    #[test]
    fn only_nested_sub_trees_exclude_each_other() {
        let rt = Runtime::builder().workers(2).pool(QueuePolicy::WorkStealing).build().unwrap();
        let tree = <Tree<u32> as TaskTree>::new(&rt);
        let root = Tree::root(&tree);
        // A binary heap: node n is below node n / 2.
        let build = rt.task(()).claim(Tree::write(&tree, root)).submit_with(move |(), mut nodes, _| {
            let mut all = vec![root; 2];
            for number in 2..600 {
                let parent = all[number / 2];
                all.push(nodes.insert(parent, number as u32)?);
            }
            Ok::<_, TreeError>(all)
        });
        let all = build.join().unwrap().unwrap();
        let is_above = |above: usize, mut node: usize| {
            while node > above {
                node /= 2;
            }
            node == above
        };
        let pairs = [2, 3, 5, 8, 37, 250, 500].map(|one| [2, 4, 11, 75, 300, 501].map(|other| (one, other)));
        for (one, other) in pairs.into_iter().flatten() {
            let nodes = (all[one].to_bits(), all[other].to_bits());
            let expected = is_above(one, other) || is_above(other, one);
            assert_eq!(exclude(&rt, &tree, nodes).unwrap(), expected, "{one} {other}");
        }
    }
}
