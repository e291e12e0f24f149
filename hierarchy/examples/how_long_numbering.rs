//! Measures how long it takes to build, number and change shapes of 2.4 million nodes.
//!
//! `cargo run --release -p xtasking-hierarchy --example how_long_numbering [NODES [CHANGES]]`

#![forbid(unsafe_code)]

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::{Duration, Instant};
use xtasking_hierarchy::{ChangeOutcome, Node, Numbering, Shape, generate};

/// A name, a generator for a given number of nodes, and the number of changes to make.
type Case = (&'static str, fn(u32) -> Shape, usize);

/// The cost of all changes of one kind.
#[derive(Default)]
struct Tally {
    times: Vec<Duration>,
    rejected: usize,
    relabelled: usize,
    widened: usize,
    granules: usize,
}

fn main() {
    let number = |index, otherwise| {
        std::env::args().nth(index).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (nodes, changes) = (number(1, 2_437_666), number(2, 1_000_000));
    // In a path, a random change concerns half of the nodes.
    let path_changes = changes / 10_000;
    let cases: [Case; 5] = [
        ("treebank", |nodes| generate::treebank(nodes, 1), changes),
        ("random tree", |nodes| generate::random_tree(nodes, 1), changes),
        ("random graph, 1 to 3 parents", |nodes| generate::random_dag(nodes, 3, 1), changes),
        ("path", |nodes| generate::path(nodes), path_changes),
        ("star", |nodes| generate::star(nodes), changes),
    ];
    for (name, make, changes) in cases {
        let (time, shape) = timed(|| make(nodes as u32));
        println!(
            "{name}: {} nodes, {} leaves",
            shape.len(),
            shape.nodes().filter(|&n| shape.is_leaf(n)).count()
        );
        println!("  generated and built {time:.0?}");
        println!("  built again from its edges {:.0?}", built(&shape));
        let (time, depths) = timed(|| shape.depths());
        let mean = depths.iter().map(|&depth| f64::from(depth)).sum::<f64>() / depths.len() as f64;
        let most = depths.iter().max().copied().unwrap_or(0);
        println!("  depths {time:.0?}: {most} at most, {mean:.3} on average");
        println!("  all nodes in depth-first order {:.0?}", timed(|| shape.subtree(Node(0)).count()).0);
        let (time, mut numbering) = timed(|| Numbering::new(shape, 512));
        println!("  numbered {time:.0?}");
        let whole = [Node(0)];
        println!("  granules of the root {:.0?}", timed(|| numbering.granule_intervals(&whole, 4)).0);
        change(&mut numbering, changes, name.starts_with("random graph"));
        let vacant = numbering.vacant_count();
        let (time, narrowed) = timed(|| numbering.tighten_all());
        println!("  {vacant} vacant places; tightened all {time:.0?}, {narrowed} hulls became narrower\n");
    }
    crowd(changes);
}

/// Inserts all leaves at one place of a large tree: before one child, each before the last new one,
/// or at the end.
fn crowd(changes: usize) {
    let shape = generate::complete(10, 7).expect("the shape is below the limit");
    let parent = Node(shape.len() as u32 / 20);
    let numbering = Numbering::new(shape, 512);
    for name in ["before a child", "before the last new one", "at the end"] {
        let mut numbering = numbering.clone();
        let (mut before, mut relabelled, mut most) = (numbering.shape().first_child(parent), 0, 0);
        let (time, ()) = timed(|| {
            for _ in 0..changes {
                let to = before.filter(|_| name != "at the end");
                let (node, outcome) = numbering.insert(Some(parent), to).expect("there is room");
                relabelled += outcome.relabelled;
                most = most.max(outcome.relabelled);
                before = if name == "before a child" { before } else { Some(node) };
            }
        });
        let each = time.as_secs_f64() * 1e9 / changes as f64;
        let mean = relabelled as f64 / changes as f64;
        println!(
            "{changes} new leaves {name}: {each:.0} ns each, {mean:.2} labels changed for each, \
             {most} at most"
        );
    }
}

/// Measures building a shape from its edges.
fn built(shape: &Shape) -> Duration {
    let of = |node: Node| shape.children(node).map(move |child| (node.0, child.0));
    let edges: Vec<_> = shape.nodes().flat_map(of).collect();
    timed(|| Shape::from_edges(shape.len(), &edges)).0
}

/// Inserts leaves at random nodes and removes small sub-trees; in a graph, also links and unlinks
/// nodes.
fn change(numbering: &mut Numbering, changes: usize, links: bool) {
    let mut random = SplitMix64::seed_from_u64(7);
    let mut tallies: [Tally; 4] = Default::default();
    for _ in 0..changes {
        let (one, other) =
            (random_node(numbering.shape(), &mut random), random_node(numbering.shape(), &mut random));
        let kind = random.next_u64() as usize % if links { 4 } else { 2 };
        // Removes only small sub-trees and no roots, so that something is left.
        if kind == 1 && (numbering.shape().is_root(one) || numbering.shape().subtree(one).nth(8).is_some()) {
            continue;
        }
        let began = Instant::now();
        let result = match kind {
            0 => {
                let before =
                    numbering.shape().first_child(one).filter(|_| random.next_u64().is_multiple_of(2));
                numbering.insert(Some(one), before).map(|done| done.1)
            }
            1 => {
                let parent = numbering.shape().parents(one).next();
                numbering.remove(one).map(|done| done.1).inspect(|_| {
                    if !links && random.next_u64().is_multiple_of(8) {
                        parent.map(|parent| numbering.tighten(parent));
                    }
                })
            }
            2 => numbering.link(one, other, None),
            _ => {
                let parent = numbering.shape().parents(one).next();
                let Some(parent) = parent else { continue };
                numbering.unlink(parent, one)
            }
        };
        let time = began.elapsed();
        let tally = &mut tallies[kind];
        match result {
            Ok(ChangeOutcome { widened, relabelled, .. }) => {
                tally.times.push(time);
                tally.relabelled += relabelled;
                tally.widened += widened.hulls.len();
                tally.granules += widened.granules.len();
            }
            Err(_) => tally.rejected += 1,
        }
    }
    for (name, mut tally) in ["insert", "remove", "link", "unlink"].into_iter().zip(tallies) {
        let count = tally.times.len();
        if count > 0 {
            tally.times.sort_unstable();
            let [median, nearly_all, most] =
                [count / 2, count * 999 / 1000, count - 1].map(|at| tally.times[at]);
            let each = |all: usize| all as f64 / count as f64;
            println!(
                "  {name:6} {count:7} and {} rejected: {median:.1?} median, {nearly_all:.1?} of 99.9%, \
                 {most:.1?} at most; for each, {:.3} hulls widened, {:.3} intervals of granules, \
                 {:.3} labels changed",
                tally.rejected,
                each(tally.widened),
                each(tally.granules),
                each(tally.relabelled)
            );
        }
    }
}

/// Returns a random node.
fn random_node(shape: &Shape, random: &mut SplitMix64) -> Node {
    loop {
        let node = Node((random.next_u64() % shape.bound() as u64) as u32);
        if shape.contains(node) {
            return node;
        }
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let result = work();
    (began.elapsed(), result)
}
