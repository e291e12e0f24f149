//! The strongest check of all: what was done, done again by one, one operation after the other.

use super::build::Blueprint;
use super::invariants::violations;
use super::layout::{Ids, Layout};
use super::operations::{Operation, Scratch};
use super::outcome::Outcome;
use super::pages::ById;
use super::parts::{Base, Composite, Part};
use super::plain::Plain;
use super::world::View;
use crate::ycsb::plan::Wrong;
use std::collections::BTreeMap;
use xtasking_hierarchy::Node;

/// An operation that has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which one.
    pub operation: Operation,
    /// Its seed.
    pub seed: u64,
    /// What became of it.
    pub outcome: Outcome,
}

/// Checks what became of a world that was built from this blueprint, and of all operations on it, given in an order in which
/// they could have been done one after the other.
///
/// # Errors
/// An invariant does not hold in the world, an operation becomes something else when it is done again, or the worlds differ in
/// the end.
pub fn replay(blueprint: Blueprint, records: &[Record], end: &impl View) -> Result<(), Wrong> {
    let layout = blueprint.layout.clone();
    let in_order = |which: &str, wrong: Vec<String>| match wrong.first() {
        Some(first) => Err(Wrong::new(format!("{which}, {} things are wrong: {first}", wrong.len()))),
        None => Ok(()),
    };
    in_order("in the end", violations(&layout, end))?;
    let (mut again, mut scratch) = (Plain::new(blueprint), Scratch::default());
    for (number, record) in records.iter().enumerate() {
        let Record { operation, seed, outcome } = *record;
        let other = operation.run(&layout, seed, &mut scratch, &mut again);
        if other != outcome {
            let name = operation.name();
            let text = format!(
                "operation {number}, {name} with seed {seed}: {outcome:?}, but {other:?} when done again"
            );
            return Err(Wrong::new(text));
        }
    }
    in_order("when done again", violations(&layout, &again))?;
    match difference(&layout, end, &again) {
        Some(difference) => Err(Wrong::new(format!("done again, it ends otherwise: {difference}"))),
        None => Ok(()),
    }
}

/// The first difference between two worlds in which the invariants hold. Nodes may have other numbers: it is objects that are
/// compared, by their ids. The indexes need no look, as they say what is there.
pub fn difference(layout: &Layout, one: &impl View, other: &impl View) -> Option<String> {
    let date = |part: &Part| if let &Part::Module(date) = part { Some(date) } else { None };
    if [one.get(Layout::MODULE)].map(date) != [other.get(Layout::MODULE)].map(date) {
        return Some("the module".to_string());
    }
    if one.the::<Vec<u8>>(Layout::MANUAL) != other.the::<Vec<u8>>(Layout::MANUAL) {
        return Some("the manual".to_string());
    }
    let pool = |of: &Ids| {
        let node = layout.pool(*of);
        one.the::<super::ids::Pool>(node) != other.the::<super::ids::Pool>(node)
    };
    if let Some(of) = Ids::ALL.into_iter().find(|of| pool(of)) {
        return Some(format!("the pool of the kind {of:?}"));
    }
    let root = layout.root();
    assemblies((one, root), (other, root)).or_else(|| composites(layout, one, other))
}

fn assemblies((one, node): (&impl View, Node), (other, counterpart): (&impl View, Node)) -> Option<String> {
    let name = || Some(one.get(node).name());
    match (one.get(node), other.get(counterpart)) {
        (Part::Base(base), Part::Base(its)) => {
            let same = (base.id, base.date) == (its.id, its.date);
            if same && bag(one, base).eq(bag(other, its)) { None } else { name() }
        }
        (Part::Complex(complex), Part::Complex(its)) if complex == its => {
            let (below, its) = (one.children(node), other.children(counterpart));
            if below.len() != its.len() {
                return name();
            }
            below.iter().zip(its).find_map(|(&child, &its)| assemblies((one, child), (other, its)))
        }
        _ => name(),
    }
}

/// The ids of the components of a base assembly, and how often it uses each.
fn bag(world: &impl View, base: &Base) -> impl Iterator<Item = (u32, u32)> {
    base.components.iter().map(|component| (world.the::<Composite>(component.part).id, component.times))
}

fn composites(layout: &Layout, one: &impl View, other: &impl View) -> Option<String> {
    let (all, its) = (by_id(layout, one), by_id(layout, other));
    if let Some(id) = all.keys().chain(its.keys()).find(|id| !(all.contains_key(id) && its.contains_key(id)))
    {
        return Some(format!("composite part {id}"));
    }
    all.iter().zip(its.values()).find_map(|((id, part), its)| {
        let Composite { id: _, date, document, parts, graph } = part;
        let same =
            *date == its.date && *document == its.document && *parts == its.parts && *graph == its.graph;
        if same { None } else { Some(format!("composite part {id}")) }
    })
}

fn by_id<'w>(layout: &Layout, world: &'w impl View) -> BTreeMap<u32, &'w Composite> {
    let pages = layout.pages(Ids::Composite).map(|page| world.the::<ById<Node>>(page));
    pages.flat_map(ById::all).map(|(id, node)| (id, world.the(node))).collect()
}
