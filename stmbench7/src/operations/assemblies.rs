//! Implements SM5 to SM8: creates and deletes assemblies.

use super::super::dates;
use super::super::find;
use super::super::ids::Pool;
use super::super::index;
use super::super::layout::{Ids, Layout};
use super::super::node::Node;
use super::super::outcome::{Answer, OperationFailure, SearchResult, SearchStop};
use super::super::pages::ById;
use super::super::parts::{Base, Complex, Part};
use super::super::world::{Mode, Planner, View, World};
use super::Tools;
use xtasking_harness::random::Random;

/// Finds the parent of a random base assembly, and ids for a sibling.
pub fn find_room_for_base(tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let id = find::any_id(tools.layout, Ids::Base, &mut tools.random);
    let room = find_room(1, tools, planner);
    let sibling = find::object(planner, tools.layout, Ids::Base, id, Mode::Read)?;
    let parent = find::parent(planner, tools.layout, sibling, Mode::Read)?;
    planner.claim_node(parent, Mode::Write);
    planner.claim_to_link(parent);
    tools.scratch.targets.nodes.push(parent);
    room
}

/// Finds the parent of a random complex assembly, and ids for a sibling with everything below it.
pub fn find_room_for_complex(tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let id = find::any_id(tools.layout, Ids::Complex, &mut tools.random);
    let sibling = find::object(planner, tools.layout, Ids::Complex, id, Mode::Read)?;
    let parent = find::parent(planner, tools.layout, sibling, Mode::Read)?;
    let level = planner.claim(sibling, Mode::Read, |complex: &Complex, _| complex.level)?;
    planner.claim_node(parent, Mode::Write);
    planner.claim_to_link(parent);
    tools.scratch.targets.nodes.push(parent);
    find_room(level, tools, planner)
}

/// Returns the numbers of complex and base assemblies in a new sub-tree whose root is on `level`.
fn counts(layout: &Layout, level: u32) -> [(Ids, u32); 2] {
    let fan = layout.sizes.fan;
    let complexes = (0..level - 1).map(|above| fan.pow(above)).sum();
    [(Ids::Complex, complexes), (Ids::Base, fan.pow(level - 1))]
}

/// Finds free ids for assemblies, and the composite parts of their base assemblies.
fn find_room(level: u32, tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let layout = tools.layout;
    let (mut failed, mut unseen) = (None, false);
    for (of, count) in counts(layout, level).into_iter().filter(|&(_, count)| count > 0) {
        let ids = &mut tools.scratch.targets.ids;
        ids.clear();
        match find::free_ids(planner, layout, of, count as usize, ids) {
            Ok(()) => ids.iter().for_each(|&id| planner.claim_node(layout.page(of, id), Mode::Write)),
            Err(SearchStop::Unseen) => unseen = true,
            Err(stop) => failed = Some(stop),
        }
    }
    // Without ids, no components are needed.
    if let Some(stop) = failed {
        return Err(stop);
    }
    let [_, (_, bases)] = counts(layout, level);
    let mut random = tools.independent_random();
    for _ in 0..bases {
        for id in component_ids(layout, &mut random) {
            match find::object(planner, layout, Ids::Composite, id, Mode::Read) {
                Ok(composite) => planner.claim_node(composite, Mode::Write),
                Err(stop) => unseen |= stop == SearchStop::Unseen,
            }
        }
    }
    if unseen { Err(SearchStop::Unseen) } else { Ok(()) }
}

/// Draws the ids of the composite parts of a new base assembly.
fn component_ids(layout: &Layout, random: &mut Random) -> impl Iterator<Item = u32> {
    (0..layout.sizes.components).map(move |_| find::any_id(layout, Ids::Composite, random))
}

/// Creates the planned assembly, and those below it.
pub fn create(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let parent = tools.scratch.targets.nodes[0];
    let level = world.get_as::<Complex>(parent).level - 1;
    let components = tools.independent_random();
    let mut new = AssemblyBuilder {
        layout: tools.layout,
        random: Random::new(tools.seed, &[2]),
        components,
        answer: Answer::default(),
    };
    new.assembly(parent, level, world);
    new.answer
}

/// Creates new assemblies.
struct AssemblyBuilder<'l> {
    layout: &'l Layout,
    random: Random,
    /// The random numbers that the plan used for components.
    components: Random,
    answer: Answer,
}

