//! SM5 to SM8: assemblies come and go.

use super::super::dates;
use super::super::find;
use super::super::ids::Pool;
use super::super::index;
use super::super::layout::{Ids, Layout};
use super::super::outcome::{Answer, Failed, Found, Stop};
use super::super::pages::ById;
use super::super::parts::{Base, Complex, Part};
use super::super::world::{Mode, Planner, View, World};
use super::Tools;
use crate::ycsb::distribution::Random;
use xtasking_hierarchy::Node;

/// Finds the parent of a random base assembly, and room for one more.
pub fn find_room_for_base(tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let id = find::any_id(tools.layout, Ids::Base, &mut tools.random);
    let room = find_room(1, tools, planner);
    let sibling = find::object(planner, tools.layout, Ids::Base, id, Mode::Read)?;
    let parent = find::parent(planner, tools.layout, sibling, Mode::Read)?;
    planner.only(parent, Mode::Write);
    tools.scratch.found.nodes.push(parent);
    room
}

/// Finds the parent of a random complex assembly, and room for another one with all that is below it.
pub fn find_room_for_complex(tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let id = find::any_id(tools.layout, Ids::Complex, &mut tools.random);
    let sibling = find::object(planner, tools.layout, Ids::Complex, id, Mode::Read)?;
    let parent = find::parent(planner, tools.layout, sibling, Mode::Read)?;
    let level = planner.claim(sibling, Mode::Read, |complex: &Complex, _, _| complex.level)?;
    planner.only(parent, Mode::Write);
    tools.scratch.found.nodes.push(parent);
    find_room(level, tools, planner)
}

/// So many complex assemblies and base assemblies are at and below one new assembly of a level.
fn counts(layout: &Layout, level: u32) -> [(Ids, u32); 2] {
    let fan = layout.sizes.fan;
    let complexes = (0..level - 1).map(|above| fan.pow(above)).sum();
    [(Ids::Complex, complexes), (Ids::Base, fan.pow(level - 1))]
}

/// Finds free ids for assemblies, and the composite parts that their base assemblies will use.
fn find_room(level: u32, tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let layout = tools.layout;
    let (mut failed, mut unseen) = (None, false);
    for (of, count) in counts(layout, level).into_iter().filter(|&(_, count)| count > 0) {
        let ids = &mut tools.scratch.found.ids;
        ids.clear();
        match find::free_ids(planner, layout, of, count as usize, ids) {
            Ok(()) => ids.iter().for_each(|&id| planner.only(layout.page(of, id), Mode::Write)),
            Err(Stop::Unseen) => unseen = true,
            Err(stop) => failed = Some(stop),
        }
    }
    // What cannot be made needs no components.
    if let Some(stop) = failed {
        return Err(stop);
    }
    let [_, (_, bases)] = counts(layout, level);
    let mut random = tools.other_chance();
    for _ in 0..bases {
        for id in component_ids(layout, &mut random) {
            match find::object(planner, layout, Ids::Composite, id, Mode::Read) {
                Ok(composite) => planner.only(composite, Mode::Write),
                Err(stop) => unseen |= stop == Stop::Unseen,
            }
        }
    }
    if unseen { Err(Stop::Unseen) } else { Ok(()) }
}

/// The ids of the composite parts that a new base assembly is to use, if there are such.
fn component_ids(layout: &Layout, random: &mut Random) -> impl Iterator<Item = u32> {
    (0..layout.sizes.components).map(move |_| find::any_id(layout, Ids::Composite, random))
}

/// Makes the assembly for which there is room, and those below it.
pub fn create(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let parent = tools.scratch.found.nodes[0];
    let level = world.the::<Complex>(parent).level - 1;
    let components = tools.other_chance();
    let mut new = New {
        layout: tools.layout,
        random: Random::new(tools.seed, &[2]),
        components,
        answer: Answer::default(),
    };
    new.assembly(parent, level, world);
    new.answer
}

/// What new assemblies are made with.
struct New<'l> {
    layout: &'l Layout,
    random: Random,
    /// As when room was found.
    components: Random,
    answer: Answer,
}

impl New<'_> {
    fn assembly(&mut self, parent: Node, level: u32, world: &mut impl World) {
        let of = if level > 1 { Ids::Complex } else { Ids::Base };
        self.answer.effort.nodes += 1;
        let id = world.the_mut::<Pool>(self.layout.pool(of)).take();
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
            let page: &ById<Node> = world.the(self.layout.page(Ids::Composite, id));
            if let Some(part) = page.get(id) {
                base.add(part);
            }
        }
        base
    }
}

/// Finds a base assembly that is no only child.
pub fn find_base(tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let node = find_no_only_child(Ids::Base, tools, planner)?;
    planner.only(tools.layout.pool(Ids::Base), Mode::Write);
    let nodes = &mut tools.scratch.found.nodes;
    find::components(planner, node, Mode::Write, nodes)?;
    nodes.iter().for_each(|&component| planner.only(component, Mode::Write));
    nodes.clear();
    nodes.push(node);
    Ok(())
}

/// Finds a complex assembly that is no only child, and then all assemblies below it, each after its parent.
pub fn find_complex(tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let node = find_no_only_child(Ids::Complex, tools, planner)?;
    planner.tree(node, Mode::Write);
    let pools = [Ids::Complex, Ids::Base].map(|of| tools.layout.pool(of));
    pools.into_iter().for_each(|pool| planner.only(pool, Mode::Write));
    let nodes = &mut tools.scratch.found.nodes;
    nodes.push(node);
    let (mut at, mut unseen) = (0, false);
    while let Some(&node) = nodes.get(at) {
        let object = planner.look(node, |part: &Part, children, _| match part {
            Part::Base(base) => Some((Ids::Base, base.id)),
            Part::Complex(complex) => {
                nodes.extend(children);
                Some((Ids::Complex, complex.id))
            }
            _ => None,
        });
        match object.ok().flatten() {
            Some((of, id)) => planner.only(tools.layout.page(of, id), Mode::Write),
            None => unseen = true,
        }
        at += 1;
    }
    if unseen { Err(Stop::Unseen) } else { Ok(()) }
}

fn find_no_only_child(of: Ids, tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<Node> {
    let id = find::any_id(tools.layout, of, &mut tools.random);
    let node = find::object(planner, tools.layout, of, id, Mode::Write)?;
    let parent = find::parent(planner, tools.layout, node, Mode::Write)?;
    let siblings = planner.claim(parent, Mode::Write, |_: &Complex, children, _| children.len())?;
    if siblings > 1 { Ok(node) } else { Err(Failed::OnlyChild.into()) }
}

/// Deletes all that have been found. The composite parts that they used stay.
pub fn delete(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut answer = Answer::default();
    for &node in tools.scratch.found.nodes.iter().rev() {
        let (of, id, date) = match world.get_mut(node) {
            Part::Base(base) => {
                let (id, date, components) = (base.id, base.date, std::mem::take(&mut base.components));
                components.iter().for_each(|component| world.unlink(node, component.part));
                (Ids::Base, id, date)
            }
            Part::Complex(complex) => (Ids::Complex, complex.id, complex.date),
            other => panic!("{} is no assembly", other.name()),
        };
        answer.add_dated(id, date);
        answer.effort.nodes += 1;
        index::leave(world, tools.layout, of, id);
        world.the_mut::<Pool>(tools.layout.pool(of)).give(id);
        world.remove(node);
    }
    answer
}
