//! Searches by this runtime: by tasks that take portions, and by parallel loops.

use super::super::bitmaps::{self, Loops};
use super::super::claims::{self, Distances, both};
use super::super::csr::Graph;
use super::Entry;
use std::ops::Range;
use xtasking::{Fork, Runtime};
use xtasking_harness::lineup::start_own;

pub(super) const BITMAPS: Entry = Entry {
    name: "xtasking",
    about: "XTasking, a task on each worker, which takes portions of bitmaps, in both directions",
    is_parallel: true,
    start: |workers| {
        let rt = start_own(workers)?;
        Ok(Box::new(move |graph| bitmaps::search(graph, workers, TaskLoops(&rt))))
    },
    more: (),
};

pub(super) const CLAIMS: Entry = Entry {
    name: "xtasking-claims",
    about: "XTasking, fork-join over each level, whose workers claim vertices",
    is_parallel: true,
    start: |workers| {
        let rt = start_own(workers)?;
        Ok(Box::new(move |graph| rt.run(|cx| search(graph, cx)).expect("no task panics")))
    },
    more: (),
};

struct TaskLoops<'r>(&'r Runtime);

impl Loops for TaskLoops<'_> {
    fn each<T: Send>(&mut self, items: &mut [T], act: impl Fn(&mut T) + Send + Sync) {
        let act = &act;
        let ended = self.0.task_scope(|scope| {
            for (task, items) in scope.portions(items, 1) {
                task.spawn(move |(), _| items.for_each(act));
            }
        });
        ended.expect("no task panics");
    }

    fn with_states<S: Send>(
        &mut self,
        ranges: &[Range<usize>],
        states: &mut [S],
        act: impl Fn(&mut S, Range<usize>) + Send + Sync,
    ) {
        let act = &act;
        let ended = self.0.task_scope(|scope| {
            for ((task, ranges), state) in scope.portions(ranges, 1).zip(states) {
                task.spawn(move |(), _| ranges.for_each(|range| act(state, range.clone())));
            }
        });
        ended.expect("no task panics");
    }
}

fn search(graph: &Graph, mut cx: Fork<'_>) -> Vec<u32> {
    let distances = Distances::new(cx.over(0..graph.vertices()).map(|_| Distances::unreached()));
    claims::search(graph, distances, |frontier, level| {
        let claim = |claimed, &vertex: &u32| level.claim(claimed, vertex);
        cx.over(frontier).reduce(Vec::new, claim, both)
    })
}
