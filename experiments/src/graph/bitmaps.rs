//! A search by bitmaps: no thread writes what another one accesses, so there are no atomics.
//!
//! A bitmap of all vertices fits into a cache where their distances do not. The search goes level
//! by level, in one of two directions:
//!
//! - *Down* from a small level. Its edges are followed, and marked where they lead, in several
//!   bitmaps, of which each belongs to one thread at a time. Then each block of vertices takes in
//!   what is marked there, as far as it was not reached before.
//! - *Up* to a large level. Each vertex that is not reached looks for a predecessor in the level,
//!   and stops at the first one. (Beamer, Asanović and Patterson, "Direction-Optimizing
//!   Breadth-First Search", 2012.)
//!
//! How the work is divided among threads is up to the contender.

use super::csr::Graph;
use super::search::{ROOT, UNREACHED};
use crate::tables::memory::prefer_huge_pages;
use std::mem::swap;
use std::ops::Range;

/// Parallel loops.
pub(super) trait Loops {
    /// Calls a function with each item.
    fn each<T: Send>(&mut self, items: &mut [T], act: impl Fn(&mut T) + Send + Sync);

    /// Calls a function with each range, and with a state that no other call uses meanwhile.
    fn with_states<S: Send>(
        &mut self,
        ranges: &[Range<usize>],
        states: &mut [S],
        act: impl Fn(&mut S, Range<usize>) + Send + Sync,
    );
}

/// Loops of one thread.
pub(super) struct PlainLoops;

impl Loops for PlainLoops {
    fn each<T: Send>(&mut self, items: &mut [T], act: impl Fn(&mut T) + Send + Sync) {
        items.iter_mut().for_each(act);
    }

    fn with_states<S: Send>(
        &mut self,
        ranges: &[Range<usize>],
        states: &mut [S],
        act: impl Fn(&mut S, Range<usize>) + Send + Sync,
    ) {
        ranges.iter().for_each(|range| act(&mut states[0], range.clone()));
    }
}

/// Bits of a word of a bitmap.
const BITS: usize = u64::BITS as usize;
/// Words of a block.
const BLOCK_WORDS: usize = 256;
/// Vertices of a block.
const BLOCK: usize = BLOCK_WORDS * BITS;
/// Levels with fewer vertices are not worth a parallel loop.
const SMALL: usize = 256;
/// Words of the vertices whose edges are followed together.
const RANGE_WORDS: usize = 64;
/// The search goes up if one of this many vertices, or more of them, are in the level.
const UP_SHARE: usize = 8;

/// Searches a graph, with a number of bitmaps for the ways down.
pub(super) fn search(graph: &Graph, bitmaps: usize, mut threads: impl Loops) -> Vec<u32> {
    let mut state = State::new(graph.vertices());
    threads.each(&mut state.blocks(), |block| block.distances.fill(UNREACHED));
    state.begin();
    let words = state.level.len();
    let ranges: Vec<_> =
        (0..words).step_by(RANGE_WORDS).map(|first| first..words.min(first + RANGE_WORDS)).collect();
    let mut marks: Vec<_> = (0..bitmaps).map(|_| Marks::new(words)).collect();
    let (mut distance, mut size) = (0, 1);
    while size > 0 {
        distance += 1;
        let level = state.take_level();
        let mut blocks = state.blocks();
        size = if size < SMALL {
            down(graph, &level, distance, &ranges, &mut marks, &mut blocks, &mut PlainLoops)
        } else if size * UP_SHARE < graph.vertices() {
            down(graph, &level, distance, &ranges, &mut marks, &mut blocks, &mut threads)
        } else {
            threads.each(&mut blocks, |block| block.look_up(graph, &level, distance));
            size_of_level(&blocks)
        };
        state.advance(level);
    }
    state.distances
}

