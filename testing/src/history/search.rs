//! The search for an order: depth first (Wing and Gong, 1993), remembering the configurations that
//! were tried (Lowe, 2017).
//!
//! The search covers a history up to a moment, the *cut*. Operations that have ended by then must
//! be in the order; those that have begun but not ended may be. A remaining operation may come next
//! if it began before the first end among the remaining ones that must come.

use super::{Event, Span};
use std::collections::HashSet;

/// A configuration of the search: the operations done, and the state.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place<S> {
    /// All spans before this one are done.
    from: usize,
    /// A set of the spans done from there on; the lowest bit is not set.
    done: u128,
    state: S,
}

impl<S> Place<S> {
    fn is_done(&self, at: usize) -> bool {
        let offset = at - self.from;
        assert!(offset < 128, "more operations overlap than the search can hold");
        self.done >> offset & 1 == 1
    }

    /// Returns the configuration after one more span.
    fn after(&self, at: usize, state: S) -> Self {
        let done = self.done | 1 << (at - self.from);
        let passed = done.trailing_ones();
        Self { from: self.from + passed as usize, done: done.checked_shr(passed).unwrap_or(0), state }
    }

    /// Returns the spans that may come next, the last first; `None` if none has to.
    fn candidates<E>(&self, spans: &[Span<E>], cut: u64) -> Option<Vec<usize>> {
        let mut first_end = u64::MAX;
        let mut left = Vec::new();
        // Spans are sorted by their beginnings: once one begins after an end, all later ones do.
        for (at, span) in spans.iter().enumerate().skip(self.from) {
            if span.begun > cut || span.begun >= first_end {
                break;
            }
            if !self.is_done(at) {
                left.push(at);
                if span.ended <= cut {
                    first_end = first_end.min(span.ended);
                }
            }
        }
        left.reverse();
        (first_end < u64::MAX).then_some(left)
    }
}

/// Looks for an order of spans that are sorted by their beginnings.
///
/// # Errors
///
/// Returns an error if there is none: the longest order that explains a part of them, as positions.
pub fn search<E: Event>(spans: &[Span<E>], cut: u64, initial: &E::State) -> Result<(), Vec<usize>> {
    search_for(spans, cut, initial, |_| true)
}

/// Returns all final states of orders of spans that have all ended.
pub fn outcomes<E: Event>(spans: &[Span<E>], initial: &E::State) -> HashSet<E::State> {
    let mut outcomes = HashSet::new();
    let collect = |outcome: &E::State| {
        outcomes.insert(outcome.clone());
        false
    };
    // The goal is never met, so the search sees all orders.
    let _ = search_for(spans, u64::MAX - 1, initial, collect);
    outcomes
}

/// Like [`search`], for an order that ends in a state for which `is_goal` returns true.
fn search_for<E: Event>(
    spans: &[Span<E>],
    cut: u64,
    initial: &E::State,
    mut is_goal: impl FnMut(&E::State) -> bool,
) -> Result<(), Vec<usize>> {
    let start = Place { from: 0, done: 0, state: initial.clone() };
    let Some(candidates) = start.candidates(spans, cut) else { return Ok(()) };
    let mut tried = HashSet::from([start.clone()]);
    let mut steps = vec![(start, candidates)];
    let (mut order, mut longest) = (Vec::new(), Vec::new());
    while let Some((place, candidates)) = steps.last_mut() {
        let Some(at) = candidates.pop() else {
            steps.pop();
            order.pop();
            continue;
        };
        let Some(state) = spans[at].event.apply(&place.state) else { continue };
        let next = place.after(at, state);
        if !tried.insert(next.clone()) {
            continue;
        }
        let Some(candidates) = next.candidates(spans, cut) else {
            if is_goal(&next.state) {
                return Ok(());
            }
            continue;
        };
        steps.push((next, candidates));
        order.push(at);
        if order.len() > longest.len() {
            longest.clone_from(&order);
        }
    }
    Err(longest)
}
