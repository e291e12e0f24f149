//! The search against a slower one and against histories whose answer is known.

use super::*;
use crate::Random;
use std::panic::catch_unwind;

/// An operation on a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Saw(u64),
    Wrote(u64),
    /// Added one, and found this value before.
    Counted(u64),
    /// Set the second value if it found the first, and whether it did.
    Changed(u64, u64, bool),
}

use Number::*;

impl Event for Number {
    type State = u64;

    fn apply(&self, &before: &u64) -> Option<u64> {
        match *self {
            Saw(seen) => (seen == before).then_some(before),
            Wrote(value) => Some(value),
            Counted(seen) => (seen == before).then_some(before + 1),
            Changed(expected, value, true) => (expected == before).then_some(value),
            Changed(expected, _, false) => (expected != before).then_some(before),
        }
    }

    fn is_read_only(&self) -> bool {
        matches!(self, Saw(_) | Changed(_, _, false))
    }
}

fn history(spans: &[(u64, u64, Number)]) -> Vec<Span<Number>> {
    spans.iter().map(|&(begun, ended, event)| Span { event, begun, ended }).collect()
}

fn is_explained(spans: &[(u64, u64, Number)]) -> bool {
    explain(&history(spans), &0).is_ok()
}

#[test]
fn non_linearizable_histories_are_rejected() {
    assert!(is_explained(&[]));
    // Overlapping, so that the read may come before or after the write.
    assert!(is_explained(&[(0, 5, Wrote(7)), (1, 2, Saw(7)), (6, 7, Changed(7, 8, true))]));
    assert!(is_explained(&[(0, 5, Wrote(7)), (1, 2, Saw(0)), (3, 4, Saw(7))]));
    // A read that ended before the write began.
    assert!(!is_explained(&[(0, 1, Saw(7)), (2, 3, Wrote(7))]));
    // A read that began after the write had ended.
    assert!(!is_explained(&[(0, 1, Wrote(7)), (2, 3, Saw(0))]));
    // A value that reappears after it was overwritten.
    assert!(!is_explained(&[(0, 1, Wrote(7)), (2, 9, Wrote(8)), (3, 4, Saw(8)), (5, 6, Saw(7))]));
    // Two operations that both find the initial value, one after the other or at once: a lost
    // update.
    assert!(!is_explained(&[(0, 1, Counted(0)), (2, 3, Counted(0))]));
    assert!(!is_explained(&[(0, 9, Counted(0)), (0, 9, Counted(0))]));
    assert!(!is_explained(&[(0, 9, Changed(0, 1, true)), (0, 9, Changed(0, 2, true))]));
    assert!(is_explained(&[(0, 9, Changed(0, 1, true)), (0, 9, Changed(0, 2, false))]));
}

/// Tries every order, as the reference.
fn has_order(left: &[Span<Number>], state: u64) -> bool {
    let first_end = left.iter().map(|span| span.ended).min().unwrap_or(u64::MAX);
    left.is_empty()
        || (0..left.len()).any(|at| {
            let rest = [&left[..at], &left[at + 1..]].concat();
            left[at].begun < first_end
                && left[at].event.apply(&state).is_some_and(|after| has_order(&rest, after))
        })
}

fn random_history(random: &mut Random, length: u64) -> Vec<Span<Number>> {
    let mut span = || {
        let event = match random.below(4) {
            0 => Saw(random.below(3)),
            1 => Wrote(random.below(3)),
            2 => Counted(random.below(3)),
            _ => Changed(random.below(3), random.below(3), random.below(2) == 0),
        };
        let begun = random.below(4 * length);
        Span { event, begun, ended: begun + 1 + random.below(8) }
    };
    (0..length).map(|_| span()).collect()
}

#[test]
fn the_search_finds_what_trying_all_orders_finds() {
    let mut random = Random(1);
    let mut explained = 0;
    for round in 0..3000 {
        let history = random_history(&mut random, 1 + round % 7);
        let found = explain(&history, &0).is_ok();
        assert_eq!(found, has_order(&history, 0), "{history:?}");
        explained += usize::from(found);
    }
    assert!((300..2700).contains(&explained), "{explained} of 3000");
}