impl AssemblyBuilder<'_> {
    fn assembly(&mut self, parent: Node, level: u32, world: &mut impl World) {
        let of = if level > 1 { Ids::Complex } else { Ids::Base };
        self.answer.effort.nodes += 1;
        let id = world.get_mut_as::<Pool>(self.layout.pool(of)).take();
        let node = if level > 1 {
            let date = dates::any(&dates::MIDDLE, &mut self.random);
            self.answer.add_dated(id, date);
            let node = world.insert(parent, Part::Complex(Complex { id, date, level }));
            (0..self.layout.sizes.fan).for_each(|_| self.assembly(node, level - 1, world));
            node
        } else {
            let base = self.base(id, world);
            self.answer.add_dated(id, base.date);
            let components = base.components.clone();
            let node = world.insert(parent, Part::Base(base));
            components.iter().for_each(|component| world.link(node, component.part));
            node
        };
        index::enter(world, self.layout, of, id, node);
    }

    fn base(&mut self, id: u32, world: &impl View) -> Base {
        let mut base = Base::new(id, &mut self.random);
        for id in component_ids(self.layout, &mut self.components) {
            let page: &ById<Node> = world.get_as(self.layout.page(Ids::Composite, id));
            if let Some(part) = page.get(id) {
                base.add(part);
            }
        }
        base
    }
}

/// Finds a base assembly with siblings.
pub fn find_base(tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let node = find_with_siblings(Ids::Base, tools, planner)?;
    planner.claim_to_remove(node);
    planner.claim_node(tools.layout.pool(Ids::Base), Mode::Write);
    let nodes = &mut tools.scratch.targets.nodes;
    find::components(planner, node, Mode::Write, nodes)?;
    nodes.iter().for_each(|&component| planner.claim_node(component, Mode::Write));
    nodes.clear();
    nodes.push(node);
    Ok(())
}

/// Finds a complex assembly with siblings, and all assemblies below it, each after its parent.
pub fn find_complex(tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let node = find_with_siblings(Ids::Complex, tools, planner)?;
    planner.claim_tree(node, Mode::Write);
    let pools = [Ids::Complex, Ids::Base].map(|of| tools.layout.pool(of));
    pools.into_iter().for_each(|pool| planner.claim_node(pool, Mode::Write));
    let nodes = &mut tools.scratch.targets.nodes;
    nodes.push(node);
    let (mut at, mut unseen) = (0, false);
    while let Some(&node) = nodes.get(at) {
        let object = planner.look(node, |part: &Part, children| match part {
            Part::Base(base) => Some((Ids::Base, base.id)),
            Part::Complex(complex) => {
                nodes.extend(children.iter());
                Some((Ids::Complex, complex.id))
            }
            _ => None,
        });
        match object.ok().flatten() {
            Some((of, id)) => planner.claim_node(tools.layout.page(of, id), Mode::Write),
            None => unseen = true,
        }
        at += 1;
    }
    if unseen { Err(SearchStop::Unseen) } else { Ok(()) }
}

fn find_with_siblings(of: Ids, tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<Node> {
    let id = find::any_id(tools.layout, of, &mut tools.random);
    let node = find::object(planner, tools.layout, of, id, Mode::Write)?;
    let parent = find::parent(planner, tools.layout, node, Mode::Write)?;
    let siblings = planner.claim(parent, Mode::Write, |_: &Complex, children| children.len())?;
    if siblings > 1 { Ok(node) } else { Err(OperationFailure::OnlyChild.into()) }
}

/// Deletes the planned assemblies. The composite parts that they used stay.
pub fn delete(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut answer = Answer::default();
    for &node in tools.scratch.targets.nodes.iter().rev() {
        let (of, id, date) = match world.get_mut(node) {
            Part::Base(base) => {
                let (id, date, components) = (base.id, base.date, std::mem::take(&mut base.components));
                components.iter().for_each(|component| world.unlink(node, component.part));
                (Ids::Base, id, date)
            }
            Part::Complex(complex) => (Ids::Complex, complex.id, complex.date),
            other => panic!("{} is not an assembly", other.name()),
        };
        answer.add_dated(id, date);
        answer.effort.nodes += 1;
        index::remove(world, tools.layout, of, id);
        world.get_mut_as::<Pool>(tools.layout.pool(of)).put_back(id);
        world.remove(node);
    }
    answer
}
