//! Random changes of a numbering, compared with a model of plain lists and sets.

mod model;

use model::{Model, all, shape_is};
use proptest::prelude::*;
use proptest::sample::Index;
use xtasking_hierarchy::{Change, ChangeOutcome, Node, Numbering, Shape, ShapeError, generate};
use xtasking_testing::PATIENCE;

/// A step; the indices pick among the nodes that exist.
#[derive(Clone, Debug)]
enum Step {
    Insert(Option<Index>, Option<Index>),
    Remove(Index),
    Link(Index, Index, Option<Index>),
    /// An existing edge.
    Unlink(Index),
    /// Any two nodes.
    UnlinkAny(Index, Index),
    Tighten(Index),
    TightenAll,
}

fn step(links: bool) -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let some = || proptest::option::weighted(0.5, any::<Index>());
    let mut weights = vec![
        (
            8,
            (proptest::option::weighted(0.95, index()), some()).prop_map(|(p, b)| Step::Insert(p, b)).boxed(),
        ),
        (6, index().prop_map(Step::Remove).boxed()),
        (1, index().prop_map(Step::Tighten).boxed()),
        (1, Just(Step::TightenAll).boxed()),
    ];
    if links {
        weights.push((8, (index(), index(), some()).prop_map(|(p, c, b)| Step::Link(p, c, b)).boxed()));
        weights.push((6, index().prop_map(Step::Unlink).boxed()));
        weights.push((1, (index(), index()).prop_map(|(p, c)| Step::UnlinkAny(p, c)).boxed()));
    }
    proptest::strategy::Union::new_weighted(weights)
}

fn pick(nodes: &[u32], index: Index) -> Option<Node> {
    (!nodes.is_empty()).then(|| Node(*index.get(nodes)))
}

/// Returns the change, or `None` if there is nothing to pick.
fn change(model: &Model, step: &Step) -> Option<Change> {
    let nodes = model.nodes();
    let child_of = |parent: Option<Node>, index: Option<Index>| {
        let children = model.children(parent.map(|parent| parent.0));
        index.and_then(|index| pick(children, index))
    };
    Some(match *step {
        Step::Insert(parent, before) if nodes.len() < model::MAX_NODES => {
            let parent = parent.and_then(|parent| pick(&nodes, parent));
            Change::Insert { parent, before: child_of(parent, before) }
        }
        Step::Remove(node) => Change::Remove(pick(&nodes, node)?),
        Step::Link(parent, child, before) => {
            let (parent, child) = (pick(&nodes, parent)?, pick(&nodes, child)?);
            Change::Link { parent, child, before: child_of(Some(parent), before) }
        }
        Step::Unlink(edge) => {
            let edges = model.edges();
            let &(parent, child) = edges.get(edge.index(edges.len().max(1)))?;
            Change::Unlink { parent: Node(parent), child: Node(child) }
        }
        Step::UnlinkAny(parent, child) => {
            Change::Unlink { parent: pick(&nodes, parent)?, child: pick(&nodes, child)? }
        }
        _ => return None,
    })
}

