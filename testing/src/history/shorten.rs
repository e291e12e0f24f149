//! The report on a history that no order explains: its beginning up to the first operation that
//! does not fit, without irrelevant operations.
//!
//! An operation is left out only if a history that *has* an order would still have one without it.
//! These are all later operations, reads, and those before a quiescent moment with only one
//! possible state. So the short history is a failure of the same program, and not an artefact of
//! shortening.

use super::search::{outcomes, search};
use super::{Event, Span};
use std::fmt::{self, Debug, Display, Formatter};

/// A history without an order that explains it.
pub struct Unexplained<E: Event> {
    /// The operations of the report, by their beginnings.
    pub spans: Vec<Span<E>>,
    /// The operations that have ended by this tick have no order.
    pub cut: u64,
    /// The longest order that explains a part of it, as positions.
    pub order: Vec<usize>,
    /// The state before the operations.
    pub initial: E::State,
}

impl<E: Event> Unexplained<E> {
    /// Shortens a history, sorted by beginnings, that has no order.
    pub(super) fn of(mut spans: Vec<Span<E>>, initial: &E::State) -> Self {
        let mut ends: Vec<u64> = spans.iter().map(|span| span.ended).collect();
        ends.sort_unstable();
        // An order of a history also explains its beginnings.
        let cut = ends[ends.partition_point(|&end| search(&spans, end, initial).is_ok())];
        spans.retain(|span| span.begun <= cut);
        let initial = forget(&mut spans, initial);
        let mut at = 0;
        while at < spans.len() {
            let without = [&spans[..at], &spans[at + 1..]].concat();
            if spans[at].event.is_read_only() && search(&without, cut, &initial).is_err() {
                spans = without;
            } else {
                at += 1;
            }
        }
        let order = search(&spans, cut, &initial).expect_err("shortening keeps the failure");
        Self { spans, cut, order, initial }
    }
}

/// Removes the longest beginning that ends in a quiescent moment with one possible state, and
/// returns this state.
fn forget<E: Event>(spans: &mut Vec<Span<E>>, initial: &E::State) -> E::State {
    let is_rest = |at: &usize| spans[..*at].iter().all(|span| span.ended <= spans[*at].begun);
    for at in (1..spans.len()).rev().filter(is_rest) {
        let outcomes = outcomes(&spans[..at], initial);
        if outcomes.len() == 1 {
            spans.drain(..at);
            return outcomes.into_iter().next().expect("there is one");
        }
    }
    initial.clone()
}

impl<E: Event> Display for Unexplained<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let line = |f: &mut Formatter<'_>, mark: &str, at: usize| {
            let Span { event, begun, ended } = &self.spans[at];
            let ended = if *ended <= self.cut { ended.to_string() } else { "…".to_owned() };
            write!(f, "{mark:>6}  {begun:>5} to {ended:<5}  {event:?}")
        };
        writeln!(f, "the longest order that fits its beginning, from {:?} on:", self.initial)?;
        let mut state = self.initial.clone();
        for (number, &at) in self.order.iter().enumerate() {
            line(f, &(number + 1).to_string(), at)?;
            state = self.spans[at].event.apply(&state).expect("an order that fits");
            writeln!(f, "  then {state:?}")?;
        }
        writeln!(f, "and what it has no room for:")?;
        for at in (0..self.spans.len()).filter(|at| !self.order.contains(at)) {
            line(f, "?", at)?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl<E: Event> Debug for Unexplained<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}
