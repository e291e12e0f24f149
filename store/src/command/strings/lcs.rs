//! LCS: the longest common subsequence of two strings.

use super::super::{Call, CommandError, CommandResult};
use crate::resp::{Args, Reply};
use crate::server::Setting;
use crate::value::ValueRef;
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// What is asked for.
#[derive(Debug, Default)]
struct Options {
    length: bool,
    indexes: bool,
    match_lengths: bool,
    /// Shorter matches are left out.
    shortest_match: i64,
}

impl Options {
    fn read(args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        let mut at = 3;
        while let Some(word) = args.get(at) {
            match word.to_ascii_lowercase().as_slice() {
                b"idx" => options.indexes = true,
                b"len" => options.length = true,
                b"withmatchlen" => options.match_lengths = true,
                b"minmatchlen" if at + 1 < args.len() => {
                    let least = crate::resp::parse_integer(args.at(at + 1));
                    options.shortest_match = least.ok_or(CommandError::NOT_AN_INTEGER)?.max(0);
                    at += 1;
                }
                _ => return Err(CommandError::SYNTAX),
            }
            at += 1;
        }
        if options.indexes && options.length {
            let text = "ERR If you want both the length and indexes, please just use IDX.";
            return Err(CommandError::fixed(text));
        }
        Ok(options)
    }
}

/// A match: its places in both strings.
struct Match {
    first: RangeInclusive<usize>,
    second: RangeInclusive<usize>,
}

pub(super) fn lcs(call: &mut Call<'_, '_>) -> CommandResult {
    let text = |value: Option<ValueRef<'_>>| match value {
        None => Ok(Vec::new()),
        Some(value) => value.as_string().map(|string| Cow::into_owned(string.bytes())),
    };
    let [first, second] = [1, 2].map(|at| text(call.keys.get(call.args.at(at))));
    let (Ok(first), Ok(second)) = (first, second) else {
        return Err(CommandError::fixed("ERR The specified keys must contain string values"));
    };
    let options = Options::read(call.args)?;
    let cells = (first.len() as u64 + 1).saturating_mul(second.len() as u64 + 1);
    if cells.saturating_mul(4) > call.server.settings.number(Setting::ProtoMaxBulkLen) as u64 {
        let text = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
        return Err(CommandError::fixed(text));
    }
    let lengths = Lengths::new(&first, &second);
    let total = lengths.at(first.len(), second.len());
    if options.length {
        return call.integer(total.into());
    }
    let (subsequence, matches) = lengths.trace(&first, &second);
    if options.indexes {
        write_matches(&options, &matches, total, call.reply);
    } else {
        call.reply.bulk(&subsequence);
    }
    call.done()
}

/// The lengths of the longest common subsequences of all pairs of prefixes.
struct Lengths {
    cells: Vec<u32>,
    columns: usize,
}

impl Lengths {
    fn new(first: &[u8], second: &[u8]) -> Self {
        let columns = second.len() + 1;
        let mut lengths = Self { cells: vec![0; (first.len() + 1) * columns], columns };
        for (row, a) in first.iter().enumerate() {
            for (column, b) in second.iter().enumerate() {
                let length = match a == b {
                    true => lengths.at(row, column) + 1,
                    false => lengths.at(row, column + 1).max(lengths.at(row + 1, column)),
                };
                lengths.cells[(row + 1) * columns + column + 1] = length;
            }
        }
        lengths
    }

    fn at(&self, row: usize, column: usize) -> u32 {
        self.cells[row * self.columns + column]
    }

    /// Follows the subsequence from its end. Returns it, and the matches, the last one first.
    fn trace(&self, first: &[u8], second: &[u8]) -> (Vec<u8>, Vec<Match>) {
        let (mut row, mut column) = (first.len(), second.len());
        let (mut subsequence, mut matches) = (Vec::new(), Vec::<Match>::new());
        let mut is_match_open = false;
        while row > 0 && column > 0 {
            if first[row - 1] == second[column - 1] {
                (row, column) = (row - 1, column - 1);
                subsequence.push(first[row]);
                match matches.last_mut().filter(|_| is_match_open) {
                    Some(open) => {
                        open.first = row..=*open.first.end();
                        open.second = column..=*open.second.end();
                    }
                    None => matches.push(Match { first: row..=row, second: column..=column }),
                }
                is_match_open = true;
            } else {
                is_match_open = false;
                if self.at(row - 1, column) > self.at(row, column - 1) {
                    row -= 1;
                } else {
                    column -= 1;
                }
            }
        }
        subsequence.reverse();
        (subsequence, matches)
    }
}

fn write_matches(options: &Options, matches: &[Match], total: u32, reply: &mut Reply) {
    let length = |found: &Match| (found.first.end() - found.first.start() + 1) as i64;
    let shown: Vec<_> = matches.iter().filter(|found| length(found) >= options.shortest_match).collect();
    reply.map(2);
    reply.bulk(b"matches");
    reply.array(shown.len());
    for found in shown {
        reply.array(2 + usize::from(options.match_lengths));
        for range in [&found.first, &found.second] {
            reply.array(2);
            reply.count(*range.start());
            reply.count(*range.end());
        }
        if options.match_lengths {
            reply.integer(length(found));
        }
    }
    reply.bulk(b"len");
    reply.integer(total.into());
}