/// Makes the change in both, which must agree on whether it is allowed.
fn make(
    numbering: &mut Numbering,
    model: &mut Model,
    change: Change,
) -> Result<Result<ChangeOutcome, ShapeError>, TestCaseError> {
    let expected = model.error_of(change);
    let made = match change {
        Change::Insert { parent, before } => numbering.insert(parent, before).map(|(node, outcome)| {
            model.insert(node.0, parent.map(|parent| parent.0), before.map(|before| before.0));
            outcome
        }),
        Change::Remove(node) => match numbering.remove(node) {
            Ok((nodes, outcome)) => {
                let mut removed: Vec<u32> = nodes.iter().map(|node| node.0).collect();
                prop_assert_eq!(nodes[0], node);
                removed.sort();
                prop_assert_eq!(removed, model.remove(node.0));
                Ok(outcome)
            }
            Err(error) => Err(error),
        },
        Change::Link { parent, child, before } => numbering
            .link(parent, child, before)
            .inspect(|_| model.link(parent.0, child.0, before.map(|before| before.0))),
        Change::Unlink { parent, child } => {
            numbering.unlink(parent, child).inspect(|_| model.unlink(parent.0, child.0))
        }
    };
    match (&made, expected) {
        (Ok(_), None) => {}
        (Err(ShapeError::Cycle(cycle)), Some(ShapeError::Cycle(_))) => {
            let Change::Link { parent, child, .. } = change else { unreachable!("only links make cycles") };
            prop_assert_eq!((cycle.first(), cycle.last()), (Some(&child), Some(&parent)));
            let real = |two: &[Node]| model.children(Some(two[0].0)).contains(&two[1].0);
            prop_assert!(cycle.windows(2).all(real), "{cycle:?}");
        }
        (Err(ShapeError::Shared { node, parent }), Some(ShapeError::Shared { .. })) => {
            prop_assert!(model.children(Some(parent.0)).contains(&node.0));
        }
        (made, expected) => prop_assert_eq!(made.as_ref().err(), expected.as_ref()),
    }
    Ok(made)
}

/// Checks the outcome of a change against the numbers of existing nodes before and after.
fn outcome_is_right(
    before: &Numbering,
    after: &Numbering,
    outcome: &ChangeOutcome,
) -> Result<(), TestCaseError> {
    for node in before.shape().nodes().filter(|&node| after.shape().contains(node)) {
        // Labels before and after a relabelling cannot be compared.
        if outcome.relabelled == 0 {
            let widened = !before.hull(node).covers(after.hull(node));
            prop_assert_eq!(outcome.widened.hulls.contains(&node), widened, "the hull of {}", node);
        }
        let widened = !before.granules(node).covers(after.granules(node));
        prop_assert_eq!(outcome.widened.granules.contains(&node), widened, "the granules of {}", node);
        let is_leaf = |numbering: &Numbering| numbering.shape().is_leaf(node);
        if is_leaf(before) && is_leaf(after) {
            prop_assert_eq!(before.granules(node), after.granules(node));
        }
    }
    for (index, &node) in outcome.widened.hulls.iter().enumerate().skip(1) {
        let earlier = &outcome.widened.hulls[..index];
        prop_assert!(after.shape().children(node).any(|child| earlier.contains(&child)));
    }
    let mut once = outcome.widened.hulls.clone();
    once.sort();
    once.dedup();
    prop_assert_eq!(once.len(), outcome.widened.hulls.len());
    Ok(())
}

/// Checks that intervals overlap if sub-trees do, and, if `exactly`, that hulls overlap only then.
fn intervals_are_right(numbering: &Numbering, model: &Model, exactly: bool) -> Result<(), TestCaseError> {
    let below = model.below();
    let nodes = model.nodes();
    for &a in &nodes {
        for &b in &nodes {
            let overlap = below[a as usize] & below[b as usize] != 0;
            let hulls = numbering.hull(Node(a)).overlaps(numbering.hull(Node(b)));
            let granules = numbering.granules(Node(a)).overlaps(numbering.granules(Node(b)));
            prop_assert!(!overlap || (hulls && granules), "{a} and {b} overlap");
            prop_assert!(!exactly || overlap == hulls, "{a} and {b} do not overlap");
            if model.children(Some(a)).contains(&b) {
                prop_assert!(numbering.hull(Node(a)).covers(numbering.hull(Node(b))));
                prop_assert!(numbering.granules(Node(a)).covers(numbering.granules(Node(b))));
            }
        }
        let intervals = numbering.granule_intervals(&[Node(a)], 2);
        prop_assert!(intervals.len() <= 2 && intervals.is_sorted_by(|a, b| a.high + 1 < b.low));
        for &leaf in nodes.iter().filter(|&&leaf| all(below[a as usize]).any(|node| node == leaf)) {
            let granules = numbering.granules(Node(leaf));
            let is_leaf = model.children(Some(leaf)).is_empty();
            prop_assert!(!is_leaf || intervals.iter().any(|interval| interval.covers(granules)));
        }
    }
    let leaves: Vec<Node> = numbering.leaves().collect();
    prop_assert_eq!(leaves.len(), numbering.leaf_count());
    prop_assert!(leaves.windows(2).all(|two| numbering.hull(two[0]).high < numbering.hull(two[1]).low));
    prop_assert!(leaves.is_sorted_by_key(|&leaf| numbering.granules(leaf).low));
    prop_assert!(leaves.iter().all(|&leaf| numbering.hull(leaf).low == numbering.hull(leaf).high));
    if exactly {
        prop_assert_eq!(&leaves, &model.leaves_depth_first());
    }
    let mut sorted = leaves;
    sorted.sort();
    let childless = nodes.iter().filter(|&&node| model.children(Some(node)).is_empty());
    prop_assert!(sorted.into_iter().eq(childless.map(|&leaf| Node(leaf))));
    Ok(())
}

