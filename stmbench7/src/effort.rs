//! Defines the effort of operations, and how much virtual time it takes.

use clap::Args;
use std::fmt;
use std::ops::AddAssign;

/// What an operation touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Nodes, counted each time they are named or visited.
    pub nodes: u64,
    /// Atomic parts, visited or changed.
    pub parts: u64,
    /// Atomic parts whose entry in the index by date moves.
    pub moves: u64,
    /// Atomic parts created, with their edges and text.
    pub created: u64,
    /// Characters read.
    pub read: u64,
    /// Characters copied, with some changes.
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

// The ratios were measured on one worker, as means over all operations. (Another part time scales
// all operations alike.)
/// Cost of a moved index entry, in parts.
const PARTS_PER_MOVE: u64 = 8;
/// Cost of a created atomic part, in parts.
const PARTS_PER_CREATION: u64 = 16;
/// Characters read at the cost of one part.
const CHARACTERS_READ_PER_PART: u64 = 400;
/// Characters copied at the cost of one part.
const CHARACTERS_WRITTEN_PER_PART: u64 = 40;
/// Granules validated at the cost of one part.
const GRANULES_PER_PART: u64 = 2;

/// Costs in virtual time.
#[derive(Clone, Copy, Debug, Args)]
pub struct Times {
    /// Nanoseconds of virtual time that an operation takes besides what it touches
    #[arg(long = "task-time", value_name = "NS", default_value_t = 500)]
    pub operation: u32,

    /// Nanoseconds of virtual time to visit an atomic part; all other work is a multiple of it
    #[arg(long = "part-time", value_name = "NS", default_value_t = 40)]
    pub part: u64,
}

impl Times {
    /// Returns the nanoseconds that an effort takes.
    pub fn of(&self, effort: &Effort) -> u64 {
        let Effort { nodes, parts, moves, created, read, written } = *effort;
        let parts = parts
            + nodes
            + PARTS_PER_MOVE * moves
            + PARTS_PER_CREATION * created
            + read / CHARACTERS_READ_PER_PART
            + written / CHARACTERS_WRITTEN_PER_PART;
        u64::from(self.operation) + self.part * parts
    }

    /// Returns the nanoseconds that the validation of granules takes.
    pub fn of_validation(&self, granules: usize) -> u64 {
        self.part * granules as u64 / GRANULES_PER_PART
    }
}

/// Formats the costs for a report.
impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns an operation and {} ns a part", self.operation, self.part)
    }
}
