//! What clients have done and seen.

/// The name of a key.
pub type Key = &'static str;

/// What a transaction has done or seen. A value is written to a key once at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// It appended a value to a list. Its length afterwards, if a reply has told it.
    Append(Key, u64, Option<u64>),
    /// It saw a whole list.
    List(Key, Vec<u64>),
    /// It set a register.
    Set(Key, u64),
    /// It saw the value of a register.
    Get(Key, Option<u64>),
    /// It set a register that expires after some ms.
    SetFor(Key, u64, u64),
    /// It saw the value of a register that expires.
    GetLive(Key, Option<u64>),
    /// It pushed a value at the end of a queue.
    Push(Key, u64),
    /// It took the first value of a queue.
    Pop(Key, u64),
    /// It saw a whole queue.
    Queue(Key, Vec<u64>),
    /// It may have taken the first value of a queue.
    MayPop(Key),
    /// It may have written a value of another key to this one.
    MayCopy(Key),
}

/// How a transaction has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has had its effect.
    Done,
    /// It has had no effect, and must not have one later: it was discarded or refused.
    Failed,
    /// Nothing is known: the connection was lost, or the log could not be written.
    Unknown,
}

/// A command or a transaction of a client.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// The connection. What it sends takes effect in that order.
    pub session: usize,
    /// Ticks before it was sent, and after its reply had come. If nothing is known, it has had its
    /// effect before `ended`, or never.
    pub begun: u64,
    pub ended: u64,
    /// The same moments by the clock of the store, in ms.
    pub begun_at: u64,
    pub ended_at: u64,
    pub outcome: Outcome,
    /// Whether the log could be written all the time. If not, what it has seen may be lost.
    pub is_sure: bool,
    pub ops: Vec<Op>,
}

impl Op {
    /// Returns what this writes: the key and the value.
    pub fn written(&self) -> Option<(Key, u64)> {
        match *self {
            Self::Append(key, value, _) | Self::Set(key, value) => Some((key, value)),
            Self::SetFor(key, value, _) | Self::Push(key, value) => Some((key, value)),
            _ => None,
        }
    }

    /// Returns what is left of this if nothing is known of the outcome.
    fn without_outcome(&self) -> Option<Self> {
        match *self {
            Self::Append(key, value, _) => Some(Self::Append(key, value, None)),
            Self::Set(..) | Self::SetFor(..) | Self::Push(..) => Some(self.clone()),
            Self::MayPop(..) | Self::MayCopy(..) => Some(self.clone()),
            Self::Pop(key, _) => Some(Self::MayPop(key)),
            Self::List(..) | Self::Get(..) | Self::GetLive(..) | Self::Queue(..) => None,
        }
    }

    /// Returns what would have made what this has seen.
    fn as_writes(&self) -> Vec<Self> {
        match self {
            Self::List(key, values) => values.iter().map(|&value| Self::Append(key, value, None)).collect(),
            Self::Get(key, value) => value.iter().map(|&value| Self::Set(key, value)).collect(),
            Self::GetLive(key, value) => value.iter().map(|&value| Self::Set(key, value)).collect(),
            Self::Queue(key, values) => values.iter().map(|&value| Self::Push(key, value)).collect(),
            other => vec![other.clone()],
        }
    }
}

impl Transaction {
    /// Returns true if it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.ops.iter().all(|op| op.without_outcome().is_none())
    }

    /// Makes it one of which nothing is known. A value that it has brought from one key to another
    /// may be brought there by a later one.
    pub fn forget_outcome(&mut self) {
        self.outcome = Outcome::Unknown;
        let has_seen = |value| {
            let sees = |op: &Op| matches!(*op, Op::Pop(_, seen) | Op::Get(_, Some(seen)) if seen == value);
            self.ops.iter().any(sees)
        };
        let forget = |op: &Op| match op.written() {
            Some((key, value)) if has_seen(value) => Some(Op::MayCopy(key)),
            _ => op.without_outcome(),
        };
        self.ops = self.ops.iter().filter_map(forget).collect();
    }

    /// Returns a transaction that makes what this one has seen.
    pub fn as_writes(&self) -> Self {
        Self { ops: self.ops.iter().flat_map(Op::as_writes).collect(), ..self.clone() }
    }
}
