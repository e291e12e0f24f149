//! Implements a concurrent world on granules: a hierarchy whose tasks claim what the plans of
//! operations name.

use super::bound;
use super::build::Blueprint;
use super::effort::Effort;
use super::layout::Layout;
use super::medium;
use super::node::{Node, NodeList};
use super::operations::{Operation, Scratch};
use super::outcome::Outcome;
use super::parts::Part;
use super::survey::NamedNodes;
use super::world::{Mode, Planner, Values, View, World};
use std::sync::Arc;
use xtasking::claims::{Control, Granularity};
use xtasking::{Claim, Context, Held, Runtime};
use xtasking_hierarchy::{Hierarchy, NodePlanView, Shape, Slab, Survey};

/// A part that may also be in [snapshots](super::snapshot).
pub(super) type SharedPart = Arc<Part>;

/// A world whose operations are tasks.
pub(super) struct Concurrent {
    layout: Arc<Layout>,
    control: Control,
    nodes: Hierarchy<SharedPart>,
}

impl Concurrent {
    /// Builds a world. Each node has a granule of its own, so that tasks claim exactly what they
    /// name; nodes on a shelf share the shelf's granule. Locks that are taken in order are the
    /// [medium-grained](medium) ones.
    pub fn new(rt: &Runtime, blueprint: Blueprint, control: Control) -> Self {
        let Blueprint { layout, values, edges } = blueprint;
        let shape = Shape::from_edges(values.len(), &edges).expect("a world has no cycles");
        let mut granules: Vec<u32> = (0..values.len() as u32).collect();
        if control.granularity() == Some(Granularity::Exact) {
            granules = medium::granules(&layout, &values);
        }
        let on_shelves = edges.iter().filter(|&&(parent, _)| layout.is_shelf(Node::of_number(parent)));
        on_shelves.for_each(|&(shelf, node)| granules[node as usize] = granules[shelf as usize]);
        // New nodes use the last granule.
        let count = granules.iter().max().map_or(0, |last| last + 1);
        let builder =
            Hierarchy::builder(shape).granules(count).granule_by(move |node| granules[node.index()]);
        let mut values = values.into_iter();
        let nodes =
            builder.control(control).build(rt, |_| Arc::new(values.next().expect("each node has a value")));
        Self { layout, control, nodes }
    }

    /// Returns how tasks are kept apart.
    pub fn control(&self) -> Control {
        self.control
    }

    /// Returns the nodes that never move.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Returns a claim on what an operation touches.
    pub fn claim(&self, operation: Operation, seed: u64) -> Claim<'_, Slab<SharedPart>> {
        match self.control.granularity() {
            // These locks are known in advance.
            Some(Granularity::All) if operation.mode() == Mode::Read => return self.nodes.read_all(),
            Some(Granularity::All) => return self.nodes.write_all(),
            Some(Granularity::Exact) => {
                let granules = self.nodes.granules();
                let claims = medium::claims(operation, &self.layout).into_iter();
                return claims.fold(granules.read(0..0), |claim, (range, mode)| match mode {
                    Mode::Read => claim.and_read(range),
                    Mode::Write => claim.and_write(range),
                });
            }
            _ => {}
        }
        let (layout, mut scratch) = (self.layout.clone(), Scratch::default());
        let claim = self.nodes.planned(move |plan_view| {
            let mut plan = Plan { plan_view, assemblies: Vec::new() };
            _ = operation.plan(&layout, seed, &mut scratch, &mut plan);
            if matches!(operation, Operation::SM3 | Operation::SM5 | Operation::SM7) {
                plan.widen();
            }
        });
        // Unordered: the replay uses the order in which operations ran.
        claim.unordered()
    }

    /// Returns a survey instead of a claim for a long read. `None` if the plan has to look at nodes
    /// first, or if the control does not count writes.
    pub fn survey(&self, operation: Operation, seed: u64) -> Option<Survey<SharedPart>> {
        if !operation.reads_long() || self.control != Control::Fifo {
            return None;
        }
        let names = NamedNodes::of(operation, seed, &self.layout)?;
        let node = |&(node, alone): &(Node, bool)| {
            let node = self.nodes.node(node.into());
            if alone { node.alone() } else { node }
        };
        Some(self.nodes.survey(names.nodes.iter().map(node)))
    }

    /// Returns the granules that a task holds, with `true` for write access; of several that all
    /// tasks claim together, one.
    pub fn distinct_granules(&self, held: &Held<'_, Slab<SharedPart>>) -> Vec<(u32, bool)> {
        let is_one_lock = self.control.granularity() == Some(Granularity::All);
        held.granules().take(if is_one_lock { 1 } else { usize::MAX }).collect()
    }

    /// Describes the content of a granule.
    pub fn describe(control: Control, world: &Blueprint, granule: u32) -> String {
        match control.granularity() {
            Some(Granularity::All) => "the lock".to_string(),
            Some(Granularity::Exact) => medium::describe(&world.layout, granule),
            _ => bound::describe(world, granule),
        }
    }

    /// Returns a claim to read everything.
    pub fn all(&self) -> Claim<'_, Slab<SharedPart>> {
        self.nodes.read_all()
    }
}

/// Claims what an operation touches.
struct Plan<'l, 'p, 's, 'h> {
    plan_view: &'l mut NodePlanView<'p, 's, 'h, SharedPart>,
    /// Assemblies that are claimed for writing on their own.
    assemblies: Vec<Node>,
}

