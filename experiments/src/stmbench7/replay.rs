//! The strongest check of all: what was done, done again by one, one operation after the other.

use super::build::Blueprint;
use super::invariants::violations;
use super::layout::{Ids, Layout};
use super::operations::{Operation, Scratch};
use super::outcome::Outcome;
use super::pages::ById;
use super::parts::{Base, Composite, Document, Network, Part};
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
    let (mut again, mut scratch) = (Plain::new(blueprint), Scratch::default());
    let layout = again.layout().clone();
    let in_order = |which: &str, wrong: Vec<String>| match wrong.first() {
        Some(first) => Err(Wrong::new(format!("{which}, {} things are wrong: {first}", wrong.len()))),
        None => Ok(()),
    };
    in_order("in the end", violations(&layout, end))?;
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
        let same = part.date == its.date
            && one.the::<Document>(part.document) == other.the(its.document)
            && one.the::<Network>(part.network) == other.the(its.network);
        if same { None } else { Some(format!("composite part {id}")) }
    })
}

fn by_id<'w>(layout: &Layout, world: &'w impl View) -> BTreeMap<u32, &'w Composite> {
    let pages = layout.pages(Ids::Composite).map(|page| world.the::<ById<Node>>(page));
    pages.flat_map(ById::all).map(|(id, node)| (id, world.the(node))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::mix::{Long, Mix, Workload};
    use super::super::outcome::Failed;
    use super::super::sizes::Sizes;
    use super::super::world::{Mode, Values, World};
    use super::*;
    use crate::ycsb::distribution::Random;

    fn blueprint() -> Blueprint {
        Blueprint::new(Sizes::SMALL, 5)
    }

    fn done(world: &mut Plain, operation: Operation, seed: u64) -> Record {
        let outcome = operation.run(&world.layout().clone(), seed, &mut Scratch::default(), world);
        Record { operation, seed, outcome }
    }

    /// A world, and what has been done to it.
    fn history(workload: Workload) -> (Plain, Vec<Record>) {
        let (mut world, mut random) = (Plain::new(blueprint()), Random::new(1, &[]));
        let mix = Mix::new(workload, Long::All, true);
        let next = |_| done(&mut world, mix.draw(&mut random), random.below(u64::MAX));
        let records = (0..600).map(next).collect();
        (world, records)
    }

    #[test]
    fn what_was_done_can_be_done_again() {
        for workload in Workload::ALL {
            let (world, records) = history(workload);
            replay(blueprint(), &records, &world).unwrap();
        }
    }

    fn wrong(records: &[Record], world: &Plain) -> String {
        replay(blueprint(), records, world).unwrap_err().to_string()
    }

    #[test]
    fn another_answer_is_noticed() {
        let (world, records) = history(Workload::ReadWrite);
        for at in [0, 100, 599] {
            let mut records = records.clone();
            match &mut records[at].outcome {
                Ok(answer) => answer.sum ^= 1,
                failed => {
                    *failed = Err(if *failed == Err(Failed::Root) { Failed::NoId } else { Failed::Root })
                }
            }
            let wrong = wrong(&records, &world);
            assert!(wrong.contains(&format!("operation {at}, ")), "{wrong}");
        }
    }

    /// An operation is missing, is done twice, or comes too early: if it has changed something, that is noticed.
    #[test]
    fn another_history_is_noticed() {
        let (world, records) = history(Workload::WriteDominated);
        let mut again = Plain::new(blueprint());
        let changes = records.iter().map(|record| {
            let before = again.clone();
            done(&mut again, record.operation, record.seed);
            difference(world.layout(), &before, &again).is_some()
        });
        let changes: Vec<bool> = changes.collect();
        let all = (0..records.len()).filter(|&at| changes[at]);
        for at in all.step_by(7) {
            let mut less = records.clone();
            let record = less.remove(at);
            assert!(replay(blueprint(), &less, &world).is_err(), "without operation {at}, {record:?}");
            let mut more = records.clone();
            more.insert(at, record);
            assert!(replay(blueprint(), &more, &world).is_err(), "twice operation {at}, {record:?}");
        }
        // A reader saw a state that was there a little later only.
        let reads = |record: &Record| record.operation == Operation::T1;
        let mut noticed = 0;
        for at in (1..records.len()).filter(|&at| reads(&records[at]) && changes[at - 1]) {
            let mut early = records.clone();
            early.swap(at - 1, at);
            noticed += usize::from(replay(blueprint(), &early, &world).is_err());
        }
        assert!(noticed > 0);
    }

    #[test]
    fn another_end_is_noticed() {
        let (mut world, records) = history(Workload::ReadWrite);
        let undone = world.clone();
        // An even number of swaps or updates leaves nothing.
        let nothing = [Operation::T2c, Operation::T3c];
        let changes = |operation: &Operation| operation.mode() == Mode::Write && !nothing.contains(operation);
        for operation in Operation::ALL.into_iter().filter(changes) {
            let done = (0..200).any(|seed| {
                world = undone.clone();
                done(&mut world, operation, seed).outcome.is_ok()
            });
            assert!(done, "{operation:?} succeeds sometimes");
            let seen = difference(undone.layout(), &undone, &world);
            assert!(seen.is_some(), "{operation:?}");
            let wrong = wrong(&records, &world);
            assert!(wrong.contains(&seen.unwrap()), "{operation:?}: {wrong}");
        }
        // And what is not in order is told before all else.
        *world.get_mut(Layout::MODULE) = Part::Module(1);
        assert!(wrong(&records, &world).starts_with("in the end, 1 things are wrong: the module"));
    }

    /// The order of siblings counts, as paths are found by it; what numbers the nodes have does not.
    #[test]
    fn objects_are_compared_and_not_nodes() {
        let (world, layout) = (Plain::new(blueprint()), Layout::new(Sizes::SMALL));
        let [first, second] = [0, 1].map(|at| world.children(layout.root())[at]);
        let mut other = world.clone();
        *other.get_mut(first) = world.get(second).clone();
        *other.get_mut(second) = world.get(first).clone();
        let seen = difference(&layout, &world, &other);
        assert_eq!(seen, Some(world.get(first).name()));

        // Two bases go and two come, one with the node that the other one had.
        let base = world.the::<ById<Node>>(layout.page(Ids::Base, 1)).get(1).unwrap();
        let parent = world.parents(base)[0];
        let add = |world: &mut Plain, id| {
            let base = Base::new(id, &mut Random::new(id.into(), &[]));
            world.insert(parent, Part::Base(base))
        };
        let (mut one, mut other) = (world.clone(), world);
        let a = add(&mut one, 900);
        let aside = add(&mut other, 901);
        let b = add(&mut other, 900);
        other.remove(aside);
        assert_ne!(a, b);
        assert_eq!(difference(&layout, &one, &other), None);
    }
}
