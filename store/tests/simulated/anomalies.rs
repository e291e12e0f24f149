//! Histories that the checks have to refuse, each with one thing wrong, and some that are right.

use super::checker::check;
use super::expiry::check_expiry;
use super::history::{Op, Outcome, Transaction};
use super::recovery::{Life, check_lives};
use super::verdict::Kind;
use Op::{Append, Get, GetLive, List, MayCopy, MayPop, Pop, Push, Queue, Set, SetFor};
use Outcome::{Done, Failed, Unknown};

/// A transaction of a connection of its own, between these moments.
fn one(begun: u64, ended: u64, outcome: Outcome, ops: &[Op]) -> Transaction {
    Transaction {
        session: (begun << 32 | ended) as usize,
        begun,
        ended,
        begun_at: begun,
        ended_at: ended,
        outcome,
        is_sure: true,
        ops: ops.to_vec(),
    }
}

fn done(begun: u64, ended: u64, ops: &[Op]) -> Transaction {
    one(begun, ended, Done, ops)
}

#[track_caller]
fn refused(kind: Kind, history: &[Transaction]) {
    match check(history) {
        Ok(()) => panic!("no {kind:?} was found"),
        Err(anomaly) => assert_eq!(anomaly.kind, kind, "{anomaly}"),
    }
}

#[track_caller]
fn accepted(history: &[Transaction]) {
    check(history).unwrap_or_else(|anomaly| panic!("{anomaly}"));
}

const X: &str = "x";
const Y: &str = "y";

/// Appends a value to a list, while no reply says how long it is then.
fn append(key: &'static str, value: u64) -> Op {
    Append(key, value, None)
}

#[test]
fn what_some_order_explains_is_accepted() {
    accepted(&[]);
    // At the same time, in either order.
    for seen in [vec![1, 2], vec![2, 1]] {
        let writers = [done(1, 9, &[append(X, 1)]), done(2, 8, &[append(X, 2)])];
        accepted(&[&writers[..], &[done(10, 11, &[List(X, seen)])]].concat());
    }
    accepted(&[
        done(1, 4, &[append(X, 1), append(Y, 1), List(X, vec![1])]),
        done(2, 5, &[List(X, vec![]), List(Y, vec![]), append(Y, 2)]),
        done(6, 7, &[List(X, vec![1]), List(Y, vec![2, 1])]),
    ]);
    // What is not known has happened, or not.
    for seen in [vec![], vec![1]] {
        accepted(&[one(1, 20, Unknown, &[append(X, 1)]), done(5, 6, &[List(X, seen)])]);
    }
    accepted(&[
        done(1, 2, &[Push(X, 1), Push(X, 2)]),
        done(3, 4, &[Pop(X, 1)]),
        one(5, 20, Unknown, &[MayPop(X), MayCopy(Y)]),
        done(6, 7, &[Queue(X, vec![]), Queue(Y, vec![2])]),
    ]);
    accepted(&[
        done(1, 2, &[Get(X, None), Set(X, 1)]),
        done(3, 4, &[Get(X, Some(1)), Set(X, 2), Get(X, Some(2))]),
    ]);
}

#[test]
fn values_of_nothing_are_refused() {
    refused(Kind::Phantom, &[done(1, 2, &[List(X, vec![7])])]);
    refused(Kind::Phantom, &[done(1, 2, &[Get(X, Some(7))])]);
    refused(Kind::Phantom, &[done(1, 2, &[Pop(X, 7)])]);
}

#[test]
fn aborted_reads_are_refused() {
    refused(Kind::Aborted, &[one(1, 2, Failed, &[append(X, 1)]), done(3, 4, &[List(X, vec![1])])]);
    refused(Kind::Aborted, &[one(1, 2, Failed, &[Set(X, 1)]), done(3, 4, &[Get(X, Some(1))])]);
}

#[test]
fn intermediate_reads_are_refused() {
    let between = [
        done(1, 9, &[append(X, 1), append(X, 2)]),
        done(2, 8, &[List(X, vec![1])]),
        done(10, 11, &[List(X, vec![1, 2])]),
    ];
    refused(Kind::Intermediate, &between);
    refused(Kind::Intermediate, &[done(1, 9, &[Set(X, 1), Set(X, 2)]), done(2, 8, &[Get(X, Some(1))])]);
}

#[test]
fn transactions_that_contradict_themselves_are_refused() {
    refused(Kind::Internal, &[done(1, 2, &[append(X, 1), List(X, vec![])])]);
    refused(Kind::Internal, &[done(1, 2, &[List(X, vec![]), append(X, 1), List(X, vec![2, 1])])]);
    refused(Kind::Internal, &[done(1, 2, &[Set(X, 1), Get(X, None)])]);
    refused(Kind::Internal, &[done(1, 2, &[Push(X, 1), Queue(X, vec![1]), Pop(X, 2)])]);
}

