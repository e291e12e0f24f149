//! Factorisation by the task graph of the pools experiment.

use crate::matrix::tiles::Lower;
use crate::pools::executor::{Rayon, Xtasking};
use crate::pools::graph::Graph;
use crate::pools::tally::CounterGuard;
use std::sync::Arc;
use xtasking::Runtime;

/// Factorises a matrix on this runtime.
pub(crate) fn on_own(rt: &Runtime, matrix: Lower) -> Lower {
    let _counters = CounterGuard::acquire();
    let (graph, finished) = Graph::of(matrix).with_receiver();
    let graph = Arc::new(graph);
    rt.task(()).spawn(move |(), cx| graph.begin::<Xtasking>(cx));
    finished.recv().expect("no step is lost").factor().expect("all steps are done")
}

/// Factorises a matrix on rayon.
pub(crate) fn on_rayon(pool: &rayon::ThreadPool, matrix: Lower) -> Lower {
    let _counters = CounterGuard::acquire();
    let graph = Arc::new(Graph::of(matrix));
    let first = graph.clone();
    pool.scope(|scope| first.begin::<Rayon>(scope));
    graph.factor().expect("all steps are done")
}
