//! How long it takes to build hierarchies of 2.4 million nodes, to number them and to change them a million times.
//!
//! `cargo run --release -p xtasking-hierarchy --example how_long_numbering [NODES [CHANGES]]`

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::{Duration, Instant};
use xtasking_hierarchy::{Node, Numbering, Outcome, Shape, generate};

/// A name, how it is made of so many nodes, and how often it is changed.
type Made = (&'static str, fn(u32) -> Shape, usize);

/// What changes of a kind have cost.
#[derive(Default)]
struct Tally {
    times: Vec<Duration>,
    refused: usize,
    moved: usize,
    widened: usize,
    granules: usize,
}

fn main() {
    let number = |index, otherwise| {
        std::env::args().nth(index).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (nodes, changes) = (number(1, 2_437_666), number(2, 1_000_000));
    // Below a random node of a path there is half of it, and above it the other half, all hulls of which change.
    let of_path = changes / 10_000;
    let made: [Made; 5] = [
        ("treebank", |nodes| generate::treebank(nodes, 1), changes),
        ("random tree", |nodes| generate::random_tree(nodes, 1), changes),
        ("random graph, 1 to 3 parents", |nodes| generate::random_dag(nodes, 3, 1), changes),
        ("path", |nodes| generate::path(nodes), of_path),
        ("star", |nodes| generate::star(nodes), changes),
    ];
    for (name, make, changes) in made {
        let (time, shape) = timed(|| make(nodes as u32));
        println!(
            "{name}: {} nodes, {} leaves",
            shape.len(),
            shape.nodes().filter(|&n| shape.is_leaf(n)).count()
        );
        println!("  made up and built {time:.0?}");
        println!("  built again from its edges {:.0?}", built(&shape));
        let (time, depths) = timed(|| shape.depths());
        let mean = depths.iter().map(|&depth| f64::from(depth)).sum::<f64>() / depths.len() as f64;
        let most = depths.iter().max().copied().unwrap_or(0);
        println!("  depths {time:.0?}: {most} at most, {mean:.3} in the mean");
        println!("  all nodes in depth-first order {:.0?}", timed(|| shape.subtree(Node(0)).count()).0);
        let (time, mut numbering) = timed(|| Numbering::new(shape, 512));
        println!("  numbered {time:.0?}");
        let whole = [Node(0)];
        println!("  granules of the root {:.0?}", timed(|| numbering.granule_intervals(&whole, 4)).0);
        change(&mut numbering, changes, name.starts_with("random graph"));
        let vacant = numbering.vacant_count();
        let (time, narrowed) = timed(|| numbering.tighten_all());
        println!("  {vacant} vacant places; tightened all {time:.0?}, {narrowed} hulls got narrower\n");
    }
    crowd(changes);
}

/// All new leaves come to one place among those of a large tree: before a child, each before the last new one, or at the end.
fn crowd(changes: usize) {
    let shape = generate::complete(10, 7).expect("they are not too many");
    let parent = Node(shape.len() as u32 / 20);
    let numbering = Numbering::new(shape, 512);
    for name in ["before a child", "before the last new one", "at the end"] {
        let mut numbering = numbering.clone();
        let (mut before, mut moved, mut most) = (numbering.shape().first_child(parent), 0, 0);
        let (time, ()) = timed(|| {
            for _ in 0..changes {
                let to = before.filter(|_| name != "at the end");
                let (node, outcome) = numbering.insert(Some(parent), to).expect("there is room");
                moved += outcome.moved;
                most = most.max(outcome.moved);
                before = if name == "before a child" { before } else { Some(node) };
            }
        });
        let each = time.as_secs_f64() * 1e9 / changes as f64;
        let mean = moved as f64 / changes as f64;
        println!(
            "{changes} new leaves {name}: {each:.0} ns each, {mean:.2} labels moved for each, {most} at most"
        );
    }
}

/// Building alone.
fn built(shape: &Shape) -> Duration {
    let of = |node: Node| shape.children(node).map(move |child| (node.0, child.0));
    let edges: Vec<_> = shape.nodes().flat_map(of).collect();
    timed(|| Shape::from_edges(shape.len(), &edges)).0
}

/// Leaves come under random nodes and sub-trees of a few nodes go; in a graph, links come and go as well.
fn change(numbering: &mut Numbering, changes: usize, links: bool) {
    let mut random = SplitMix64::seed_from_u64(7);
    let mut tallies: [Tally; 4] = Default::default();
    for _ in 0..changes {
        let (one, other) = (any(numbering.shape(), &mut random), any(numbering.shape(), &mut random));
        let kind = random.next_u64() as usize % if links { 4 } else { 2 };
        // Only small sub-trees are removed, and no root, so that something is left.
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
            Ok(Outcome { widened, moved }) => {
                tally.times.push(time);
                tally.moved += moved;
                tally.widened += widened.hulls.len();
                tally.granules += widened.granules.len();
            }
            Err(_) => tally.refused += 1,
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
                "  {name:6} {count:7} and {} refused: {median:.1?} median, {nearly_all:.1?} of 99.9%, {most:.1?} at most; for \
                 each, {:.3} hulls widened, {:.3} intervals of granules, {:.3} labels moved",
                tally.refused,
                each(tally.widened),
                each(tally.granules),
                each(tally.moved)
            );
        }
    }
}

/// A random node.
fn any(shape: &Shape, random: &mut SplitMix64) -> Node {
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