/// A linearizable history of overlapping counters: each counts at a moment within its span.
fn counting(lanes: u64, each: u64) -> Vec<Span<Number>> {
    let count = |number: u64| {
        let moment = 10 * lanes * number;
        Span { event: Counted(number), begun: moment.saturating_sub(9 * lanes), ended: moment + 9 * lanes }
    };
    (0..lanes * each).map(count).collect()
}

#[test]
fn long_histories_are_explained_without_trying_all_orders() {
    assert!(explain(&counting(4, 500), &0).is_ok());
    // Too many overlapping operations to try all orders.
    let all_at_once: Vec<_> = (0..60).map(|_| Span { event: Wrote(1), begun: 0, ended: 9 }).collect();
    assert!(explain(&all_at_once, &0).is_ok());
}

#[test]
fn what_does_not_fit_is_shown_with_little_else() {
    let mut history = counting(2, 50);
    let reads = (0..50).map(|at| Span { event: Saw(at + 1), begun: 20 * at + 19, ended: 20 * at + 20 });
    history.extend(reads);
    // The thirtieth operation finds the same value as the one before.
    assert_eq!(history[30].event, Counted(30));
    assert!(explain(&history, &0).is_ok());
    history[30].event = Counted(29);
    let unexplained = explain(&history, &0).unwrap_err();
    // The report has no later operation, except overlapping ones, and no read.
    assert!(unexplained.spans.len() <= 33, "{unexplained}");
    assert!(unexplained.spans.iter().all(|span| !span.event.is_read_only()));
    assert!(unexplained.spans.contains(&history[29]) && unexplained.spans.contains(&history[30]));
    let text = unexplained.to_string();
    assert!(text.contains("then 30") && text.contains("?") && !text.contains("Counted(40)"), "{text}");
    // The short history fails by itself, without the operations before it.
    assert!(explain(&unexplained.spans, &0).is_err());
}

#[test]
fn what_came_before_a_quiescent_moment_is_forgotten() {
    let number = |at| if at == 30 { 29 } else { at };
    let one_by_one: Vec<_> =
        (0..50).map(|at| Span { event: Counted(number(at)), begun: 2 * at, ended: 2 * at + 1 }).collect();
    let unexplained = explain(&one_by_one, &0).unwrap_err();
    assert_eq!((unexplained.spans.as_slice(), unexplained.initial), (&one_by_one[30..31], 30));
    // Two possible states: the later operations may fit one of them.
    let race = history(&[(0, 9, Wrote(1)), (1, 9, Wrote(2)), (10, 11, Saw(3))]);
    let unexplained = explain(&race, &0).unwrap_err();
    assert_eq!((unexplained.spans, unexplained.initial), (race, 0));
}

/// An operation that has begun but not ended may have taken effect: leaving it out would invent a
/// failure.
#[test]
fn what_is_still_going_on_may_count() {
    let good = history(&[(0, 100, Wrote(5)), (1, 2, Saw(5)), (3, 4, Saw(5))]);
    assert!(explain(&good, &0).is_ok());
    let bad = [good, history(&[(5, 6, Saw(4)), (101, 102, Saw(5))])].concat();
    let unexplained = explain(&bad, &0).unwrap_err();
    assert_eq!(unexplained.cut, 6);
    assert_eq!(unexplained.spans, history(&[(0, 100, Wrote(5)), (5, 6, Saw(4))]));
}

#[test]
fn parts_are_checked_by_themselves() {
    let span = |begun, event| Span { event, begun, ended: begun + 1 };
    check([("a", span(0, Wrote(1))), ("b", span(2, Saw(0))), ("a", span(4, Saw(1)))], &0);
    let panic = catch_unwind(|| {
        check([("a", span(0, Wrote(1))), ("b", span(2, Saw(1))), ("a", span(4, Saw(1)))], &0);
    });
    let text = panic.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("the operations on \"b\"") && text.contains("Saw(1)"), "{text}");
}

#[test]
fn a_clock_never_stands_still() {
    let clock = Clock::default();
    let same = clock.clone();
    assert_eq!([clock.tick(), same.tick(), clock.tick()], [0, 1, 2]);
}