/// Checks that no hull is wider than the leaves below it require.
fn hulls_are_tight(numbering: &Numbering, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(numbering.vacant_count(), 0);
    let below = model.below();
    for node in model.nodes() {
        let leaves = all(below[node as usize]).filter(|&leaf| model.children(Some(leaf)).is_empty());
        let hull = leaves.map(|leaf| numbering.hull(Node(leaf))).reduce(|a, b| a.hull(b));
        prop_assert_eq!(Some(numbering.hull(Node(node))), hull);
        let granules: Vec<u32> = {
            let leaves = all(below[node as usize]).filter(|&leaf| model.children(Some(leaf)).is_empty());
            let mut granules: Vec<u32> = leaves.map(|leaf| numbering.granules(Node(leaf)).low).collect();
            granules.sort();
            granules.dedup();
            granules
        };
        let intervals = numbering.granule_intervals(&[Node(node)], usize::MAX);
        prop_assert!(intervals.iter().flat_map(|interval| interval.low..=interval.high).eq(granules));
    }
    Ok(())
}

fn run(shape: Shape, steps: Vec<Step>, granules: u32, tree: bool) -> Result<(), TestCaseError> {
    let mut model = Model::of(&shape);
    let mut numbering = Numbering::new(shape, granules);
    intervals_are_right(&numbering, &model, tree)?;
    hulls_are_tight(&numbering, &model)?;
    for step in steps {
        if let Some(change) = change(&model, &step) {
            let before = numbering.clone();
            let foreseen = numbering.preview(change);
            let made = make(&mut numbering, &mut model, change)?;
            prop_assert_eq!(foreseen, made.clone().map(|outcome| outcome.widened));
            let outcome = made.unwrap_or_default();
            outcome_is_right(&before, &numbering, &outcome)?;
        } else if let Step::Tighten(node) = step {
            let Some(node) = pick(&model.nodes(), node) else { continue };
            let before = numbering.clone();
            let narrowed = numbering.tighten(node);
            outcome_is_right(&before, &numbering, &ChangeOutcome::default())?;
            let changed = |node: &u32| before.hull(Node(*node)) != numbering.hull(Node(*node));
            prop_assert!(model.nodes().iter().filter(|&node| changed(node)).count() <= narrowed);
            prop_assert_eq!(numbering.tighten(node), 0);
        } else if matches!(step, Step::TightenAll) {
            numbering.tighten_all();
            hulls_are_tight(&numbering, &model)?;
        }
        shape_is(numbering.shape(), &model)?;
        intervals_are_right(&numbering, &model, tree)?;
    }
    numbering.tighten_all();
    hulls_are_tight(&numbering, &model)?;
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64 / PATIENCE))]

    #[test]
    fn changes_of_trees_agree_with_the_model(
        seed: u64, nodes in 0u32..40, granules in 1u32..9,
        steps in prop::collection::vec(step(false), 1..80),
    ) {
        run(generate::random_tree(nodes, seed), steps, granules, true)?;
    }

    #[test]
    fn changes_of_graphs_agree_with_the_model(
        seed: u64, nodes in 0u32..40, parents in 1u32..4, granules in 1u32..9,
        steps in prop::collection::vec(step(true), 1..80),
    ) {
        run(generate::random_dag(nodes, parents, seed), steps, granules, false)?;
    }

    /// If the parent is tightened after each removal, all hulls are tight.
    #[test]
    fn tightening_the_parent_after_each_removal_suffices(
        seed: u64, nodes in 1u32..40, parents in 1u32..3,
        removals in prop::collection::vec(any::<Index>(), 1..20),
    ) {
        let shape = generate::random_dag(nodes, parents, seed);
        let mut model = Model::of(&shape);
        let mut numbering = Numbering::new(shape, 4);
        for removal in removals {
            let Some(node) = pick(&model.nodes(), removal) else { break };
            let parent = numbering.shape().parents(node).next();
            if make(&mut numbering, &mut model, Change::Remove(node))?.is_ok() && let Some(parent) = parent {
                numbering.tighten(parent);
            }
            hulls_are_tight(&numbering, &model)?;
        }
    }
}

