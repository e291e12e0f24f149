//! Implements SM1 and SM2: creates and deletes composite parts.

use super::super::find;
use super::super::ids::Pool;
use super::super::index;
use super::super::layout::Ids;
use super::super::outcome::{Answer, SearchResult};
use super::super::pages::PartLocation;
use super::super::parts::{Base, Composite, Document, Draft, Network, Part};
use super::super::world::{Mode, Planner, World};
use super::Tools;

/// Finds free ids for a composite part, its document and its atomic parts, in this order.
pub fn find_room(tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let (layout, sizes) = (tools.layout, tools.layout.sizes);
    let ids = &mut tools.scratch.targets.ids;
    let wanted = [(Ids::Composite, 1), (Ids::Document, 1), (Ids::Atomic, sizes.parts as usize)];
    // All three pools are claimed, even if the first one has too few ids.
    let found = wanted.map(|(of, count)| find::free_ids(planner, layout, of, count, ids));
    found.into_iter().collect::<SearchResult<()>>()?;
    let parts = ids[2..].iter().copied().zip(Draft::part_dates(&sizes, tools.seed));
    index::claim_composite(planner, layout, ids[0], parts);
    layout.shelves_of(ids[0]).into_iter().for_each(|shelf| planner.claim_node(shelf, Mode::Write));
    Ok(())
}

/// Creates a composite part with the planned ids, which no base assembly uses.
pub fn create(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let mut take = |of| {
        let pool: &mut Pool = world.get_mut_as(tools.layout.pool(of));
        pool.take()
    };
    let (id, document) = (take(Ids::Composite), take(Ids::Document));
    let ids = (0..tools.layout.sizes.parts).map(|_| take(Ids::Atomic));
    let Draft { date, document, network } = Draft::new(&tools.layout.sizes, tools.seed, id, document, ids);
    let dated = &mut tools.scratch.dated;
    dated.clear();
    dated.extend(network.parts.iter().map(|part| (part.id, part.date)));
    let mut answer = Answer::default();
    answer.add_dated(id, date);
    answer.effort.created = dated.len() as u64;
    let shelves = tools.layout.shelves_of(id);
    let document = world.insert(shelves[1], Part::Document(document));
    let network = world.insert(shelves[2], Part::Network(network));
    let composite = Composite { id, date, document, network };
    let composite = world.insert(shelves[0], Part::Composite(composite));
    let location = |position| PartLocation { composite, network, position };
    index::enter_composite(world, tools.layout, id, location, dated.iter().copied());
    answer
}

/// Finds a composite part, and the base assemblies that use it.
pub fn find_one(tools: &mut Tools<'_>, planner: &mut impl Planner) -> SearchResult<()> {
    let layout = tools.layout;
    let id = find::any_id(layout, Ids::Composite, &mut tools.random);
    let node = find::object(planner, layout, Ids::Composite, id, Mode::Write)?;
    let (nodes, dated) = (&mut tools.scratch.targets.nodes, &mut tools.scratch.dated);
    nodes.push(node);
    planner.claim_to_remove(node);
    let (document, network) = planner
        .claim(node, Mode::Write, |composite: &Composite, _| (composite.document, composite.network))?;
    find::users(planner, layout, node, nodes)?;
    [document, network].into_iter().for_each(|node| planner.claim_to_remove(node));
    nodes[1..].iter().for_each(|&base| planner.claim_node(base, Mode::Write));
    layout.shelves_of(id).into_iter().for_each(|shelf| planner.claim_node(shelf, Mode::Write));
    planner.claim_node(document, Mode::Write);
    let pools = [Ids::Composite, Ids::Document, Ids::Atomic].map(|of| layout.pool(of));
    pools.into_iter().for_each(|pool| planner.claim_node(pool, Mode::Write));
    dated.clear();
    planner.claim(network, Mode::Write, |network: &Network, _| {
        dated.extend(network.parts.iter().map(|part| (part.id, part.date)));
    })?;
    index::claim_composite(planner, layout, id, dated.iter().copied());
    Ok(())
}

/// Deletes the planned composite part.
pub fn delete(tools: &mut Tools<'_>, world: &mut impl World) -> Answer {
    let (&node, bases) =
        tools.scratch.targets.nodes.split_first().expect("the plan has found a composite part");
    for &base in bases {
        world.unlink(base, node);
        world.get_mut_as::<Base>(base).components.retain(|component| component.part != node);
    }
    let &Composite { id, date, document: at, network } = world.get_as(node);
    let document = world.get_as::<Document>(at).id;
    let mut answer = Answer::default();
    answer.add_dated(id, date);
    let dated = &tools.scratch.dated;
    answer.effort.moves = dated.len() as u64;
    index::remove_composite(world, tools.layout, id, dated.iter().copied());
    let mut give = |of, id| world.get_mut_as::<Pool>(tools.layout.pool(of)).put_back(id);
    give(Ids::Composite, id);
    give(Ids::Document, document);
    // In reverse order, so that the first id is the next one taken.
    dated.iter().rev().for_each(|&(id, _)| give(Ids::Atomic, id));
    [node, at, network].into_iter().for_each(|node| world.remove(node));
    answer
}
