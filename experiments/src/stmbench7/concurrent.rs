//! A world for many: a hierarchy of the runtime's, whose tasks claim what the operations' plans name.

use super::build::Blueprint;
use super::effort::Effort;
use super::layout::Layout;
use super::medium;
use super::operations::{Operation, Scratch};
use super::outcome::Outcome;
use super::parts::Part;
use super::survey::Names;
use super::world::{Mode, Planner, Values, View, World};
use std::sync::Arc;
use xtasking::{Claim, Context, Control, Runtime};
use xtasking_hierarchy::{Hierarchy, Look, Node, Shape, Slab, Survey};

/// A part, which may be in [snapshots](super::snapshot) as well.
pub(super) type Shared = Arc<Part>;

/// A world whose operations are tasks.
pub(super) struct Concurrent {
    layout: Arc<Layout>,
    control: Control,
    nodes: Hierarchy<Shared>,
}

impl Concurrent {
    /// Builds a world: each node in a granule of its own, so that what tasks claim is what they name. But what is on a shelf is
    /// in that one's; and locks that are taken in order are the [medium-grained](medium) ones.
    pub fn new(rt: &Runtime, blueprint: Blueprint, control: Control) -> Self {
        let Blueprint { layout, values, edges } = blueprint;
        let shape = Shape::from_edges(values.len(), &edges).expect("a world has no cycles");
        let mut granules: Vec<u32> = (0..values.len() as u32).collect();
        if control == Control::InOrder {
            granules = medium::granules(&layout, &values);
        }
        let on_shelves = edges.iter().filter(|&&(parent, _)| layout.is_shelf(Node(parent)));
        on_shelves.for_each(|&(shelf, node)| granules[node as usize] = granules[shelf as usize]);
        // Those come last.
        let count = granules.iter().max().map_or(0, |last| last + 1);
        let builder =
            Hierarchy::builder(shape).granules(count).granule_by(move |node| granules[node.index()]);
        let mut values = values.into_iter();
        let nodes =
            builder.control(control).build(rt, |_| Arc::new(values.next().expect("each node has a value")));
        Self { layout, control, nodes }
    }

    /// Where things are.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// What an operation touches.
    pub fn claim(&self, operation: Operation, seed: u64) -> Claim<'_, Slab<Shared>> {
        match self.control {
            // These locks are known beforehand.
            Control::Coarse if operation.mode() == Mode::Read => return self.nodes.read_all(),
            Control::Coarse => return self.nodes.write_all(),
            Control::InOrder => {
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
        let claim = self.nodes.planned(move |look| {
            let mut plan = Plan { look, assemblies: Vec::new() };
            operation.plan(&layout, seed, &mut scratch, &mut plan);
            if matches!(operation, Operation::SM3 | Operation::SM5 | Operation::SM7) {
                plan.widen();
            }
        });
        // What is done is written down in the order in which it is done.
        claim.unordered()
    }

    /// The same without a claim, for an operation that reads long; `None` if it has to look before it can name what it reads, or if
    /// nobody counts what is written.
    pub fn survey(&self, operation: Operation, seed: u64) -> Option<Survey<Shared>> {
        if !operation.reads_long() || self.control != Control::Lines {
            return None;
        }
        let names = Names::of(operation, seed, &self.layout)?;
        let node = |&(node, alone): &(Node, bool)| {
            let node = self.nodes.node(node);
            if alone { node.alone() } else { node }
        };
        Some(self.nodes.survey(names.nodes.iter().map(node)))
    }

    /// All of it, to be read.
    pub fn all(&self) -> Claim<'_, Slab<Shared>> {
        self.nodes.read_all()
    }
}

/// Names what an operation touches.
struct Plan<'l, 'p, 's, 'h> {
    look: &'l mut Look<'p, 's, 'h, Shared>,
    /// Those to be written by themselves.
    assemblies: Vec<Node>,
}

impl Plan<'_, '_, '_, '_> {
    /// Names all that is above the assemblies that get components, as that reaches where the components are from then on.
    fn widen(&mut self) {
        let mut open = std::mem::take(&mut self.assemblies);
        let mut next = 0;
        while let Some(&node) = open.get(next) {
            next += 1;
            let above = self.look.see(node, |seen| match &**seen.value() {
                Part::Complex(_) | Part::Base(_) | Part::Module(_) => seen.parents().to_vec(),
                _ => Vec::new(),
            });
            for parent in above.into_iter().flatten() {
                self.look.write_alone(parent);
                if !open.contains(&parent) {
                    open.push(parent);
                }
            }
        }
    }
}

