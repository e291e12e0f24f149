//! What a check of a history says.

use super::history::Transaction;
use std::fmt;

/// What no order explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that nothing has written.
    Phantom,
    /// A value of a transaction that has had no effect.
    Aborted,
    /// A value that its transaction has overwritten itself, or a list between two appends of one.
    Intermediate,
    /// A transaction does not see what it has written, or the same as before.
    Internal,
    /// A value that is there twice, or was taken twice.
    Duplicate,
    /// Lists, lengths or queues that no order of elements explains.
    Order,
    /// Two transactions have seen the same value of a register and both replaced it.
    LostUpdate,
    /// What was written is not there.
    Lost,
    /// Some come before each other.
    Cycle,
}

/// Why a history is not strictly serialisable.
#[derive(Debug)]
pub struct Anomaly {
    pub kind: Kind,
    text: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text)
    }
}

pub type Checked = Result<(), Anomaly>;

/// Returns what is wrong, with the transactions that are involved.
pub fn anomaly(kind: Kind, text: impl fmt::Display, involved: &[&Transaction]) -> Anomaly {
    let involved: Vec<_> = involved.iter().map(|transaction| format!("\n  {transaction:?}")).collect();
    Anomaly { kind, text: format!("{text}{}", involved.concat()) }
}
