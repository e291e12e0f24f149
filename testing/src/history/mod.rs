//! Histories of operations that overlap, and whether an order of them explains them, in which each takes effect at one
//! moment between its beginning and its end (linearizability).
//!
//! Whoever runs an operation takes a [`Clock::tick`] before and after it and writes down a [`Span`] with its [`Event`]:
//! what was done and what came out. [`check`] then looks for an order, part by part: operations on different keys or
//! objects explain each other only where an event speaks of several.
//!
//! An event is written down when it has happened: an operation that never did (a task that was cancelled) is left out.

mod search;
mod shorten;
#[cfg(test)]
mod tests;

pub use shorten::Unexplained;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// An operation and its outcome, with the sequential specification: what it does to the state of one part.
pub trait Event: Clone + Debug {
    /// What a part holds.
    type State: Clone + Debug + Eq + Hash;

    /// What the part holds afterwards; `None` if the operation cannot have had this outcome when it held `before`.
    fn apply(&self, before: &Self::State) -> Option<Self::State>;

    /// Whether it leaves every state as it is. Such events may be left out of a report.
    fn only_looks(&self) -> bool {
        false
    }
}

/// An operation in a history: it happened between these ticks of a clock that all share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span<E> {
    /// What happened.
    pub event: E,
    /// Before it was asked for.
    pub begun: u64,
    /// After the outcome was known.
    pub ended: u64,
}

/// Ticks for spans; clones share it.
#[derive(Clone, Default)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    /// A new moment, later than all before.
    pub fn tick(&self) -> u64 {
        self.0.fetch_add(1, SeqCst)
    }
}

/// Looks for an order of all operations on one part, which held `initial` at first.
///
/// # Errors
///
/// If there is none; the error shows why.
pub fn explain<E: Event>(history: &[Span<E>], initial: &E::State) -> Result<(), Unexplained<E>> {
    let mut spans = history.to_vec();
    spans.sort_unstable_by_key(|span| span.begun);
    let Some(last) = spans.iter().map(|span| span.ended).max() else { return Ok(()) };
    search::search(&spans, last, initial).map_err(|_| Unexplained::of(spans, initial))
}

/// Checks a history, part by part; each held `initial` at first.
///
/// # Panics
///
/// If no order explains the operations on some part; the message shows why.
pub fn check<K, E>(history: impl IntoIterator<Item = (K, Span<E>)>, initial: &E::State)
where
    K: Ord + Debug,
    E: Event,
{
    let mut parts = BTreeMap::<K, Vec<Span<E>>>::new();
    for (part, span) in history {
        parts.entry(part).or_default().push(span);
    }
    for (part, spans) in parts {
        if let Err(unexplained) = explain(&spans, initial) {
            panic!("no order explains the operations on {part:?}:\n{unexplained}");
        }
    }
}
