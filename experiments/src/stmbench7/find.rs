//! Ways from one thing to others, for plans and for what comes after them.

use super::ids::Pool;
use super::layout::{Ids, Layout};
use super::outcome::{Failed, Found, Stop};
use super::pages::{ById, Place};
use super::parts::{Base, Kind, Part};
use super::world::{Mode, Planner};
use crate::ycsb::distribution::Random;
use xtasking_hierarchy::Node;

/// One of the ids that an object of a kind can have.
pub fn any_id(layout: &Layout, of: Ids, random: &mut Random) -> u32 {
    1 + random.below(layout.last_id(of).into()) as u32
}

/// What there is for an id, of which the page is claimed in a mode.
fn entry<T: Copy>(
    planner: &mut impl Planner,
    layout: &Layout,
    of: Ids,
    id: u32,
    mode: Mode,
) -> Found<Option<T>>
where
    ById<T>: Kind,
{
    planner.claim(layout.page(of, id), mode, |page: &ById<T>, _, _| page.get(id))
}

/// The node of an object, of whose id the page is claimed in a mode. The node is not claimed.
pub fn object(planner: &mut impl Planner, layout: &Layout, of: Ids, id: u32, mode: Mode) -> Found<Node> {
    Ok(entry(planner, layout, of, id, mode)?.ok_or(Failed::Missing)?)
}

/// The place of an atomic part, of whose id the page is claimed to be read. The place is not claimed.
pub fn place(planner: &mut impl Planner, layout: &Layout, id: u32) -> Found<Place> {
    Ok(entry(planner, layout, Ids::Atomic, id, Mode::Read)?.ok_or(Failed::Missing)?)
}

/// The composite part at the end of a random path from the root; it is not claimed itself.
pub fn path(planner: &mut impl Planner, layout: &Layout, random: &mut Random) -> Found<Node> {
    let mut node = layout.root();
    loop {
        let (next, down) = planner.claim(node, Mode::Read, |part: &Part, children, _| match part {
            Part::Base(base) => (any_of(base.bag(), random), false),
            _ => (any_of(children.iter().copied(), random), true),
        })?;
        node = next.ok_or(Failed::NoComponent)?;
        if !down {
            return Ok(node);
        }
    }
}

/// One of some nodes; `None` if there are none.
pub fn any_of(nodes: impl Iterator<Item = Node> + Clone, random: &mut Random) -> Option<Node> {
    let count = nodes.clone().count();
    if count == 0 { None } else { nodes.clone().nth(random.below(count as u64) as usize) }
}

/// All assemblies above a composite part, each once. They are claimed in a mode, the composite part is claimed to be read.
pub fn ancestors(
    planner: &mut impl Planner,
    layout: &Layout,
    composite: Node,
    mode: Mode,
    found: &mut Vec<Node>,
) -> Found<()> {
    let users = |_: &Part, _: &[Node], parents: &[Node]| {
        found.extend(parents.iter().filter(|&&parent| !layout.is_shelf(parent)));
    };
    planner.claim(composite, Mode::Read, users)?;
    let mut level = 0..found.len();
    while !level.is_empty() {
        let mut unseen = false;
        for at in level.clone() {
            let node = found[at];
            let above = |_: &Part, _: &[Node], parents: &[Node]| {
                for &parent in parents {
                    if parent != Layout::MODULE && !found[level.end..].contains(&parent) {
                        found.push(parent);
                    }
                }
            };
            unseen |= planner.claim(node, mode, above).is_err();
        }
        if unseen {
            return Err(Stop::Unseen);
        }
        level = level.end..found.len();
    }
    Ok(())
}

/// The only parent of an assembly, which is claimed in a mode; it fails at the root.
pub fn parent(planner: &mut impl Planner, layout: &Layout, assembly: Node, mode: Mode) -> Found<Node> {
    let parent = planner.claim(assembly, mode, |_: &Part, _, parents| parents.first().copied())?;
    if assembly == layout.root() { Err(Failed::Root.into()) } else { parent.ok_or(Stop::Unseen) }
}

/// The components of a base assembly, each as often as it is used. The assembly is claimed in a mode.
pub fn components(planner: &mut impl Planner, base: Node, mode: Mode, found: &mut Vec<Node>) -> Found<()> {
    planner.claim(base, mode, |base: &Base, _, _| found.extend(base.bag()))
}

/// The free ids of a kind, of which so many have to be left; the pool is claimed to be changed.
pub fn free_ids(
    planner: &mut impl Planner,
    layout: &Layout,
    of: Ids,
    count: usize,
    found: &mut Vec<u32>,
) -> Found<()> {
    let enough = planner.claim(layout.pool(of), Mode::Write, |pool: &Pool, _, _| {
        found.extend(pool.free().take(count));
        pool.len() >= count
    })?;
    if enough { Ok(()) } else { Err(Failed::NoId.into()) }
}
