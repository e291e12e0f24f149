//! A matrix taken apart by the tasks of `graph`, for the experiment that compares ways to do so.

use super::crew::{Own, Rayon};
use super::graph::Graph;
use super::tally::Turn;
use crate::cholesky::tiles::Lower;
use std::sync::Arc;
use xtasking::Runtime;

/// By this runtime, on whatever pool it has.
pub(crate) fn on_own(rt: &Runtime, matrix: Lower) -> Lower {
    let _turn = Turn::begin();
    let (graph, done) = Graph::of(matrix).that_returns();
    let graph = Arc::new(graph);
    rt.task(()).spawn(move |(), cx| graph.begin::<Own>(cx));
    done.recv().expect("no step is lost").factor().expect("all steps are done")
}

/// By rayon.
pub(crate) fn on_rayon(pool: &rayon::ThreadPool, matrix: Lower) -> Lower {
    let _turn = Turn::begin();
    let graph = Arc::new(Graph::of(matrix));
    let first = graph.clone();
    pool.scope(|scope| first.begin::<Rayon>(scope));
    graph.factor().expect("all steps are done")
}
