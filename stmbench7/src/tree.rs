//! Implements a concurrent world on a tree of the runtime: tasks claim what the plans of operations
//! look at and name.
//!
//! Base assemblies link to the composite parts that they use, which lie on shelves of a library. A
//! plan holds what it has looked at, so what it has found goes to the body.

use super::build::Blueprint;
use super::effort::Effort;
use super::layout::Layout;
use super::node::{Node, NodeList};
use super::operations::{Operation, Scratch};
use super::outcome::{Outcome, SearchResult};
use super::parts::Part;
use super::world::{Mode, Planner, Values, View, World};
use std::collections::HashMap;
use std::sync::Arc;
use xtasking::Runtime;
use xtasking::trees::{self, Named, Nodes, Planned, Tree, TreeClaim, TreeError, TreePlan};

/// A world whose operations are tasks on a tree.
pub(super) struct TreeWorld {
    layout: Arc<Layout>,
    tree: Tree<Part>,
    /// The numbers of the initial nodes.
    numbers: HashMap<Node, u32>,
}

/// What a plan has found for its operation.
pub(super) struct Found {
    scratch: Scratch,
    result: SearchResult<()>,
    claimed: Vec<Claimed>,
}

/// A node that a plan has named.
struct Claimed {
    node: trees::Node,
    mode: Mode,
    /// Without the nodes below.
    is_alone: bool,
}

impl TreeWorld {
    /// Builds a world.
    pub fn new(rt: &Runtime, blueprint: Blueprint) -> Self {
        let (tree, layout) = (rt.tree(Part::World), blueprint.layout.clone());
        let root = tree.root();
        let task = rt.task(()).claim(tree.write(root));
        let build = task.submit_with(move |(), nodes, _| build(blueprint, root, nodes));
        let handles = build.join().expect("no task is in the way").expect("the claim covers the tree");
        let layout = Arc::new(layout.with_handles(&handles));
        Self { layout, tree, numbers: handles.into_iter().zip(0..).collect() }
    }

    /// Returns the nodes that never move.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Returns a claim on what an operation touches.
    pub fn claim(
        &self,
        operation: Operation,
        seed: u64,
    ) -> TreeClaim<'_, Planned<Part, impl FnMut(&mut TreePlan<'_, '_, Part>) -> Found + use<>, Found>> {
        let layout = self.layout.clone();
        let claim = self.tree.planned(move |plan| {
            let mut scratch = Scratch::default();
            let mut plan = Plan { plan, claimed: Vec::new() };
            let result = operation.plan(&layout, seed, &mut scratch, &mut plan);
            Found { scratch, result, claimed: plan.claimed }
        });
        // The replay uses the order in which operations ran.
        claim.unordered()
    }

    /// Returns a claim to read everything.
    pub fn all(&self) -> TreeClaim<'_, Named<Part>> {
        self.tree.read(self.tree.root())
    }

    /// Returns the initial nodes that a task holds, by their numbers, with `true` for write access.
    pub fn held(&self, found: &Found, world: &TaskTree<'_>) -> Vec<(u32, bool)> {
        let mut held = Vec::new();
        for &Claimed { node, mode, is_alone } in &found.claimed {
            let mut add = |node| {
                let number = self.numbers.get(&Node::from(node));
                held.extend(number.map(|&number| (number, mode == Mode::Write)));
            };
            match world.0.subtree(node) {
                Ok(below) if !is_alone => below.for_each(|(node, _)| add(node)),
                _ => add(node),
            }
        }
        // Of a node that was named twice, the stronger mode comes last.
        held.sort_unstable();
        held.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            kept.1 |= is_same && later.1;
            is_same
        });
        held
    }
}

impl Found {
    /// Executes the operation whose plan this is. Returns its outcome and effort.
    pub fn carry_out(
        mut self,
        operation: Operation,
        seed: u64,
        layout: &Layout,
        world: &mut TaskTree<'_>,
    ) -> (Outcome, Effort) {
        let named = self.claimed.iter().filter(|claimed| claimed.is_alone).count() as u64;
        let outcome = operation.execute(self.result, named, layout, seed, &mut self.scratch, world);
        (outcome, self.scratch.effort)
    }
}

