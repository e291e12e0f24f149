//! Which arguments of a command are keys.

use crate::resp::{Args, parse_integer};
use std::ops::Range;

/// Which arguments of a command are keys, and so which shards its task holds.
#[derive(Clone, Copy, Debug)]
pub enum KeyPositions {
    /// It has no keys, and touches no shard.
    None,
    /// From the first to the last argument in steps; a negative last one counts from the end.
    Range {
        /// The first key.
        first: usize,
        /// The last key.
        last: isize,
        /// From one key to the next.
        step: usize,
    },
    /// The function returns the positions; none if the arguments are malformed, which the command
    /// then reports.
    Function(fn(Args<'_>) -> Vec<usize>),
    /// As many arguments as the one at `count` says, right after it; before it there may be a
    /// destination. None if there are fewer, which the command then reports.
    Counted {
        /// The number of keys.
        count: usize,
        /// Whether the first argument is a key too.
        has_destination: bool,
    },
    /// As `Function`; and if there are patterns among the arguments that lead to other keys, it
    /// touches all shards.
    Patterns {
        /// Returns the positions of the keys that are arguments.
        keys: fn(Args<'_>) -> Vec<usize>,
        /// Returns true if there are such patterns.
        has_patterns: fn(Args<'_>) -> bool,
    },
    /// It touches all shards: the whole keyspace, or keys that are not among its arguments.
    All,
    /// Its first argument is a cursor, which says in which shards to go on.
    Cursor,
    /// The keys that the session watches.
    Watched,
    /// The keys that the session watches, and those of the commands that it has queued.
    Transaction,
}

impl KeyPositions {
    /// Returns first, last and step of the keys that are at the same positions in every call.
    pub fn fixed(self) -> (usize, isize, usize) {
        match self {
            Self::Range { first, last, step } => (first, last, step),
            Self::Patterns { .. } | Self::Counted { has_destination: true, .. } => (1, 1, 1),
            _ => (0, 0, 0),
        }
    }

    /// Returns true if there may be keys among the arguments.
    pub(crate) fn are_arguments(self) -> bool {
        !matches!(self, Self::None | Self::All | Self::Cursor | Self::Watched | Self::Transaction)
    }

    /// Returns the positions of the keys among the arguments. There are at least as many arguments
    /// as the arity demands.
    pub fn positions(self, args: Args<'_>) -> Vec<usize> {
        match self {
            Self::None | Self::All | Self::Cursor | Self::Watched | Self::Transaction => Vec::new(),
            Self::Range { first, last, step } => {
                let last = if last < 0 { args.len().saturating_add_signed(last) } else { last as usize };
                (first..=last.min(args.len().saturating_sub(1))).step_by(step).collect()
            }
            Self::Counted { count, has_destination } => {
                let keys = counted(args, count);
                let destination = (has_destination && !keys.is_empty()).then_some(1);
                destination.into_iter().chain(keys).collect()
            }
            Self::Function(find) | Self::Patterns { keys: find, .. } => find(args),
        }
    }
}

/// Returns the positions of the keys that follow their number at `at`; none if there are not so
/// many.
fn counted(args: Args<'_>, at: usize) -> Range<usize> {
    let count = args.get(at).and_then(parse_integer).and_then(|count| usize::try_from(count).ok());
    let first = at + 1;
    let end = count.and_then(|count| first.checked_add(count)).filter(|&end| end <= args.len());
    first..end.unwrap_or(first)
}
