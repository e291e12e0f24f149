//! Finds objects from other objects, for plans and for operations that run.

use super::ids::Pool;
use super::layout::{Ids, Layout};
use super::node::{Node, NodeList};
use super::outcome::{OperationFailure, SearchResult, SearchStop};
use super::pages::{ById, PartLocation};
use super::parts::{Base, Kind, Part};
use super::world::{Mode, Planner};
use xtasking_harness::random::Random;

/// Draws one of the ids that an object of a kind can have.
pub fn any_id(layout: &Layout, of: Ids, random: &mut Random) -> u32 {
    1 + random.below(layout.last_id(of).into()) as u32
}

/// Returns the index entry of an id, whose page is claimed in `mode`.
fn entry<T: Copy>(
    planner: &mut impl Planner,
    layout: &Layout,
    of: Ids,
    id: u32,
    mode: Mode,
) -> SearchResult<Option<T>>
where
    ById<T>: Kind,
{
    planner.claim(layout.page(of, id), mode, |page: &ById<T>, _| page.get(id))
}

/// Returns the node of an object, claiming the index page of its id in `mode`, but not the node.
pub fn object(
    planner: &mut impl Planner,
    layout: &Layout,
    of: Ids,
    id: u32,
    mode: Mode,
) -> SearchResult<Node> {
    Ok(entry(planner, layout, of, id, mode)?.ok_or(OperationFailure::Missing)?)
}

/// Returns the location of an atomic part, claiming the index page of its id for reading, but not
/// the location.
pub fn location(planner: &mut impl Planner, layout: &Layout, id: u32) -> SearchResult<PartLocation> {
    Ok(entry(planner, layout, Ids::Atomic, id, Mode::Read)?.ok_or(OperationFailure::Missing)?)
}

/// Returns the composite part at the end of a random path from the root, without claiming it.
pub fn path(planner: &mut impl Planner, layout: &Layout, random: &mut Random) -> SearchResult<Node> {
    let mut node = layout.root();
    loop {
        let (next, down) = planner.claim(node, Mode::Read, |part: &Part, children| match part {
            Part::Base(base) => (any_of(base.bag(), random), false),
            _ => (any_of(children.iter(), random), true),
        })?;
        node = next.ok_or(OperationFailure::NoComponent)?;
        if !down {
            return Ok(node);
        }
    }
}

/// Draws one of some nodes; `None` if there are none.
pub fn any_of(nodes: impl Iterator<Item = Node> + Clone, random: &mut Random) -> Option<Node> {
    let count = nodes.clone().count();
    if count == 0 { None } else { nodes.clone().nth(random.below(count as u64) as usize) }
}

/// Adds the base assemblies that use a composite part, which is claimed.
pub fn users(
    planner: &mut impl Planner,
    layout: &Layout,
    composite: Node,
    results: &mut Vec<Node>,
) -> SearchResult<()> {
    let users = |parents: &NodeList<'_>| {
        results.extend(parents.iter().filter(|&parent| !layout.is_shelf(parent)));
    };
    planner.peek_parents(composite, users).ok_or(SearchStop::Unseen)
}

/// Adds all assemblies above a composite part, each once. They are claimed in `mode`, the composite
/// part for reading.
pub fn ancestors(
    planner: &mut impl Planner,
    layout: &Layout,
    composite: Node,
    mode: Mode,
    results: &mut Vec<Node>,
) -> SearchResult<()> {
    planner.claim_node(composite, Mode::Read);
    users(planner, layout, composite, results)?;
    let mut level = 0..results.len();
    while !level.is_empty() {
        let mut unseen = false;
        for at in level.clone() {
            let node = results[at];
            let above = |parents: &NodeList<'_>| {
                for parent in parents.iter() {
                    if parent != layout.module() && !results[level.end..].contains(&parent) {
                        results.push(parent);
                    }
                }
            };
            planner.claim_node(node, mode);
            unseen |= planner.peek_parents(node, above).is_none();
        }
        if unseen {
            return Err(SearchStop::Unseen);
        }
        level = level.end..results.len();
    }
    Ok(())
}

/// Returns the only parent of an assembly, which is claimed in `mode`; fails at the root.
pub fn parent(planner: &mut impl Planner, layout: &Layout, assembly: Node, mode: Mode) -> SearchResult<Node> {
    planner.claim_node(assembly, mode);
    let parent =
        planner.peek_parents(assembly, |parents| parents.first()).flatten().ok_or(SearchStop::Unseen)?;
    if assembly == layout.root() { Err(OperationFailure::Root.into()) } else { Ok(parent) }
}

/// Adds the components of a base assembly, each as often as it is used. The assembly is claimed in
/// `mode`.
pub fn components(
    planner: &mut impl Planner,
    base: Node,
    mode: Mode,
    results: &mut Vec<Node>,
) -> SearchResult<()> {
    planner.claim(base, mode, |base: &Base, _| results.extend(base.bag()))
}

/// Adds `count` free ids of a kind; fails if there are fewer. The pool is claimed for writing.
pub fn free_ids(
    planner: &mut impl Planner,
    layout: &Layout,
    of: Ids,
    count: usize,
    results: &mut Vec<u32>,
) -> SearchResult<()> {
    let enough = planner.claim(layout.pool(of), Mode::Write, |pool: &Pool, _| {
        results.extend(pool.free().take(count));
        pool.len() >= count
    })?;
    if enough { Ok(()) } else { Err(OperationFailure::NoId.into()) }
}
