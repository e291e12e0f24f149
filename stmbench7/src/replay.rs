//! Replays all operations of a turn one after the other: the strongest check.

use super::build::Blueprint;
use super::ids::Pool;
use super::invariants::violations;
use super::layout::{Ids, Layout};
use super::node::Node;
use super::operations::{Operation, Scratch};
use super::outcome::Outcome;
use super::pages;
use super::parts::{Base, Composite, Document, Network, Part};
use super::plain::Plain;
use super::world::View;
use std::collections::BTreeMap;
use xtasking_harness::failure::Wrong;

/// An operation that has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The operation.
    pub operation: Operation,
    /// Its seed.
    pub seed: u64,
    /// Its outcome.
    pub outcome: Outcome,
}

/// Checks the final state of a world built from `blueprint`, and all operations on it, given in an
/// equivalent sequential order.
///
/// # Errors
/// An invariant is violated, an outcome differs in the replay, or the final states differ.
pub fn replay(
    blueprint: Blueprint,
    records: &[Record],
    (end_layout, end): (&Layout, &impl View),
) -> Result<(), Wrong> {
    let (mut again, mut scratch) = (Plain::new(blueprint), Scratch::default());
    let layout = again.layout().clone();
    let in_order = |which: &str, wrong: Vec<String>| match wrong.first() {
        Some(first) => {
            Err(Wrong::new(format!("{which}, {} invariants are violated; the first: {first}", wrong.len())))
        }
        None => Ok(()),
    };
    in_order("at the end", violations(end_layout, end))?;
    for (number, record) in records.iter().enumerate() {
        let Record { operation, seed, outcome } = *record;
        let other = operation.run(&layout, seed, &mut scratch, &mut again);
        if other != outcome {
            let name = operation.name();
            let text = format!(
                "operation {number}, {name} with seed {seed}: {outcome:?}, but {other:?} in the replay"
            );
            return Err(Wrong::new(text));
        }
    }
    in_order("after the replay", violations(&layout, &again))?;
    match difference((end_layout, end), (&layout, &again)) {
        Some(difference) => Err(Wrong::new(format!("the replay ends differently: {difference}"))),
        None => Ok(()),
    }
}

/// Returns the first difference between two worlds in which the invariants hold. Objects are
/// compared by their ids, as nodes may have other numbers. Indexes need no comparison, as the
/// invariants tie them to the objects.
pub fn difference<'w>(
    (layout, one): (&'w Layout, &'w impl View),
    (its, other): (&'w Layout, &'w impl View),
) -> Option<String> {
    let date = |part: &Part| if let &Part::Module(date) = part { Some(date) } else { None };
    if date(one.get(layout.module())) != date(other.get(its.module())) {
        return Some("the module".to_string());
    }
    if one.get_as::<Vec<u8>>(layout.manual()) != other.get_as::<Vec<u8>>(its.manual()) {
        return Some("the manual".to_string());
    }
    let pool = |of: &Ids| one.get_as::<Pool>(layout.pool(*of)) != other.get_as::<Pool>(its.pool(*of));
    if let Some(of) = Ids::ALL.into_iter().find(|of| pool(of)) {
        return Some(format!("the pool of the kind {of:?}"));
    }
    assemblies((one, layout.root()), (other, its.root()))
        .or_else(|| composites(&by_id(layout, one), one, &by_id(its, other), other))
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
            below.iter().zip(its.iter()).find_map(|(child, its)| assemblies((one, child), (other, its)))
        }
        _ => name(),
    }
}

/// Returns the first difference between two worlds with nodes of the same numbers.
#[cfg(test)]
pub fn differ(one: &Plain, other: &Plain) -> Option<String> {
    difference((one.layout(), one), (other.layout(), other))
}

/// Returns the ids of the components of a base assembly, and how often it uses each.
fn bag(world: &impl View, base: &Base) -> impl Iterator<Item = (u32, u32)> {
    base.components.iter().map(|component| (world.get_as::<Composite>(component.part).id, component.times))
}

/// Composite parts by their ids.
type ById<'w> = BTreeMap<u32, &'w Composite>;

fn composites(all: &ById<'_>, one: &impl View, its: &ById<'_>, other: &impl View) -> Option<String> {
    if let Some(id) = all.keys().chain(its.keys()).find(|id| !(all.contains_key(id) && its.contains_key(id)))
    {
        return Some(format!("composite part {id}"));
    }
    all.iter().zip(its.values()).find_map(|((id, part), its)| {
        let same = part.date == its.date
            && one.get_as::<Document>(part.document) == other.get_as(its.document)
            && one.get_as::<Network>(part.network) == other.get_as(its.network);
        if same { None } else { Some(format!("composite part {id}")) }
    })
}