/// Builds a world below the root. Returns the handles of its nodes, by their numbers.
fn build(
    blueprint: Blueprint,
    root: trees::Node,
    mut nodes: Nodes<'_, Part>,
) -> Result<Vec<Node>, TreeError> {
    let Blueprint { layout, values, edges } = blueprint;
    // Composite parts belong to their shelves, not to the base assemblies that use them.
    let mut owners = vec![None; values.len()];
    for &(parent, child) in &edges {
        let owner = &mut owners[child as usize];
        if owner.is_none() || layout.is_shelf(Node::of_number(parent)) {
            *owner = Some(parent);
        }
    }
    let mut handles: Vec<trees::Node> = Vec::with_capacity(values.len());
    for (value, owner) in values.into_iter().zip(&owners) {
        // Owners have smaller numbers.
        let parent = owner.map_or(root, |owner| handles[owner as usize]);
        handles.push(nodes.insert(parent, value)?);
    }
    for (parent, child) in edges.into_iter().filter(|&(parent, child)| owners[child as usize] != Some(parent))
    {
        nodes.link(handles[parent as usize], handles[child as usize])?;
    }
    for &node in &handles {
        nodes.get_mut(node)?.for_each_node(|node| *node = handles[node.index()].into());
    }
    Ok(handles.into_iter().map(Node::from).collect())
}

/// Claims what an operation touches.
struct Plan<'l, 's, 'p> {
    plan: &'l mut TreePlan<'s, 'p, Part>,
    claimed: Vec<Claimed>,
}

impl Planner for Plan<'_, '_, '_> {
    fn peek<R>(&mut self, node: Node, look: impl FnOnce(&Part, &NodeList<'_>) -> R) -> Option<R> {
        let part = self.plan.peek(node.into())?;
        let children = self.plan.children(node.into())?;
        Some(look(part, &NodeList::Handles(children)))
    }

    fn peek_parents<R>(&mut self, node: Node, look: impl FnOnce(&NodeList<'_>) -> R) -> Option<R> {
        let parents = self.plan.parents(node.into())?;
        Some(look(&NodeList::Parents(parents)))
    }

    fn claim_node(&mut self, node: Node, mode: Mode) {
        let node = node.into();
        match mode {
            Mode::Read => self.plan.read_alone(node),
            Mode::Write => self.plan.write_alone(node),
        }
        self.claimed.push(Claimed { node, mode, is_alone: true });
    }

    fn claim_tree(&mut self, node: Node, mode: Mode) {
        let node = node.into();
        match mode {
            Mode::Read => self.plan.read(node),
            Mode::Write => self.plan.write(node),
        }
        self.claimed.push(Claimed { node, mode, is_alone: false });
    }

    fn claim_to_remove(&mut self, node: Node) {
        self.plan.remove(node.into());
    }

    fn claim_to_link(&mut self, node: Node) {
        let mut node = node.into();
        // No assembly may come to be below itself. The assemblies above a node stay there, too.
        while let Some(above) = self.plan.parent(node) {
            self.plan.read_alone(above);
            node = above;
        }
    }
}

/// What a task holds of the world.
pub(super) struct TaskTree<'h>(pub Nodes<'h, Part>);

const HELD: &str = "the plan has named what the body touches";

impl View for TaskTree<'_> {
    #[inline]
    fn get(&self, node: Node) -> &Part {
        self.0.get(node.into()).expect(HELD)
    }

    #[inline]
    fn children(&self, node: Node) -> NodeList<'_> {
        NodeList::Handles(self.0.children(node.into()).expect(HELD))
    }

    fn parents(&self, node: Node) -> NodeList<'_> {
        NodeList::Parents(self.0.parents(node.into()).expect(HELD))
    }
}

impl Values for TaskTree<'_> {
    #[inline]
    fn get_mut(&mut self, node: Node) -> &mut Part {
        self.0.get_mut(node.into()).expect(HELD)
    }
}

impl World for TaskTree<'_> {
    fn insert(&mut self, parent: Node, value: Part) -> Node {
        self.0.insert(parent.into(), value).expect(HELD).into()
    }

    fn remove(&mut self, node: Node) {
        self.0.remove(node.into()).expect(HELD);
    }

    fn link(&mut self, parent: Node, child: Node) {
        self.0.link(parent.into(), child.into()).expect(HELD);
    }

    fn unlink(&mut self, parent: Node, child: Node) {
        self.0.unlink(parent.into(), child.into()).expect(HELD);
    }
}

#[cfg(test)]
mod tests {
    use super::super::effort::Times;
    use super::super::mix::{Long, Mix, Workload};
    use super::super::options::LongReads;
    use super::super::sizes::Sizes;
    use super::super::turn::Work;
    use xtasking_harness::controls::Isolation;

    /// All operations run side by side, and many of them change the structure. The turn replays
    /// them, and checks all invariants.
    #[test]
    fn operations_on_a_tree_have_the_answers_of_their_replay() {
        for (seed, times) in [(3, Some(Times { operation: 500, part: 40 })), (4, None)] {
            let (sizes, long_reads) = (Sizes::SMALL, LongReads::Claimed);
            let work = Work { operations: 1500, long_reads, clients: 4, sizes, seed, times };
            let mix = Mix::new(Workload::WriteDominated, Long::All, true);
            work.turn(&mix, Isolation::Trees, 4, "on a tree").expect("the turn is checked");
        }
    }
}