impl Plan<'_, '_, '_, '_> {
    /// Claims everything above assemblies that get new components, as these reach the granules of
    /// their components from then on.
    fn widen(&mut self) {
        let mut open = std::mem::take(&mut self.assemblies);
        let mut next = 0;
        while let Some(&node) = open.get(next) {
            next += 1;
            let above = self.plan_view.peek(node.into(), |view| match &**view.value() {
                Part::Complex(_) | Part::Base(_) | Part::Module(_) => view.parents().to_vec(),
                _ => Vec::new(),
            });
            for parent in above.into_iter().flatten() {
                self.plan_view.write_alone(parent);
                if !open.contains(&parent.into()) {
                    open.push(parent.into());
                }
            }
        }
    }
}

impl Planner for Plan<'_, '_, '_, '_> {
    fn peek<R>(&mut self, node: Node, look: impl FnOnce(&Part, &NodeList<'_>) -> R) -> Option<R> {
        self.plan_view.peek(node.into(), |view| look(view.value(), &NodeList::Numbers(view.children())))
    }

    fn peek_parents<R>(&mut self, node: Node, look: impl FnOnce(&NodeList<'_>) -> R) -> Option<R> {
        self.plan_view.peek(node.into(), |view| look(&NodeList::Numbers(view.parents())))
    }

    fn claim_node(&mut self, node: Node, mode: Mode) {
        match mode {
            Mode::Read => self.plan_view.read_alone(node.into()),
            Mode::Write => {
                self.assemblies.push(node);
                self.plan_view.write_alone(node.into());
            }
        }
    }

    fn claim_tree(&mut self, node: Node, mode: Mode) {
        match mode {
            Mode::Read => self.plan_view.read(node.into()),
            Mode::Write => self.plan_view.write(node.into()),
        }
    }
}

/// What a task sees of the world.
pub(super) struct TaskView<'h>(pub xtasking_hierarchy::View<'h, SharedPart>);

impl TaskView<'_> {
    /// Returns the value of a node.
    pub fn part(&self, node: Node) -> &SharedPart {
        &self.0[node.into()]
    }

    /// Returns a node and all nodes below it.
    pub fn below(&self, node: Node) -> impl Iterator<Item = Node> {
        self.0.subtree(node.into()).map(Node::from)
    }
}

impl View for TaskView<'_> {
    #[inline]
    fn get(&self, node: Node) -> &Part {
        &self.0[node.into()]
    }

    #[inline]
    fn children(&self, node: Node) -> NodeList<'_> {
        NodeList::Numbers(self.0.children(node.into()))
    }

    #[inline]
    fn parents(&self, node: Node) -> NodeList<'_> {
        NodeList::Numbers(self.0.parents(node.into()))
    }
}

/// The world for a task that may change it.
struct WritableView<'h, 'c> {
    /// The layout, if the granule of a new node depends on its class.
    by_class: Option<&'c Layout>,
    view: TaskView<'h>,
    /// Copied bytes of parts that were in snapshots.
    copied: u64,
    cx: &'c mut Context,
}

impl View for WritableView<'_, '_> {
    #[inline]
    fn get(&self, node: Node) -> &Part {
        self.view.get(node)
    }

    #[inline]
    fn children(&self, node: Node) -> NodeList<'_> {
        self.view.children(node)
    }

    #[inline]
    fn parents(&self, node: Node) -> NodeList<'_> {
        self.view.parents(node)
    }
}

impl Values for WritableView<'_, '_> {
    #[inline]
    fn get_mut(&mut self, node: Node) -> &mut Part {
        let part = &mut self.view.0[node.into()];
        if Arc::strong_count(part) > 1 {
            self.copied += part.bytes();
        }
        Arc::make_mut(part)
    }
}

impl World for WritableView<'_, '_> {
    fn insert(&mut self, parent: Node, value: Part) -> Node {
        let (value, parent) = (Arc::new(value), parent.into());
        let new = match self.by_class {
            Some(layout) => {
                let granule = medium::granule(layout, &value);
                self.view.0.insert_in(parent, granule, value, self.cx)
            }
            None => self.view.0.insert(parent, value, self.cx),
        };
        new.expect("the hierarchy has room for all ids").into()
    }

    fn remove(&mut self, node: Node) {
        self.view.0.remove(node.into()).expect("the node has one parent and no children");
    }

    fn link(&mut self, parent: Node, child: Node) {
        self.view.0.link(parent.into(), child.into()).expect("the link is new and closes no cycle");
    }

    fn unlink(&mut self, parent: Node, child: Node) {
        self.view.0.unlink(parent.into(), child.into()).expect("the node is linked and has another parent");
    }
}

/// Runs an operation, in a task that has [claimed](Concurrent::claim) what it touches. Returns its
/// outcome and effort.
pub(super) fn carry_out(
    operation: Operation,
    seed: u64,
    layout: &Layout,
    control: Control,
    view: TaskView<'_>,
    cx: &mut Context,
) -> (Outcome, Effort) {
    let by_class = (control.granularity() == Some(Granularity::Exact)).then_some(layout);
    let (mut world, mut scratch) = (WritableView { by_class, view, copied: 0, cx }, Scratch::default());
    let outcome = operation.run(layout, seed, &mut scratch, &mut world);
    scratch.effort.read += world.copied;
    (outcome, scratch.effort)
}
