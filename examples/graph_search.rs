//! Breadth-first search of a graph, level by level, by bitmaps of its vertices.
//!
//! Each worker follows the edges of its share of a level, and marks where they lead in a bitmap of
//! its own. Then each one takes in what all have marked in its share of the vertices. No worker
//! writes what another one accesses, so there are no locks and no atomic instructions.
//!
//! `cargo run --release -p xtasking-examples --example graph_search`

#![forbid(unsafe_code)]

use std::iter::from_fn;
use std::time::Instant;
use xtasking::fork::zip;
use xtasking::{JoinError, Runtime};

const VERTICES: u32 = 1 << 17;
const EDGES: u32 = 10 * VERTICES;
const UNREACHED: u32 = u32::MAX;

/// The targets of the edges of each vertex.
type Graph = [Vec<u32>];

/// Draws both ends of each edge.
fn random_graph() -> Vec<Vec<u32>> {
    let draw = |n: u32, salt: u64| {
        let mixed = (u64::from(n) + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) as u32 >> 15
    };
    let mut graph = vec![Vec::new(); VERTICES as usize];
    (0..EDGES).for_each(|n| graph[draw(n, 1) as usize].push(draw(n, 1 << 40)));
    graph
}

/// Returns the vertices of a word of a bitmap, in order.
fn vertices(word: usize, mut bits: u64) -> impl Iterator<Item = usize> {
    from_fn(move || {
        let vertex = word * 64 + bits.trailing_zeros() as usize;
        (bits != 0).then(|| {
            bits &= bits - 1;
            vertex
        })
    })
}

/// Returns the distance of each vertex from vertex 0.
fn search(rt: &Runtime, graph: &Graph) -> Result<Vec<u32>, JoinError> {
    let words = graph.len().div_ceil(64);
    // The distances of the vertices of each word.
    let mut distances = vec![[UNREACHED; 64]; words];
    let (mut level, mut reached) = (vec![0u64; words], vec![0u64; words]);
    let mut marks = vec![vec![0u64; words]; rt.workers()];
    (distances[0][0], level[0], reached[0]) = (0, 1, 1);
    let mut distance = 0;
    while level.iter().any(|vertices| *vertices != 0) {
        distance += 1;
        rt.task_scope(|scope| {
            for ((task, words), marks) in scope.shares(0..words).zip(&mut marks) {
                let level = &level[..];
                task.spawn(move |(), _| {
                    marks.fill(0);
                    for vertex in words.flat_map(|word| vertices(word, level[word])) {
                        for &target in &graph[vertex] {
                            marks[target as usize / 64] |= 1 << (target % 64);
                        }
                    }
                });
            }
        })?;
        rt.task_scope(|scope| {
            let bitmaps = zip(&mut level[..], &mut reached[..]);
            for (task, share) in scope.shares(zip(0..words, zip(bitmaps, &mut distances[..]))) {
                let marks = &marks[..];
                task.spawn(move |(), _| {
                    for (word, ((level, reached), distances)) in share {
                        *level = marks.iter().fold(0, |all, marks| all | marks[word]) & !*reached;
                        *reached |= *level;
                        vertices(0, *level).for_each(|vertex| distances[vertex] = distance);
                    }
                });
            }
        })?;
    }
    Ok(distances.as_flattened()[..graph.len()].to_vec())
}

fn main() -> Result<(), JoinError> {
    let graph = random_graph();
    let rt = Runtime::new().expect("the machine can start a worker on each core");
    let begin = Instant::now();
    let distances = search(&rt, &graph)?;
    println!("searched {EDGES} edges in {:?}", begin.elapsed());

    // An edge leads at most one further; and each vertex but the first has an edge from one nearer.
    let mut nearest = vec![UNREACHED; VERTICES as usize];
    nearest[0] = 0;
    for vertex in (0..VERTICES).filter(|&vertex| distances[vertex as usize] != UNREACHED) {
        for &next in &graph[vertex as usize] {
            let next = &mut nearest[next as usize];
            *next = (distances[vertex as usize] + 1).min(*next);
        }
    }
    assert_eq!(nearest, distances);
    Ok(())
}
