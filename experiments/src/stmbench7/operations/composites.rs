//! SM1, SM2: composite parts come and go.

use super::super::find;
use super::super::ids::Pool;
use super::super::index;
use super::super::layout::{Ids, Layout};
use super::super::outcome::{Answer, Found};
use super::super::parts::{Base, Composite, Part};
use super::super::world::{Mode, Planner, World};
use super::Tools;

/// Finds free ids for a composite part, its document and its atomic parts, in this order.
pub fn find_room(tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let (layout, sizes) = (tools.layout, tools.layout.sizes);
    let ids = &mut tools.scratch.found.ids;
    let wanted = [(Ids::Composite, 1), (Ids::Document, 1), (Ids::Atomic, sizes.parts as usize)];
    // All three are claimed, whatever the first of them tells.
    let found = wanted.map(|(of, count)| find::free_ids(planner, layout, of, count, ids));
    found.into_iter().collect::<Found<()>>()?;
    let parts = ids[2..].iter().copied().zip(Composite::part_dates(&sizes, tools.seed));
    index::claim_composite(planner, layout, ids[0], parts);
    planner.only(Layout::LIBRARY, Mode::Write);
    Ok(())
}

/// Makes a composite part of them, which no base assembly uses.
pub fn create(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut take = |of| {
        let pool: &mut Pool = world.the_mut(tools.layout.pool(of));
        pool.take()
    };
    let (id, document) = (take(Ids::Composite), take(Ids::Document));
    let ids = (0..tools.layout.sizes.parts).map(|_| take(Ids::Atomic));
    let composite = Composite::new(&tools.layout.sizes, tools.seed, id, document, ids);
    let dated = &mut tools.scratch.dated;
    dated.clear();
    dated.extend(composite.parts.iter().map(|part| (part.id, part.date)));
    let mut answer = Answer::default();
    answer.add_dated(id, composite.date);
    let node = world.insert(Layout::LIBRARY, Part::Composite(composite));
    index::enter_composite(world, tools.layout, id, node, dated.iter().copied());
    answer
}

/// Finds a composite part, and then the base assemblies that use it.
pub fn find_one(tools: &mut Tools<'_>, planner: &mut impl Planner) -> Found<()> {
    let layout = tools.layout;
    let id = find::any_id(layout, Ids::Composite, &mut tools.random);
    let node = find::object(planner, layout, Ids::Composite, id, Mode::Write)?;
    let (nodes, dated) = (&mut tools.scratch.found.nodes, &mut tools.scratch.dated);
    nodes.push(node);
    dated.clear();
    planner.claim(node, Mode::Write, |composite: &Composite, _, parents| {
        dated.extend(composite.parts.iter().map(|part| (part.id, part.date)));
        nodes.extend(parents.iter().filter(|&&parent| parent != Layout::LIBRARY));
    })?;
    nodes[1..].iter().for_each(|&base| planner.only(base, Mode::Write));
    planner.only(Layout::LIBRARY, Mode::Write);
    let pools = [Ids::Composite, Ids::Document, Ids::Atomic].map(|of| layout.pool(of));
    pools.into_iter().for_each(|pool| planner.only(pool, Mode::Write));
    index::claim_composite(planner, layout, id, dated.iter().copied());
    Ok(())
}

/// Deletes it.
pub fn delete(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let (&node, bases) = tools.scratch.found.nodes.split_first().expect("it has been found");
    for &base in bases {
        world.unlink(base, node);
        world.the_mut::<Base>(base).components.retain(|component| component.part != node);
    }
    let composite: &Composite = world.the(node);
    let (id, document) = (composite.id, composite.document.id);
    let mut answer = Answer::default();
    answer.add_dated(id, composite.date);
    let dated = &tools.scratch.dated;
    index::leave_composite(world, tools.layout, id, dated.iter().copied());
    let mut give = |of, id| world.the_mut::<Pool>(tools.layout.pool(of)).give(id);
    give(Ids::Composite, id);
    give(Ids::Document, document);
    // The first one last, so that it is the next one again.
    dated.iter().rev().for_each(|&(id, _)| give(Ids::Atomic, id));
    world.remove(node);
    answer
}
