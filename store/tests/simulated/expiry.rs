//! A check of registers that expire, by the clock of the store.

use super::history::{Key, Op, Outcome, Transaction};

/// A write of a register that expires: the number of its transaction, and after how many ms.
struct Write<'h> {
    number: usize,
    transaction: &'h Transaction,
    value: u64,
    ms: u64,
}

impl Write<'_> {
    /// Returns when it expires at the earliest.
    fn earliest_end(&self) -> u64 {
        self.transaction.begun_at + self.ms
    }
}

/// Checks that no value was seen after its time, and that none has expired before.
pub fn check_expiry(history: &[Transaction], keys: &[Key]) -> Result<(), String> {
    keys.iter().try_for_each(|key| check_key(history, key))
}

fn check_key(history: &[Transaction], key: Key) -> Result<(), String> {
    let mut writes = Vec::new();
    for (number, transaction) in history.iter().enumerate() {
        for op in &transaction.ops {
            match *op {
                Op::SetFor(at, value, ms) if at == key && transaction.outcome != Outcome::Failed => {
                    writes.push(Write { number, transaction, value, ms });
                }
                _ => {}
            }
        }
    }
    for (number, reader) in history.iter().enumerate() {
        for op in &reader.ops {
            match *op {
                Op::GetLive(at, Some(value)) if at == key => check_late(&writes, reader, value)?,
                Op::GetLive(at, None) if at == key => check_early(&writes, number, reader)?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Checks that a value that was seen has not expired before.
fn check_late(writes: &[Write<'_>], reader: &Transaction, value: u64) -> Result<(), String> {
    let writer = writes.iter().find(|write| write.value == value);
    match writer.filter(|write| write.transaction.outcome == Outcome::Done) {
        Some(writer) if reader.begun_at > writer.transaction.ended_at + writer.ms => {
            Err(format!("it has expired:\n  {:?}\n  {reader:?}", writer.transaction))
        }
        _ => Ok(()),
    }
}

/// Checks that there may be no value where none was seen.
fn check_early(writes: &[Write<'_>], number: usize, reader: &Transaction) -> Result<(), String> {
    let writes: Vec<_> = writes.iter().filter(|write| write.number != number).collect();
    let lasts = |write: &Write<'_>| write.earliest_end() > reader.ended_at;
    let is_before = |write: &Write<'_>| {
        write.transaction.outcome == Outcome::Done && write.transaction.ended < reader.begun
    };
    for write in writes.iter().filter(|write| is_before(write) && lasts(write)) {
        // What may have replaced it.
        let mut later = writes.iter().filter(|other| {
            other.transaction.begun < reader.ended && other.transaction.ended > write.transaction.begun
        });
        if later.all(|other| lasts(other)) {
            return Err(format!("it has not expired:\n  {:?}\n  {reader:?}", write.transaction));
        }
    }
    Ok(())
}
