//! Tests all operations on small worlds.

use super::super::build::Blueprint;
use super::super::checked::{CheckedRun, plan_and_run};
use super::super::invariants::violations;
use super::super::layout::{Ids, Shelves};
use super::super::outcome::{Answer, OperationFailure};
use super::super::parts::{Base, Complex, Composite};
use super::super::plain::Plain;
use super::super::replay::differ;
use super::super::sizes::Sizes;
use super::super::text;
use super::super::world::{Values, View};
use super::*;
use std::collections::{BTreeMap, BTreeSet};

fn world(seed: u64) -> Plain {
    Plain::new(Blueprint::new(Sizes::SMALL, seed))
}

fn run(operation: Operation, seed: u64, world: &mut Plain) -> Outcome {
    operation.run(&world.layout().clone(), seed, &mut Scratch::default(), world)
}

/// Runs the operation with seeds until it succeeds.
fn succeed(operation: Operation, world: &mut Plain) -> Answer {
    (0..200)
        .find_map(|seed| run(operation, seed, world).ok())
        .expect("the operation succeeds with most seeds")
}

#[test]
fn a_new_world_satisfies_all_invariants() {
    for seed in 0..5 {
        let world = world(seed);
        assert_eq!(violations(world.layout(), &world), [""; 0]);
    }
}

#[test]
fn equal_seeds_give_equal_worlds() {
    assert_eq!(differ(&world(1), &world(1)), None);
    assert!(differ(&world(1), &world(2)).is_some());
}

/// Checks that plans suffice (touching an unclaimed node panics) and are minimal, that a failed
/// operation changes nothing, and that a successful one keeps the invariants. Every operation
/// succeeds, and every kind of failure occurs.
#[test]
fn operations_keep_to_their_plans_and_keep_the_invariants() {
    let (mut succeeded, mut failures) = (BTreeMap::new(), Vec::new());
    for seed in 0..4 {
        let (mut world, mut scratch) = (world(seed), Scratch::default());
        let layout = world.layout().clone();
        let mut random = Random::new(seed, &[7]);
        for _ in 0..800 {
            let operation = Operation::ALL[random.below(45) as usize];
            let before = world.clone();
            let seed = random.below(u64::MAX);
            let run_result = plan_and_run(operation, seed, &mut scratch, &mut world);
            assert_exact(operation, &run_result, &layout);
            match run_result.outcome {
                Ok(_) => *succeeded.entry(operation.name()).or_insert(0) += 1,
                Err(failed) => {
                    assert_eq!(differ(&before, &world), None, "{operation:?}, {seed}: {failed}");
                    if !failures.contains(&failed) {
                        failures.push(failed);
                    }
                }
            }
            // In read mode a change would have panicked.
            if operation.mode() == Mode::Write {
                assert_eq!(violations(&layout, &world), [""; 0], "{operation:?}, {seed}");
            }
        }
    }
    assert_eq!(succeeded.len(), 45, "{succeeded:?}");
    use OperationFailure::{Missing, NoComponent, NoId, OnlyChild, Root};
    assert!(
        [Missing, NoComponent, NoId, OnlyChild, Root].iter().all(|of| failures.contains(of)),
        "{failures:?}"
    );
}