#[test]
fn missing_nodes_are_rejected() {
    let mut numbering = Numbering::new(generate::star(3), 1);
    let none = Node(3);
    assert_eq!(numbering.insert(Some(none), None).unwrap_err(), ShapeError::NoSuchNode(none));
    assert_eq!(numbering.insert(None, Some(none)).unwrap_err(), ShapeError::NoSuchNode(none));
    let no_root = ShapeError::NotAChild { parent: None, child: Node(1) };
    assert_eq!(numbering.insert(None, Some(Node(1))).unwrap_err(), no_root);
    assert_eq!(numbering.remove(none).unwrap_err(), ShapeError::NoSuchNode(none));
    assert_eq!(numbering.link(none, Node(0), None).unwrap_err(), ShapeError::NoSuchNode(none));
    assert_eq!(numbering.link(Node(0), none, None).unwrap_err(), ShapeError::NoSuchNode(none));
    assert_eq!(numbering.unlink(Node(0), none).unwrap_err(), ShapeError::NoSuchNode(none));
    assert_eq!(numbering.unlink(none, Node(0)).unwrap_err(), ShapeError::NoSuchNode(none));
}

/// Many leaves are inserted at one place, so that labels are reassigned again and again.
#[test]
fn relabelling_preserves_the_order() {
    let mut numbering = Numbering::new(generate::complete(3, 5).unwrap(), 16);
    let (crowded, quiet) = (Node(39), Node(38));
    let granules: Vec<_> = numbering.shape().nodes().map(|node| numbering.granules(node)).collect();
    let (mut relabelled, mut before) = (0, None);
    for count in 0..30_000 {
        let (node, outcome) = numbering.insert(Some(crowded), before).unwrap();
        relabelled += outcome.relabelled;
        // First before one child, then each before the last new one, then at the end.
        before = [Some(node), before, None][count / 10_000];
    }
    assert!(relabelled > 0, "no gap has run out");
    let leaves: Vec<Node> =
        numbering.shape().subtree(Node(0)).filter(|&node| numbering.shape().is_leaf(node)).collect();
    assert!(numbering.leaves().eq(leaves.iter().copied()));
    assert!(leaves.windows(2).all(|two| numbering.hull(two[0]).high < numbering.hull(two[1]).low));
    assert!(!numbering.hull(crowded).overlaps(numbering.hull(quiet)));
    assert!(
        numbering.shape().children(crowded).all(|node| numbering.hull(crowded).covers(numbering.hull(node)))
    );
    for (node, granules) in granules.into_iter().enumerate() {
        assert_eq!(numbering.granules(Node(node as u32)), granules);
    }
}
