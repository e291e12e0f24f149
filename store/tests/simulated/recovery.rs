//! What has to be there after a kill, and in which order: all lives of a store as one history.

use super::checker::check;
use super::expiry::check_expiry;
use super::history::{Key, Op, Outcome, Transaction};
use std::collections::BTreeSet;

/// A life of a store, from a start to a kill.
pub struct Life {
    /// A transaction that has seen all keys at the start.
    pub found: Transaction,
    pub transactions: Vec<Transaction>,
    /// What was acknowledged from then on, in ms, may be lost in the end. `None`: nothing may.
    pub may_lose_from: Option<u64>,
}

/// Checks each life by itself, and then all of them as one history. `last` has seen all keys at
/// the end. `expiring` are the keys of registers that expire.
pub fn check_lives(lives: &[Life], last: &Transaction, expiring: &[Key]) -> Result<(), String> {
    let mut whole = Vec::new();
    for (number, life) in lives.iter().enumerate() {
        let all: Vec<_> = [life.found.as_writes()].into_iter().chain(life.transactions.clone()).collect();
        check(&all).map_err(|anomaly| format!("life {number}: {anomaly}"))?;
        check_expiry(&all, expiring).map_err(|text| format!("life {number}: {text}"))?;
        let next = lives.get(number + 1).map_or(last, |life| &life.found);
        whole.push(life.found.clone());
        whole.extend(what_remains(life, next));
    }
    whole.push(last.clone());
    check(&whole).map_err(|anomaly| format!("all lives: {anomaly}"))?;
    check_expiry(&whole, expiring).map_err(|text| format!("all lives: {text}"))
}

/// Returns the transactions of a life that have to be explained together with what the next one
/// has found: without what may be lost.
fn what_remains(life: &Life, next: &Transaction) -> Vec<Transaction> {
    let mut found = BTreeSet::new();
    for op in &next.ops {
        if let Op::List(key, values) | Op::Queue(key, values) = op {
            found.extend(values.iter().map(|value| (*key, *value)));
        }
    }
    let is_found = |op: &Op| match *op {
        Op::Append(key, value, _) | Op::Push(key, value) => found.contains(&(key, value)),
        _ => false,
    };
    let mut remains = Vec::new();
    for transaction in &life.transactions {
        let is_done = transaction.outcome == Outcome::Done;
        // It may have seen what is lost.
        if transaction.is_read_only() && (life.may_lose_from.is_some() || !transaction.is_sure) {
            continue;
        }
        let mut transaction = transaction.clone();
        let may_be_lost = life.may_lose_from.is_some_and(|from| transaction.ended_at >= from);
        if is_done && may_be_lost && !transaction.ops.iter().any(is_found) {
            transaction.forget_outcome();
            transaction.ended = next.begun;
        }
        remains.push(transaction);
    }
    remains
}
