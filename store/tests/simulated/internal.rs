//! What a transaction sees of itself.

use super::history::{Key, Op, Transaction};
use super::verdict::{Checked, Kind, anomaly};
use std::collections::BTreeMap;

/// Checks that a transaction sees what it has done and seen itself.
pub fn check_internal(transaction: &Transaction) -> Checked {
    let wrong = |op: &Op| Err(anomaly(Kind::Internal, format!("{op:?}"), &[transaction]));
    // What is known of lists and queues: all, or only how they end.
    let mut lists = BTreeMap::<Key, (bool, Vec<u64>)>::new();
    let mut registers = BTreeMap::new();
    for op in &transaction.ops {
        match op {
            &Op::Append(key, value, _) | &Op::Push(key, value) => lists.entry(key).or_default().1.push(value),
            Op::List(key, values) | Op::Queue(key, values) => {
                let known = lists.insert(key, (true, values.clone()));
                match known {
                    Some((true, all)) if all != *values => return wrong(op),
                    Some((false, end)) if !values.ends_with(&end) => return wrong(op),
                    _ => {}
                }
            }
            Op::Pop(key, value) => match lists.get_mut(key) {
                Some((true, all)) if all.first() != Some(value) => return wrong(op),
                Some((true, all)) => drop(all.remove(0)),
                // It may be one of its own.
                known => drop(known.map(|known| known.1.clear())),
            },
            &Op::Set(key, value) | &Op::SetFor(key, value, _) => drop(registers.insert(key, Some(value))),
            &Op::Get(key, value) | &Op::GetLive(key, value) => {
                if registers.insert(key, value).is_some_and(|known| known != value) {
                    return wrong(op);
                }
            }
            Op::MayPop(_) | Op::MayCopy(_) => {}
        }
    }
    Ok(())
}