#[test]
fn duplicates_are_refused() {
    refused(Kind::Duplicate, &[done(1, 2, &[append(X, 1)]), done(3, 4, &[List(X, vec![1, 1])])]);
    refused(
        Kind::Duplicate,
        &[done(1, 2, &[Push(X, 1)]), done(3, 6, &[Pop(X, 1)]), done(4, 5, &[Pop(X, 1)])],
    );
}

#[test]
fn lists_without_one_order_are_refused() {
    let writers = [done(1, 9, &[append(X, 1)]), done(2, 8, &[append(X, 2)])];
    let readers = [done(3, 7, &[List(X, vec![1])]), done(4, 11, &[List(X, vec![2, 1])])];
    refused(Kind::Order, &[writers, readers].concat());
    // The reply has said that it is the first element.
    let told = [done(1, 9, &[Append(X, 1, Some(1))]), done(2, 8, &[append(X, 2)])];
    refused(Kind::Order, &[&told[..], &[done(10, 11, &[List(X, vec![2, 1])])]].concat());
    let pushed = [done(1, 9, &[Push(X, 1)]), done(2, 8, &[Push(X, 2)])];
    let third = [done(3, 7, &[Push(X, 3)])];
    let seen = [done(10, 11, &[Queue(X, vec![1, 2])]), done(12, 13, &[Queue(X, vec![1, 3])])];
    refused(Kind::Order, &[&pushed[..], &third, &seen].concat());
}

#[test]
fn lost_updates_are_refused() {
    let both = [
        done(1, 2, &[Set(X, 1)]),
        done(3, 9, &[Get(X, Some(1)), Set(X, 2)]),
        done(4, 8, &[Get(X, Some(1)), Set(X, 3)]),
    ];
    refused(Kind::LostUpdate, &both);
}

#[test]
fn losses_are_refused() {
    refused(Kind::Lost, &[done(1, 2, &[append(X, 1)]), done(3, 4, &[List(X, vec![])])]);
    refused(Kind::Lost, &[done(1, 2, &[Push(X, 1)]), done(3, 4, &[Queue(X, vec![])])]);
    // Half a transaction.
    let half =
        [one(1, 5, Unknown, &[append(X, 1), append(Y, 1)]), done(6, 7, &[List(X, vec![1]), List(Y, vec![])])];
    refused(Kind::Lost, &half);
    // One may have been taken, but two are missing.
    let two = [
        done(1, 2, &[Push(X, 1), Push(X, 2)]),
        one(3, 20, Unknown, &[MayPop(X)]),
        done(4, 5, &[Queue(X, vec![])]),
    ];
    refused(Kind::Lost, &two);
    // A register that is as before.
    refused(
        Kind::Cycle,
        &[done(1, 2, &[Set(X, 1)]), done(3, 4, &[Set(X, 2)]), done(5, 6, &[Get(X, Some(1))])],
    );
}

#[test]
fn cycles_are_refused() {
    // Each has seen the other (G1c).
    let circular =
        [done(1, 9, &[append(X, 1), List(Y, vec![1])]), done(2, 8, &[append(Y, 1), List(X, vec![1])])];
    refused(Kind::Cycle, &circular);
    // A reader between two halves (G-single).
    let halves =
        [done(1, 9, &[append(X, 1), append(Y, 1)]), done(2, 8, &[List(X, vec![1]), List(Y, vec![])])];
    refused(Kind::Cycle, &[&halves[..], &[done(10, 11, &[List(X, vec![1]), List(Y, vec![1])])]].concat());
    // Neither has seen the other (G2, write skew).
    let skew = [
        done(1, 9, &[List(X, vec![]), append(Y, 1)]),
        done(2, 8, &[List(Y, vec![]), append(X, 1)]),
        done(10, 11, &[List(X, vec![1]), List(Y, vec![1])]),
    ];
    refused(Kind::Cycle, &skew);
    // Registers: the later of two values was seen first.
    let registers = [
        done(1, 2, &[Set(X, 1), Set(Y, 1)]),
        done(3, 9, &[Get(X, Some(1)), Set(X, 2), Get(Y, Some(1)), Set(Y, 2)]),
        done(4, 8, &[Get(X, Some(2)), Get(Y, Some(1))]),
    ];
    refused(Kind::Cycle, &registers);
}