impl Planner for Plan<'_, '_, '_, '_> {
    fn see<R>(&mut self, node: Node, look: impl FnOnce(&Part, &[Node], &[Node]) -> R) -> Option<R> {
        self.look.see(node, |seen| look(seen.value(), seen.children(), seen.parents()))
    }

    fn only(&mut self, node: Node, mode: Mode) {
        match mode {
            Mode::Read => self.look.read_alone(node),
            Mode::Write => {
                self.assemblies.push(node);
                self.look.write_alone(node);
            }
        }
    }

    fn tree(&mut self, node: Node, mode: Mode) {
        match mode {
            Mode::Read => self.look.read(node),
            Mode::Write => self.look.write(node),
        }
    }
}

/// What a task sees of the world.
pub(super) struct Seen<'h>(pub xtasking_hierarchy::View<'h, Shared>);

impl Seen<'_> {
    /// The value of a node.
    pub fn part(&self, node: Node) -> &Shared {
        &self.0[node]
    }

    /// A node and all below it.
    pub fn below(&self, node: Node) -> impl Iterator<Item = Node> {
        self.0.below(node)
    }
}

impl View for Seen<'_> {
    #[inline]
    fn get(&self, node: Node) -> &Part {
        &self.0[node]
    }

    #[inline]
    fn children(&self, node: Node) -> &[Node] {
        self.0.children(node)
    }

    #[inline]
    fn parents(&self, node: Node) -> &[Node] {
        self.0.parents(node)
    }
}

/// The same for a task that may change it.
struct Changing<'h, 'c> {
    /// If what is new has its granule by what it is.
    by_class: Option<&'c Layout>,
    seen: Seen<'h>,
    /// Bytes of parts that were in snapshots.
    copied: u64,
    cx: &'c mut Context,
}

impl View for Changing<'_, '_> {
    #[inline]
    fn get(&self, node: Node) -> &Part {
        self.seen.get(node)
    }

    #[inline]
    fn children(&self, node: Node) -> &[Node] {
        self.seen.children(node)
    }

    #[inline]
    fn parents(&self, node: Node) -> &[Node] {
        self.seen.parents(node)
    }
}

impl Values for Changing<'_, '_> {
    #[inline]
    fn get_mut(&mut self, node: Node) -> &mut Part {
        let part = &mut self.seen.0[node];
        if Arc::strong_count(part) > 1 {
            self.copied += part.bytes();
        }
        Arc::make_mut(part)
    }
}

impl World for Changing<'_, '_> {
    fn insert(&mut self, parent: Node, value: Part) -> Node {
        let value = Arc::new(value);
        let new = match self.by_class {
            Some(layout) => {
                let granule = medium::granule(layout, &value);
                self.seen.0.insert_in(parent, granule, value, self.cx)
            }
            None => self.seen.0.insert(parent, value, self.cx),
        };
        new.expect("there is room for as many nodes as there are ids")
    }

    fn remove(&mut self, node: Node) {
        self.seen.0.remove(node).expect("it has one parent, and nothing below it");
    }

    fn link(&mut self, parent: Node, child: Node) {
        self.seen.0.link(parent, child).expect("it is not linked yet, and makes no cycle");
    }

    fn unlink(&mut self, parent: Node, child: Node) {
        self.seen.0.unlink(parent, child).expect("it is linked, and has another parent");
    }
}

/// Does an operation, in a task that has [claimed](Concurrent::claim) what it touches. Tells also what that has taken.
pub(super) fn carry_out(
    operation: Operation,
    seed: u64,
    layout: &Layout,
    control: Control,
    seen: Seen<'_>,
    cx: &mut Context,
) -> (Outcome, Effort) {
    let by_class = (control == Control::InOrder).then_some(layout);
    let (mut world, mut scratch) = (Changing { by_class, seen, copied: 0, cx }, Scratch::default());
    let outcome = operation.run(layout, seed, &mut scratch, &mut world);
    scratch.effort.read += world.copied;
    (outcome, scratch.effort)
}
