//! Searches by the parallel iterators of rayon, level by level.

use super::super::bitmaps::{self, Loops};
use super::super::claims::{self, Distances, both};
use super::super::csr::Graph;
use super::Entry;
use rayon::prelude::*;
use std::ops::Range;
use xtasking_harness::lineup::start_rayon;

pub(super) const CLAIMS: Entry = Entry {
    name: "rayon",
    about: "rayon, a parallel iterator over each level, whose threads claim vertices",
    is_parallel: true,
    start: |workers| {
        let pool = start_rayon(workers)?;
        Ok(Box::new(move |graph| pool.install(|| search(graph))))
    },
    more: (),
};

pub(super) const BITMAPS: Entry = Entry {
    name: "rayon-bitmaps",
    about: "rayon, the same search as xtasking by parallel iterators",
    is_parallel: true,
    start: |workers| {
        let pool = start_rayon(workers)?;
        let bitmaps = if workers == 1 { 1 } else { BITMAPS_PER_THREAD * workers };
        Ok(Box::new(move |graph| pool.install(|| bitmaps::search(graph, bitmaps, RayonLoops))))
    },
    more: (),
};

struct RayonLoops;

/// Bitmaps of a thread. There are more than one, as a thread may take over those of another.
const BITMAPS_PER_THREAD: usize = 4;

impl Loops for RayonLoops {
    fn each<T: Send>(&mut self, items: &mut [T], act: impl Fn(&mut T) + Send + Sync) {
        items.par_iter_mut().for_each(act);
    }

    fn with_states<S: Send>(
        &mut self,
        ranges: &[Range<usize>],
        states: &mut [S],
        act: impl Fn(&mut S, Range<usize>) + Send + Sync,
    ) {
        let share = ranges.len().div_ceil(states.len());
        let pieces = ranges.par_chunks(share).zip(states);
        pieces.for_each(|(ranges, state)| ranges.iter().for_each(|range| act(state, range.clone())));
    }
}

fn search(graph: &Graph) -> Vec<u32> {
    let entries = (0..graph.vertices()).into_par_iter().map(|_| Distances::unreached()).collect();
    let distances = Distances::new(entries);
    claims::search(graph, distances, |frontier, level| {
        let claim = |claimed, &vertex: &u32| level.claim(claimed, vertex);
        frontier.par_iter().fold(Vec::new, claim).reduce(Vec::new, both)
    })
}
