//! What operations have to do: in virtual time they take as long as that takes.

use clap::Args;
use std::fmt;
use std::ops::AddAssign;

/// How much an operation touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Nodes, each as often as it is named or walked to.
    pub nodes: u64,
    /// Atomic parts, visited or changed.
    pub parts: u64,
    /// Atomic parts whose entry in the index by date is put elsewhere.
    pub moves: u64,
    /// Atomic parts that are made, with their edges and their text.
    pub created: u64,
    /// Characters that are looked at.
    pub read: u64,
    /// Characters that are copied, with changes here and there.
    pub written: u64,
}

impl AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.nodes += other.nodes;
        self.parts += other.parts;
        self.moves += other.moves;
        self.created += other.created;
        self.read += other.read;
        self.written += other.written;
    }
}

// As one worker has taken in the mean of all operations. (Others than the default would be so many times as slow in all.)
/// An entry that is put elsewhere takes as long as so many parts.
const MOVE: u64 = 8;
/// An atomic part that is made.
const CREATION: u64 = 16;
/// So many characters take as long as a part, to be looked at.
const READ: u64 = 400;
/// The same, to be copied.
const WRITTEN: u64 = 40;
/// So many granules take as long as a part, to be compared with what they were.
const COMPARED: u64 = 2;

/// What things take in virtual time.
#[derive(Clone, Copy, Debug, Args)]
pub struct Times {
    /// Nanoseconds that an operation takes besides what it touches, in virtual time
    #[arg(long = "task-time", value_name = "NS", default_value_t = 500)]
    pub operation: u32,

    /// Nanoseconds that it takes to visit an atomic part, in virtual time; what else an operation does takes so many times that
    #[arg(long = "part-time", value_name = "NS", default_value_t = 40)]
    pub part: u64,
}

impl Times {
    /// Nanoseconds that it takes.
    pub fn of(&self, effort: &Effort) -> u64 {
        let Effort { nodes, parts, moves, created, read, written } = *effort;
        let parts = parts + nodes + MOVE * moves + CREATION * created + read / READ + written / WRITTEN;
        u64::from(self.operation) + self.part * parts
    }

    /// Nanoseconds that it takes to see whether so many granules were written.
    pub fn of_comparing(&self, granules: usize) -> u64 {
        self.part * granules as u64 / COMPARED
    }
}

/// For people.
impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns an operation and {} ns a part", self.operation, self.part)
    }
}