#[test]
fn what_contradicts_the_time_is_refused() {
    // A reader does not see what had ended when it began; a later one does.
    let stale =
        [done(1, 2, &[append(X, 1)]), done(3, 4, &[List(X, vec![])]), done(5, 6, &[List(X, vec![1])])];
    refused(Kind::Cycle, &stale);
    // What one connection has sent has its effect in that order.
    let mut first = done(1, 9, &[append(X, 1)]);
    let mut second = done(1, 9, &[append(X, 2)]);
    (first.session, second.session) = (1, 1);
    refused(Kind::Cycle, &[first, second, done(10, 11, &[List(X, vec![2, 1])])]);
    // A queue that gives the second first.
    let queue = [
        done(1, 2, &[Push(X, 1), Push(X, 2), Queue(X, vec![1, 2])]),
        done(3, 4, &[Pop(X, 2)]),
        done(5, 6, &[Pop(X, 1)]),
    ];
    refused(Kind::Cycle, &queue);
    // What was taken is there again.
    let again = [done(1, 2, &[Push(X, 1)]), done(3, 4, &[Pop(X, 1)]), done(5, 6, &[Queue(X, vec![1])])];
    refused(Kind::Cycle, &again);
}

#[test]
fn values_expire_in_time() {
    let set = done(10, 20, &[SetFor(X, 1, 100)]);
    let seen =
        |begun, ended, value| check_expiry(&[set.clone(), done(begun, ended, &[GetLive(X, value)])], &[X]);
    assert!(seen(100, 109, Some(1)).is_ok() && seen(120, 130, Some(1)).is_ok());
    assert!(seen(121, 130, Some(1)).is_err(), "it was seen after its time");
    assert!(seen(100, 110, None).is_ok() && seen(130, 140, None).is_ok());
    assert!(seen(100, 109, None).is_err(), "it has expired before its time");
    // Another one may have replaced it, and has expired.
    let replaced =
        [set.clone(), one(15, 90, Unknown, &[SetFor(X, 2, 10)]), done(100, 105, &[GetLive(X, None)])];
    assert!(check_expiry(&replaced, &[X]).is_ok());
}

/// Two lives: what the first one has done, and what the second one has found.
fn lives(may_lose_from: Option<u64>, first: &[Transaction], found: &[Op]) -> Result<(), String> {
    let life = |found, transactions, may_lose_from| Life { found, transactions, may_lose_from };
    let empty = done(1, 2, &[List(X, vec![]), List(Y, vec![])]);
    let lives = [life(empty, first.to_vec(), may_lose_from), life(done(1000, 1001, found), vec![], None)];
    check_lives(&lives, &done(1010, 1011, found), &[])
}

#[test]
fn a_kill_takes_what_may_be_lost_and_no_more() {
    let first = [
        done(10, 20, &[append(X, 1)]),
        done(30, 40, &[append(X, 2), append(Y, 2)]),
        done(50, 60, &[List(X, vec![1, 2])]),
    ];
    let found = |x: &[u64], y: &[u64]| [List(X, x.to_vec()), List(Y, y.to_vec())];
    for may_lose_from in [None, Some(40)] {
        assert!(lives(may_lose_from, &first, &found(&[1, 2], &[2])).is_ok());
        assert!(lives(may_lose_from, &first, &found(&[], &[])).is_err(), "the first is older");
        assert!(lives(may_lose_from, &first, &found(&[1, 2], &[])).is_err(), "half a transaction");
        assert!(lives(may_lose_from, &first, &found(&[1], &[2])).is_err(), "half a transaction");
        assert_eq!(lives(may_lose_from, &first, &found(&[1], &[])).is_ok(), may_lose_from.is_some());
    }
    // What depends on what is lost is lost.
    let first = [done(10, 20, &[append(X, 1)]), done(30, 40, &[List(X, vec![1]), append(Y, 2)])];
    assert!(lives(Some(5), &first, &found(&[], &[])).is_ok());
    assert!(lives(Some(5), &first, &found(&[], &[2])).is_err());
    // What was moved may be moved again, if the first move is lost.
    let first = [done(10, 20, &[Push(X, 1)]), done(30, 40, &[Pop(X, 1), Push(Y, 1)])];
    let queues = |x: &[u64], y: &[u64]| [Queue(X, x.to_vec()), Queue(Y, y.to_vec())];
    for may_lose_from in [None, Some(40)] {
        assert!(lives(may_lose_from, &first, &queues(&[], &[1])).is_ok());
        assert_eq!(lives(may_lose_from, &first, &queues(&[1], &[])).is_ok(), may_lose_from.is_some());
    }
    assert!(lives(None, &first, &queues(&[], &[])).is_err(), "half a move");
    // A reader that was not sure may have seen what is lost.
    let mut reader = done(30, 40, &[List(X, vec![1])]);
    let writer = one(10, 100, Unknown, &[append(X, 1)]);
    assert!(lives(None, &[writer.clone(), reader.clone()], &found(&[], &[])).is_err());
    reader.is_sure = false;
    assert!(lives(None, &[writer, reader], &found(&[], &[])).is_ok());
}
