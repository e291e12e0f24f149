//! Histories of concurrent operations, and a check of their linearizability: whether some order
//! explains them in which each takes effect at one moment between its start and its end.
//!
//! A thread takes a [`Clock::tick`] before and after an operation, and records a [`Span`] with its
//! [`Event`]: the operation and its outcome. [`check`] then looks for an order, part by part.
//! Operations on different keys or objects affect each other only if an event covers several.
//!
//! Operations that never take effect, such as a cancelled task, are not recorded.

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

/// An operation and its outcome, with the sequential specification: its effect on the state of one
/// part.
pub trait Event: Clone + Debug {
    /// The state of a part.
    type State: Clone + Debug + Eq + Hash;

    /// Returns the state after the event; `None` if the operation cannot have this outcome in the
    /// state `before`.
    fn apply(&self, before: &Self::State) -> Option<Self::State>;

    /// Returns true if the event leaves every state unchanged. Such events may be left out of a
    /// report.
    fn is_read_only(&self) -> bool {
        false
    }
}

/// An operation in a history: it took place between these ticks of a shared clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span<E> {
    /// The operation and its outcome.
    pub event: E,
    /// A tick before the operation was started.
    pub begun: u64,
    /// A tick after the outcome was known.
    pub ended: u64,
}

/// A clock for spans; clones share it.
#[derive(Clone, Default)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    /// Returns a tick later than all before.
    pub fn tick(&self) -> u64 {
        self.0.fetch_add(1, SeqCst)
    }
}

/// Looks for an order of all operations on one part, whose first state is `initial`.
///
/// # Errors
///
/// Returns an error if there is none; it shows why.
pub fn explain<E: Event>(history: &[Span<E>], initial: &E::State) -> Result<(), Unexplained<E>> {
    let mut spans = history.to_vec();
    spans.sort_unstable_by_key(|span| span.begun);
    let Some(last) = spans.iter().map(|span| span.ended).max() else { return Ok(()) };
    search::search(&spans, last, initial).map_err(|_| Unexplained::of(spans, initial))
}

/// Checks a history, part by part; each has the first state `initial`.
///
/// # Panics
///
/// Panics if no order explains the operations on some part. The message shows why.
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