/// Follows the edges of a level. Returns the size of the next one.
fn down(
    graph: &Graph,
    level: &[u64],
    distance: u32,
    ranges: &[Range<usize>],
    marks: &mut [Marks],
    blocks: &mut [Block<'_>],
    threads: &mut impl Loops,
) -> usize {
    threads.with_states(ranges, marks, |marks, words| {
        marks.begin(distance);
        marks.follow(graph, level, words);
    });
    threads.each(blocks, |block| block.take_in(marks, distance));
    size_of_level(blocks)
}

fn size_of_level(blocks: &[Block<'_>]) -> usize {
    blocks.iter().map(|block| block.size).sum()
}

/// What the search knows of all vertices.
struct State {
    distances: Vec<u32>,
    /// The vertices with a distance; and in the last word bits of no vertices.
    reached: Vec<u64>,
    /// The vertices whose edges are followed next.
    level: Vec<u64>,
    next: Vec<u64>,
}

impl State {
    /// Creates the state. The distances have yet to be set.
    fn new(vertices: usize) -> Self {
        let words = vertices.div_ceil(BITS);
        let distances = vec![0; vertices];
        prefer_huge_pages(&distances);
        let mut reached = vec![0; words];
        if !vertices.is_multiple_of(BITS) {
            reached[words - 1] = u64::MAX << (vertices % BITS);
        }
        Self { distances, reached, level: vec![0; words], next: vec![0; words] }
    }

    /// Reaches the root.
    fn begin(&mut self) {
        self.distances[ROOT as usize] = 0;
        let (word, bit) = place(ROOT);
        self.reached[word] |= bit;
        self.level[word] |= bit;
    }

    fn take_level(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.level)
    }

    /// Goes on from the vertices that were reached by the last level, whose memory is used again.
    fn advance(&mut self, last: Vec<u64>) {
        self.level = last;
        swap(&mut self.level, &mut self.next);
    }

    /// Divides the state into blocks.
    fn blocks(&mut self) -> Vec<Block<'_>> {
        let reached = self.reached.chunks_mut(BLOCK_WORDS);
        let next = self.next.chunks_mut(BLOCK_WORDS);
        let parts = reached.zip(next).zip(self.distances.chunks_mut(BLOCK)).enumerate();
        let block =
            |(number, ((reached, next), distances))| Block { number, reached, next, distances, size: 0 };
        parts.map(block).collect()
    }
}

/// Returns the word of a vertex and its bit there.
#[inline(always)]
fn place(vertex: u32) -> (usize, u64) {
    (vertex as usize / BITS, 1 << (vertex as usize % BITS))
}

/// Calls a function with each vertex of a word.
#[inline(always)]
fn each_vertex(word: usize, mut bits: u64, mut act: impl FnMut(u32)) {
    while bits != 0 {
        act((word * BITS) as u32 + bits.trailing_zeros());
        bits &= bits - 1;
    }
}

/// The vertices that some edges of a level lead to.
struct Marks {
    marked: Vec<u64>,
    /// The blocks with marks; there are none elsewhere.
    blocks: Vec<bool>,
    /// The distance of the vertices that are marked.
    distance: u32,
}

impl Marks {
    fn new(words: usize) -> Self {
        Self { marked: vec![0; words], blocks: vec![false; words.div_ceil(BLOCK_WORDS)], distance: 0 }
    }

    /// Removes the marks of another distance.
    fn begin(&mut self, distance: u32) {
        if self.distance == distance {
            return;
        }
        self.distance = distance;
        for (marked, has_marks) in self.marked.chunks_mut(BLOCK_WORDS).zip(&mut self.blocks) {
            if *has_marks {
                marked.fill(0);
                *has_marks = false;
            }
        }
    }

    /// Follows all edges of the vertices in some words of a level.
    fn follow(&mut self, graph: &Graph, level: &[u64], words: Range<usize>) {
        for word in words {
            each_vertex(word, level[word], |vertex| {
                for &neighbour in graph.neighbours(vertex) {
                    let (word, bit) = place(neighbour);
                    self.marked[word] |= bit;
                    self.blocks[word / BLOCK_WORDS] = true;
                }
            });
        }
    }
}

/// A block of vertices.
struct Block<'s> {
    number: usize,
    reached: &'s mut [u64],
    next: &'s mut [u64],
    distances: &'s mut [u32],
    /// The number of vertices that the last step has reached.
    size: usize,
}

impl Block<'_> {
    /// Takes in the vertices that are marked.
    fn take_in(&mut self, marks: &[Marks], distance: u32) {
        let first = self.number * BLOCK_WORDS;
        self.next.fill(0);
        let is_here = |marks: &&Marks| marks.distance == distance && marks.blocks[self.number];
        for marks in marks.iter().filter(is_here) {
            let marked = &marks.marked[first..first + self.next.len()];
            self.next.iter_mut().zip(marked).for_each(|(next, marked)| *next |= marked);
        }
        for word in 0..self.next.len() {
            self.reach(word, self.next[word] & !self.reached[word], distance);
        }
    }

    /// Looks for vertices with a predecessor in the level.
    fn look_up(&mut self, graph: &Graph, level: &[u64], distance: u32) {
        let first = self.number * BLOCK_WORDS;
        let is_in_level = |vertex: &u32| {
            let (word, bit) = place(*vertex);
            level[word] & bit != 0
        };
        for word in 0..self.next.len() {
            let mut found = 0;
            each_vertex(first + word, !self.reached[word], |vertex| {
                if graph.predecessors(vertex).iter().any(is_in_level) {
                    found |= place(vertex).1;
                }
            });
            self.reach(word, found, distance);
        }
    }

    /// Sets the distance of vertices of one word, which are the next level there.
    #[inline(always)]
    fn reach(&mut self, word: usize, vertices: u64, distance: u32) {
        self.next[word] = vertices;
        self.reached[word] |= vertices;
        self.size += vertices.count_ones() as usize;
        each_vertex(word, vertices, |vertex| self.distances[vertex as usize] = distance);
    }
}
