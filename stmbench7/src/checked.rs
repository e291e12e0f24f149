//! Implements a world for tests that checks claims: a plan sees only what it claimed before, and
//! the operation touches only what the last plan claimed.

use super::layout::Layout;
use super::node::{Node, NodeList};
use super::operations::{Operation, Scratch};
use super::outcome::Outcome;
use super::parts::Part;
use super::plain::Plain;
use super::world::{Mode, Planner, Values, View, World};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The claims of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Single nodes.
    pub only: BTreeMap<Node, Mode>,
    /// Nodes with everything below them.
    pub trees: BTreeMap<Node, Mode>,
}

impl Claims {
    /// Returns all claimed nodes with their modes.
    fn spread(&self, world: &Plain) -> BTreeMap<Node, Mode> {
        let mut all = self.only.clone();
        for (&tree, &mode) in &self.trees {
            let mut open = vec![tree];
            while let Some(node) = open.pop() {
                strengthen(&mut all, node, mode);
                open.extend(world.children(node).iter());
            }
        }
        all
    }
}

fn strengthen(claims: &mut BTreeMap<Node, Mode>, node: Node, mode: Mode) {
    let claim = claims.entry(node).or_insert(mode);
    *claim = mode.max(*claim);
}

/// A planner that shows nodes claimed by the plan before.
struct CheckingPlanner<'w> {
    world: &'w Plain,
    held: BTreeMap<Node, Mode>,
    claims: Claims,
    /// Whether a node could not be seen.
    is_blind: bool,
}

impl CheckingPlanner<'_> {
    fn sees(&mut self, node: Node) -> bool {
        let sees = self.held.contains_key(&node);
        self.is_blind |= !sees;
        sees
    }
}

impl Planner for CheckingPlanner<'_> {
    fn peek<R>(&mut self, node: Node, look: impl FnOnce(&Part, &NodeList<'_>) -> R) -> Option<R> {
        self.sees(node).then(|| look(self.world.get(node), &self.world.children(node)))
    }

    fn peek_parents<R>(&mut self, node: Node, look: impl FnOnce(&NodeList<'_>) -> R) -> Option<R> {
        self.sees(node).then(|| look(&self.world.parents(node)))
    }

    fn claim_node(&mut self, node: Node, mode: Mode) {
        strengthen(&mut self.claims.only, node, mode);
    }

    fn claim_tree(&mut self, node: Node, mode: Mode) {
        strengthen(&mut self.claims.trees, node, mode);
    }
}

/// The result of an operation and of its plan.
#[derive(Debug)]
pub struct CheckedRun {
    /// The outcome.
    pub outcome: Outcome,
    /// The claims of the last plan.
    pub claims: Claims,
    /// Number of plans.
    pub plans: usize,
    /// The touched nodes, with the strongest mode.
    pub touched: BTreeMap<Node, Mode>,
}

/// Plans an operation until it has claimed all nodes that it looks at, and runs it.
///
/// # Panics
/// If the operation touches a node that is not claimed.
pub fn plan_and_run(operation: Operation, seed: u64, scratch: &mut Scratch, world: &mut Plain) -> CheckedRun {
    let layout: &Layout = &world.layout().clone();
    let (mut claims, mut plans) = (Claims::default(), 0);
    loop {
        let held = claims.spread(world);
        let mut planner = CheckingPlanner { world, held, claims: Claims::default(), is_blind: false };
        _ = operation.plan(layout, seed, scratch, &mut planner);
        plans += 1;
        let settled = !planner.is_blind && planner.claims == claims;
        // Earlier claims are dropped: each plan has to name everything that it needs.
        claims = planner.claims;
        if settled {
            break;
        }
        assert!(plans < 100, "{operation:?} with seed {seed} needs too many plans: {claims:?}");
    }
    let mut checked = Checked { claims: claims.spread(world), world, touched: RefCell::default() };
    let outcome = operation.run(layout, seed, scratch, &mut checked);
    CheckedRun { outcome, claims, plans, touched: checked.touched.into_inner() }
}

/// A world in which only claimed nodes may be touched.
struct Checked<'w> {
    world: &'w mut Plain,
    claims: BTreeMap<Node, Mode>,
    touched: RefCell<BTreeMap<Node, Mode>>,
}

impl Checked<'_> {
    #[track_caller]
    fn touch(&self, node: Node, mode: Mode) {
        strengthen(&mut self.touched.borrow_mut(), node, mode);
        let claimed = self.claims.get(&node);
        assert!(claimed >= Some(&mode), "node {node} is touched in mode {mode:?} but claimed in {claimed:?}");
    }
}

impl View for Checked<'_> {
    #[track_caller]
    fn get(&self, node: Node) -> &Part {
        self.touch(node, Mode::Read);
        self.world.get(node)
    }

    #[track_caller]
    fn children(&self, node: Node) -> NodeList<'_> {
        self.touch(node, Mode::Read);
        self.world.children(node)
    }

    #[track_caller]
    fn parents(&self, node: Node) -> NodeList<'_> {
        self.touch(node, Mode::Read);
        self.world.parents(node)
    }
}

impl Values for Checked<'_> {
    #[track_caller]
    fn get_mut(&mut self, node: Node) -> &mut Part {
        self.touch(node, Mode::Write);
        self.world.get_mut(node)
    }
}

impl World for Checked<'_> {
    fn insert(&mut self, parent: Node, value: Part) -> Node {
        self.touch(parent, Mode::Write);
        let node = self.world.insert(parent, value);
        // Only this operation can see the new node.
        self.claims.insert(node, Mode::Write);
        node
    }

    fn remove(&mut self, node: Node) {
        self.touch(node, Mode::Write);
        let parent = self.world.parents(node).first().expect("a removed node has a parent");
        self.touch(parent, Mode::Write);
        self.world.remove(node);
        self.claims.remove(&node);
    }

    fn link(&mut self, parent: Node, child: Node) {
        self.touch(parent, Mode::Write);
        self.touch(child, Mode::Write);
        self.world.link(parent, child);
    }

    fn unlink(&mut self, parent: Node, child: Node) {
        self.touch(parent, Mode::Write);
        self.touch(child, Mode::Write);
        self.world.unlink(parent, child);
    }
}
