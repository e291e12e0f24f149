//! The arguments of SORT.

use crate::command::CommandError;
use crate::resp::{Args, parse_integer};

/// The options of SORT.
pub(super) struct Options<'a> {
    pub(super) is_descending: bool,
    pub(super) is_alphabetic: bool,
    /// How many to skip, and how many to return at most; negative is no limit.
    pub(super) limit: (i64, i64),
    pub(super) by: Option<&'a [u8]>,
    pub(super) gets: Vec<&'a [u8]>,
    pub(super) destination: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    pub(super) fn parse(mut args: Args<'a>, may_store: bool) -> Result<Self, CommandError> {
        let integer = |arg| parse_integer(arg).ok_or(CommandError::NOT_AN_INTEGER);
        let mut options = Self {
            is_descending: false,
            is_alphabetic: false,
            limit: (0, -1),
            by: None,
            gets: Vec::new(),
            destination: None,
        };
        while !args.is_empty() {
            match (args, args.get(1), args.get(2)) {
                (args, ..) if args.is(0, "asc") => options.is_descending = false,
                (args, ..) if args.is(0, "desc") => options.is_descending = true,
                (args, ..) if args.is(0, "alpha") => options.is_alphabetic = true,
                (args, Some(offset), Some(count)) if args.is(0, "limit") => {
                    options.limit = (integer(offset)?, integer(count)?);
                }
                (args, Some(key), _) if may_store && args.is(0, "store") => options.destination = Some(key),
                (args, Some(pattern), _) if args.is(0, "by") => options.by = Some(pattern),
                (args, Some(pattern), _) if args.is(0, "get") => options.gets.push(pattern),
                _ => return Err(CommandError::SYNTAX),
            }
            args = args.skip(option_len(args));
        }
        Ok(options)
    }

    /// Returns true if the elements are not sorted, as they all have the same weight.
    pub(super) fn has_constant_by(&self) -> bool {
        self.by.is_some_and(|by| !by.contains(&b'*'))
    }
}

/// Returns the number of arguments that the first option has, its name included.
fn option_len(args: Args<'_>) -> usize {
    match args {
        args if args.is(0, "limit") => 3,
        args if args.is(0, "store") || args.is(0, "by") || args.is(0, "get") => 2,
        _ => 1,
    }
}

/// Iterates over the positions of the options' names.
fn positions(args: Args<'_>) -> impl Iterator<Item = usize> {
    let next = move |&at: &usize| Some(at + option_len(args.skip(at)));
    std::iter::successors(Some(2), next).take_while(move |&at| at < args.len())
}

/// Returns the positions of the keys among the arguments of SORT.
pub(super) fn keys(args: Args<'_>) -> Vec<usize> {
    let stores = positions(args).filter(|&at| args.is(at, "store") && at + 1 < args.len());
    std::iter::once(1).chain(stores.last().map(|at| at + 1)).collect()
}

/// Returns the position of the key among the arguments of SORT_RO.
pub(super) fn read_only_keys(_: Args<'_>) -> Vec<usize> {
    vec![1]
}

/// Returns true if patterns lead to keys that are no arguments.
pub(super) fn has_patterns(args: Args<'_>) -> bool {
    let is_pattern = |at: usize| args.get(at).is_some_and(|pattern| pattern.contains(&b'*'));
    positions(args).any(|at| (args.is(at, "by") || args.is(at, "get")) && is_pattern(at + 1))
}