/// Checks that everything claimed was touched in the same mode.
fn assert_exact(operation: Operation, run_result: &CheckedRun, layout: &Layout) {
    use Operation::*;
    let CheckedRun { outcome, claims, plans, touched } = run_result;
    let trees: Vec<_> = claims.trees.iter().map(|(&node, &mode)| (node, mode)).collect();
    let (root, networks) = ((layout.root(), Mode::Read), layout.library(Shelves::Networks));
    match operation {
        Q7 | OP3 => assert_eq!(trees, [(networks, Mode::Read)]),
        Q6 | ST5 => assert_eq!(trees, [root]),
        T4 | T5 => assert_eq!(trees, [(layout.library(Shelves::Documents), operation.mode()), root]),
        _ if operation.category() == Category::Long => {
            assert_eq!(trees, [(networks, operation.mode()), root])
        }
        SM8 => assert!(
            trees.len() == usize::from(outcome.is_ok()) && trees.iter().all(|tree| tree.0 != layout.root())
        ),
        _ => assert_eq!(trees, [], "{operation:?}"),
    }
    // Each plan gets as far as nodes are visible, along a path one node further than the last; the
    // last plan only confirms that it is complete.
    let levels = layout.sizes.levels as usize;
    let max_plans = match operation.category() {
        Category::Long => 2,
        Category::Structural => 6,
        _ if [OP6, OP7, OP12, OP13].contains(&operation) => 5,
        Category::Short => levels + 3,
        Category::Single => 4,
    };
    assert!(*plans <= max_plans, "{operation:?} was planned {plans} times");
    if outcome.is_err() {
        return;
    }
    let mut spare = claims.only.clone();
    spare.retain(|node, mode| touched.get(node) < Some(mode));
    match operation {
        // Some dates do not occur among the root parts.
        T3a | T3b | T3c => spare.retain(|&node, _| !layout.date_pages().any(|page| page == node)),
        // Only the number of uses changes.
        SM3 | SM4 => {
            spare.pop_first();
        }
        _ => {}
    }
    assert_eq!(spare, BTreeMap::new(), "{operation:?} claims more than it touches");
}

#[test]
fn traversals_visit_all_parts() {
    let mut world = world(3);
    let sizes = Sizes::SMALL;
    let components = u64::from(sizes.bases() * sizes.components);
    let parts = components * u64::from(sizes.parts);
    let mut count = |operation| run(operation, 1, &mut world).unwrap().count;
    assert_eq!([Operation::T1, Operation::T2b, Operation::T3b].map(&mut count), [parts; 3]);
    assert_eq!([Operation::T2c, Operation::T3c].map(&mut count), [4 * parts; 2]);
    assert_eq!([Operation::T2a, Operation::T3a, Operation::T6].map(&mut count), [components; 3]);
    assert_eq!(count(Operation::Q7), u64::from(sizes.atomics()));
    // Each line of a document has one occurrence of the letter and one of the form, until it is
    // toggled.
    let letters = count(Operation::T4);
    assert!(letters >= 5 * components);
    let toggled = count(Operation::T5);
    assert!(toggled >= 5 * components, "{toggled}");
    assert!(count(Operation::T4) < letters);
}

/// A traversal by hand finds the same number of assemblies with newer components.
#[test]
fn newer_components_are_counted() {
    let mut world = world(4);
    let layout = world.layout().clone();
    let (mut bases, mut all) = (0, BTreeSet::new());
    let mut open = vec![(layout.root(), vec![layout.root()])];
    while let Some((node, path)) = open.pop() {
        if let Some(base) = <Base as super::super::parts::Kind>::of(world.get(node)) {
            if base.bag().any(|part| world.get_as::<Composite>(part).date > base.date) {
                bases += 1;
                all.extend(path);
            }
            continue;
        }
        for child in world.children(node).iter() {
            open.push((child, path.iter().copied().chain([child]).collect()));
        }
    }
    assert!(bases > 0 && bases < Sizes::SMALL.bases() as u64);
    assert_eq!(run(Operation::ST5, 1, &mut world).unwrap().count, bases);
    assert_eq!(run(Operation::Q6, 1, &mut world).unwrap().count, all.len() as u64);
}

#[test]
fn running_an_operation_twice_undoes_it() {
    use Operation::*;
    for operation in [T2a, T2b, T3a, T3b, T5, ST6, ST7, ST8, ST10, OP9, OP10, OP11, OP12, OP13, OP14, OP15] {
        let mut world = world(5);
        let before = world.clone();
        let seed = (0..200)
            .find(|&seed| run(operation, seed, &mut world).is_ok())
            .expect("the operation succeeds with most seeds");
        // A component that is used an even number of times is unchanged already.
        if operation != T5 {
            assert!(differ(&before, &world).is_some(), "{operation:?}");
        }
        assert!(run(operation, seed, &mut world).is_ok());
        let difference = differ(&before, &world);
        assert_eq!(difference, None, "{operation:?}");
    }
}