fn by_id<'w>(layout: &Layout, world: &'w impl View) -> ById<'w> {
    let pages = layout.pages(Ids::Composite).map(|page| world.get_as::<pages::ById<Node>>(page));
    pages.flat_map(pages::ById::all).map(|(id, node)| (id, world.get_as(node))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::mix::{Long, Mix, Workload};
    use super::super::outcome::OperationFailure;
    use super::super::sizes::Sizes;
    use super::super::world::{Mode, Values, World};
    use super::*;
    use xtasking_harness::random::Random;

    fn blueprint() -> Blueprint {
        Blueprint::new(Sizes::SMALL, 5)
    }

    fn run(world: &mut Plain, operation: Operation, seed: u64) -> Record {
        let outcome = operation.run(&world.layout().clone(), seed, &mut Scratch::default(), world);
        Record { operation, seed, outcome }
    }

    fn replay_on(records: &[Record], world: &Plain) -> Result<(), Wrong> {
        replay(blueprint(), records, (world.layout(), world))
    }

    /// Returns a world, and the operations that were run on it.
    fn history(workload: Workload) -> (Plain, Vec<Record>) {
        let (mut world, mut random) = (Plain::new(blueprint()), Random::new(1, &[]));
        let mix = Mix::new(workload, Long::All, true);
        let next = |_| run(&mut world, mix.draw(&mut random), random.below(u64::MAX));
        let records = (0..600).map(next).collect();
        (world, records)
    }

    #[test]
    fn a_history_can_be_replayed() {
        for workload in Workload::ALL {
            let (world, records) = history(workload);
            replay_on(&records, &world).unwrap();
        }
    }

    fn wrong(records: &[Record], world: &Plain) -> String {
        replay_on(records, world).unwrap_err().to_string()
    }

    #[test]
    fn a_changed_answer_is_detected() {
        let (world, records) = history(Workload::ReadWrite);
        for at in [0, 100, 599] {
            let mut records = records.clone();
            match &mut records[at].outcome {
                Ok(answer) => answer.sum ^= 1,
                failed => {
                    *failed = Err(if *failed == Err(OperationFailure::Root) {
                        OperationFailure::NoId
                    } else {
                        OperationFailure::Root
                    })
                }
            }
            let wrong = wrong(&records, &world);
            assert!(wrong.contains(&format!("operation {at}, ")), "{wrong}");
        }
    }

    /// An operation that is missing, runs twice or comes too early is detected, if it has changed
    /// something.
    #[test]
    fn a_changed_history_is_detected() {
        let (world, records) = history(Workload::WriteDominated);
        let mut again = Plain::new(blueprint());
        let changes = records.iter().map(|record| {
            let before = again.clone();
            run(&mut again, record.operation, record.seed);
            differ(&before, &again).is_some()
        });
        let changes: Vec<bool> = changes.collect();
        let all = (0..records.len()).filter(|&at| changes[at]);
        for at in all.step_by(7) {
            let mut less = records.clone();
            let record = less.remove(at);
            assert!(replay_on(&less, &world).is_err(), "without operation {at}, {record:?}");
            let mut more = records.clone();
            more.insert(at, record);
            assert!(replay_on(&more, &world).is_err(), "twice operation {at}, {record:?}");
        }
        // A read that saw a later state is detected.
        let reads = |record: &Record| record.operation == Operation::T1;
        let mut noticed = 0;
        for at in (1..records.len()).filter(|&at| reads(&records[at]) && changes[at - 1]) {
            let mut early = records.clone();
            early.swap(at - 1, at);
            noticed += usize::from(replay_on(&early, &world).is_err());
        }
        assert!(noticed > 0);
    }

    #[test]
    fn a_changed_final_state_is_detected() {
        let (mut world, records) = history(Workload::ReadWrite);
        let undone = world.clone();
        // An even number of swaps or updates has no effect.
        let nothing = [Operation::T2c, Operation::T3c];
        let changes = |operation: &Operation| operation.mode() == Mode::Write && !nothing.contains(operation);
        for operation in Operation::ALL.into_iter().filter(changes) {
            let run = (0..200).any(|seed| {
                world = undone.clone();
                run(&mut world, operation, seed).outcome.is_ok()
            });
            assert!(run, "{operation:?} succeeds sometimes");
            let difference_found = differ(&undone, &world);
            assert!(difference_found.is_some(), "{operation:?}");
            let wrong = wrong(&records, &world);
            assert!(wrong.contains(&difference_found.unwrap()), "{operation:?}: {wrong}");
        }
        // A violated invariant is reported first.
        *world.get_mut(Layout::new(Sizes::SMALL).module()) = Part::Module(1);
        assert!(
            wrong(&records, &world)
                .starts_with("at the end, 1 invariants are violated; the first: the module")
        );
    }

    /// The order of siblings matters, as paths are found by it; the numbers of nodes do not.
    #[test]
    fn objects_are_compared_rather_than_nodes() {
        let (world, layout) = (Plain::new(blueprint()), Layout::new(Sizes::SMALL));
        let children: Vec<Node> = world.children(layout.root()).iter().collect();
        let [first, second] = [children[0], children[1]];
        let mut other = world.clone();
        *other.get_mut(first) = world.get(second).clone();
        *other.get_mut(second) = world.get(first).clone();
        let difference_found = differ(&world, &other);
        assert_eq!(difference_found, Some(world.get(first).name()));

        // Two base assemblies are deleted and two created, one with the node of the other.
        let base = world.get_as::<pages::ById<Node>>(layout.page(Ids::Base, 1)).get(1).unwrap();
        let parent = world.parents(base).first().unwrap();
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
        assert_eq!(differ(&one, &other), None);
    }
}
