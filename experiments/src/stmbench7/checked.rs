//! A world for tests: it shows plans no more than they have claimed before, and what is done after them no more than they
//! have claimed in the end.

use super::layout::Layout;
use super::operations::{Operation, Scratch};
use super::outcome::Outcome;
use super::parts::Part;
use super::plain::Plain;
use super::world::{Mode, Planner, Values, View, World};
use std::cell::RefCell;
use std::collections::BTreeMap;
use xtasking_hierarchy::Node;

/// What somebody has claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Single nodes.
    pub only: BTreeMap<Node, Mode>,
    /// Nodes with all below them.
    pub trees: BTreeMap<Node, Mode>,
}

impl Claims {
    /// Each node that is claimed, and how.
    fn spread(&self, world: &Plain) -> BTreeMap<Node, Mode> {
        let mut all = self.only.clone();
        for (&tree, &mode) in &self.trees {
            let mut open = vec![tree];
            while let Some(node) = open.pop() {
                strengthen(&mut all, node, mode);
                open.extend(world.children(node));
            }
        }
        all
    }
}

fn strengthen(claims: &mut BTreeMap<Node, Mode>, node: Node, mode: Mode) {
    let claim = claims.entry(node).or_insert(mode);
    *claim = mode.max(*claim);
}

/// Someone who plans, and what there is to be seen.
struct Looking<'w> {
    world: &'w Plain,
    held: BTreeMap<Node, Mode>,
    claims: Claims,
    /// Something could not be seen.
    blind: bool,
}

impl Planner for Looking<'_> {
    fn see<R>(&mut self, node: Node, look: impl FnOnce(&Part, &[Node], &[Node]) -> R) -> Option<R> {
        if !self.held.contains_key(&node) {
            self.blind = true;
            return None;
        }
        Some(look(self.world.get(node), self.world.children(node), self.world.parents(node)))
    }

    fn only(&mut self, node: Node, mode: Mode) {
        strengthen(&mut self.claims.only, node, mode);
    }

    fn tree(&mut self, node: Node, mode: Mode) {
        strengthen(&mut self.claims.trees, node, mode);
    }
}

/// What became of an operation, and of its plan.
#[derive(Debug)]
pub struct Done {
    /// What became of it.
    pub outcome: Outcome,
    /// What it claimed in the end.
    pub claims: Claims,
    /// How often its plan was made.
    pub plans: usize,
    /// What it touched, and how.
    pub touched: BTreeMap<Node, Mode>,
}

/// Plans an operation until it has claimed all that it looks at and all that it names, and does it.
///
/// # Panics
/// If it touches what it has not claimed.
pub fn plan_and_run(operation: Operation, seed: u64, scratch: &mut Scratch, world: &mut Plain) -> Done {
    let layout: &Layout = &world.layout().clone();
    let (mut claims, mut plans) = (Claims::default(), 0);
    loop {
        let held = claims.spread(world);
        let mut looking = Looking { world, held, claims: Claims::default(), blind: false };
        operation.plan(layout, seed, scratch, &mut looking);
        plans += 1;
        let settled = !looking.blind && looking.claims == claims;
        // Not what it claimed before and does not claim now: it has to name all that it needs each time.
        claims = looking.claims;
        if settled {
            break;
        }
        assert!(plans < 100, "{operation:?} with seed {seed} is planned without end: {claims:?}");
    }
    let mut checked = Checked { claims: claims.spread(world), world, touched: RefCell::default() };
    let outcome = operation.run(layout, seed, scratch, &mut checked);
    Done { outcome, claims, plans, touched: checked.touched.into_inner() }
}

/// A world of which only some nodes may be touched.
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
        assert!(claimed >= Some(&mode), "node {node} is touched to {mode:?} and claimed to {claimed:?}");
    }
}

impl View for Checked<'_> {
    #[track_caller]
    fn get(&self, node: Node) -> &Part {
        self.touch(node, Mode::Read);
        self.world.get(node)
    }

    #[track_caller]
    fn children(&self, node: Node) -> &[Node] {
        self.touch(node, Mode::Read);
        self.world.children(node)
    }

    #[track_caller]
    fn parents(&self, node: Node) -> &[Node] {
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
        // What is new is seen by nobody else.
        self.claims.insert(node, Mode::Write);
        node
    }

    fn remove(&mut self, node: Node) {
        self.touch(node, Mode::Write);
        let parent = self.world.parents(node)[0];
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