/// A reader sees what other operations have written.
#[test]
fn answers_depend_on_what_is_read() {
    use Operation::*;
    let pairs = [
        (T2b, T1),
        (T3b, T1),
        (T5, T4),
        (T2a, T6),
        (OP14, Q6),
        (T2b, Q7),
        (T2a, ST1),
        (T5, ST2),
        (T2b, ST9),
        (ST8, ST3),
        (OP13, ST4),
        (T2b, OP1),
        (T2b, OP2),
        (T2b, OP3),
        (OP11, OP4),
        (OP12, OP6),
        (OP13, OP7),
        (OP14, OP8),
    ];
    for (write, read) in pairs {
        let is_seen = (0..60).any(|seed| {
            let mut world = world(seed);
            let before = run(read, seed, &mut world);
            succeed(write, &mut world);
            run(read, seed, &mut world) != before
        });
        // A count of newer components does not depend on a date changed by 1.
        assert_eq!(is_seen, (write, read) != (OP14, Q6), "{write:?} and {read:?}");
    }
}

#[test]
fn structural_changes_affect_the_described_number_of_objects() {
    use Operation::*;
    let mut world = world(8);
    let layout = world.layout().clone();
    let links = |world: &Plain| run(T6, 0, &mut world.clone()).unwrap().count;
    let parts = |world: &Plain| run(Q7, 0, &mut world.clone()).unwrap().count;
    let (all, used) = (parts(&world), links(&world));
    assert_eq!(succeed(SM1, &mut world).count, 1);
    assert_eq!((parts(&world), links(&world)), (all + u64::from(Sizes::SMALL.parts), used));
    succeed(SM3, &mut world);
    assert_eq!(links(&world), used + 1);
    succeed(SM4, &mut world);
    succeed(SM4, &mut world);
    assert_eq!(links(&world), used - 1);
    succeed(SM2, &mut world);
    assert_eq!(parts(&world), all);
    let bases = |world: &Plain| {
        layout
            .pages(Ids::Base)
            .map(|page| world.get_as::<super::super::pages::ById<Node>>(page).all().count())
            .sum::<usize>()
    };
    let before = bases(&world);
    succeed(SM5, &mut world);
    assert_eq!(bases(&world), before + 1);
    succeed(SM6, &mut world);
    assert_eq!(bases(&world), before);
    // A sub-tree of level 2 has one complex and three base assemblies, one of level 3 four and
    // nine.
    let added = succeed(SM7, &mut world).count;
    assert!([4, 13].contains(&added), "{added}");
    assert_eq!(bases(&world), before + if added == 4 { 3 } else { 9 });
    assert!([4, 5, 13, 14, 17].contains(&succeed(SM8, &mut world).count));
    let root: &Complex = world.get_as(layout.root());
    assert_eq!((root.id, root.level), (1, Sizes::SMALL.levels));
}

/// Deletes all composite parts and uses up all ids; all operations still run.
#[test]
fn an_emptied_world_satisfies_all_invariants() {
    let mut world = world(9);
    let layout = world.layout().clone();
    let mut random = Random::new(1, &[]);
    for _ in 0..3_000 {
        let operation = [Operation::SM2, Operation::SM6, Operation::SM8][random.below(3) as usize];
        let _ = run(operation, random.below(u64::MAX), &mut world);
    }
    assert_eq!(run(Operation::Q7, 0, &mut world).unwrap().count, 0);
    assert_eq!(run(Operation::SM6, 1, &mut world).map(|answer| answer.count).unwrap_or_default(), 0);
    for operation in Operation::ALL {
        for seed in 0..20 {
            plan_and_run(operation, seed, &mut Scratch::default(), &mut world);
            assert_eq!(violations(&layout, &world), [""; 0], "{operation:?}, {seed}");
        }
    }
}

#[test]
fn op5_compares_the_first_and_the_last_letter() {
    let mut world = world(1);
    assert_eq!(run(Operation::OP5, 0, &mut world).unwrap().count, 0);
    let node = world.layout().manual();
    let manual: &mut Vec<u8> = world.get_mut_as(node);
    *manual.last_mut().unwrap() = b'I';
    assert_eq!(run(Operation::OP5, 0, &mut world).unwrap().count, 1);
    let letters = text::count(world.get_as::<Vec<u8>>(node), b'I');
    assert_eq!(run(Operation::OP4, 0, &mut world).unwrap().count, letters);
}
