//! Counters on a tree of the runtime.

use super::turn::{Counters, Visit};
use std::hint::black_box;
use xtasking::trees::{Named, Node, Nodes, Tree, TreeClaim, TreeError};
use xtasking::{Group, Handle, Runtime};
use xtasking_hierarchy::Shape;

/// A tree of counters, with a root above the roots of the hierarchy.
pub(super) struct CounterTree {
    tree: Tree<u32>,
    /// The nodes by their numbers in the shape; the root for numbers that are not in use.
    nodes: Vec<Node>,
}

impl CounterTree {
    /// Builds the tree of a hierarchy.
    pub fn new(rt: &Runtime, shape: &Shape) -> Self {
        let (tree, plan) = (rt.tree(0), Plan::of(shape));
        let root = tree.root();
        let build =
            rt.task(()).claim(tree.write(root)).submit_with(move |(), nodes, _| plan.build(root, nodes));
        let nodes = build.join().expect("no task is in the way").expect("the claim covers the tree");
        // The splits of the tree belong to its construction.
        rt.task(()).claim(tree.write(root)).submit(|(), _| ()).join().expect("no task fails");
        Self { tree, nodes }
    }

    fn claim(&self, visit: &Visit) -> TreeClaim<'_, Named<u32>> {
        let mut nodes = self.named(visit);
        let first = nodes.next().expect("a task names at least one node");
        let claim = if visit.writes {
            nodes.fold(self.tree.write(first), TreeClaim::and_write)
        } else {
            nodes.fold(self.tree.read(first), TreeClaim::and_read)
        };
        // As the compared implementations keep no order either.
        claim.unordered()
    }

    fn named(&self, visit: &Visit) -> impl Iterator<Item = Node> {
        visit.nodes.iter().map(|node| self.nodes[node.index()])
    }
}

/// What to build.
struct Plan {
    bound: usize,
    /// Nodes and the parents to insert them below, each after its parent.
    nodes: Vec<(u32, Option<u32>)>,
    /// Further parents of nodes.
    links: Vec<(u32, u32)>,
}

impl Plan {
    fn of(shape: &Shape) -> Self {
        let mut plan = Self { bound: shape.bound(), nodes: Vec::new(), links: Vec::new() };
        for node in shape.topological() {
            let mut parents = shape.parents(node).map(|parent| parent.0);
            plan.nodes.push((node.0, parents.next()));
            plan.links.extend(parents.map(|parent| (parent, node.0)));
        }
        plan
    }

    fn build(&self, root: Node, mut nodes: Nodes<'_, u32>) -> Result<Vec<Node>, TreeError> {
        let mut handles = vec![root; self.bound];
        for &(node, parent) in &self.nodes {
            let above = parent.map_or(root, |parent| handles[parent as usize]);
            handles[node as usize] = nodes.insert(above, 0)?;
        }
        for &(parent, node) in &self.links {
            nodes.link(handles[parent as usize], handles[node as usize])?;
        }
        Ok(handles)
    }
}

impl Counters for CounterTree {
    fn spawn(&self, rt: &Runtime, group: &Group, visit: Visit) {
        let (tops, task) = (self.named(&visit).collect::<Vec<_>>(), rt.task(()).of(group));
        task.claim(self.claim(&visit)).spawn_with(move |(), nodes, cx| {
            visit.run(cx, |visit| walk(&tops, visit.writes, nodes).expect("the task claims these nodes"));
        });
    }

    fn submit(&self, rt: &Runtime, visit: Visit) -> Handle<()> {
        let (tops, task) = (self.named(&visit).collect::<Vec<_>>(), rt.task(()));
        task.claim(self.claim(&visit)).submit_with(move |(), nodes, cx| {
            visit.run(cx, |visit| walk(&tops, visit.writes, nodes).expect("the task claims these nodes"));
        })
    }

    fn counts(&self, rt: &Runtime, _: usize) -> Vec<u32> {
        let (root, all) = (self.tree.root(), self.nodes.clone());
        let read = rt.task(()).claim(self.tree.read(root)).submit_with(move |(), nodes, _| {
            all.iter().map(|&node| nodes.get(node).copied()).collect::<Result<_, _>>()
        });
        read.join().expect("no task fails").expect("the claim covers the tree")
    }

    fn note(&self) -> Option<String> {
        None
    }
}

/// Counts in the sub-trees of a task, or sums up counts. Returns the number of visited nodes.
fn walk(tops: &[Node], writes: bool, mut nodes: Nodes<'_, u32>) -> Result<u64, TreeError> {
    let mut visited = 0;
    for &node in tops {
        if writes {
            for (_, count) in nodes.subtree_mut(node)? {
                *count += 1;
                visited += 1;
            }
        } else {
            let mut sum = 0u64;
            for (_, count) in nodes.subtree(node)? {
                sum += u64::from(*count);
                visited += 1;
            }
            black_box(sum);
        }
    }
    Ok(visited)
}
