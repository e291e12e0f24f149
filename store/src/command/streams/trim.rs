//! XTRIM, XDEL, and how XADD trims.

use super::super::{Call, CommandError, CommandResult, EventClass};
use super::{ids, write};
use crate::resp::{Args, parse_integer};
use crate::value::{EntryLog, StreamId, Trim, TrimBound};

/// The blocks that are trimmed at once if a command does not say how many entries.
const BLOCKS: usize = 100;
/// The entries that are trimmed at once then, whatever the settings say.
const MOST_ENTRIES: usize = 1_000_000;
const FALLBACK_ENTRIES: usize = 10_000;

/// The options of XTRIM, and those of XADD on trimming.
#[derive(Debug, Default)]
pub(super) struct TrimOptions {
    bound: Option<TrimBound>,
    is_approximate: bool,
    limit: Option<i64>,
}

impl TrimOptions {
    /// Reads the option at `at`. Returns how many arguments it takes; 0 if it is another option.
    pub(super) fn read(&mut self, args: Args<'_>, at: usize) -> Result<usize, CommandError> {
        let has_value = at + 1 < args.len();
        let is_len = args.is(at, "maxlen");
        if has_value && (is_len || args.is(at, "minid")) {
            if self.bound.is_some() {
                return Err(CommandError::fixed(
                    "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
                ));
            }
            let mark = args.get(at + 1).filter(|mark| at + 2 < args.len() && matches!(*mark, b"~" | b"="));
            self.is_approximate = mark == Some(b"~");
            let value = args.at(at + 1 + usize::from(mark.is_some()));
            self.bound = Some(if is_len {
                let len = parse_integer(value).ok_or(CommandError::NOT_AN_INTEGER)?;
                let len = u64::try_from(len);
                TrimBound::Len(len.map_err(|_| CommandError::fixed("ERR The MAXLEN argument must be >= 0."))?)
            } else {
                TrimBound::MinId(ids::strict(value, 0)?)
            });
            return Ok(2 + usize::from(mark.is_some()));
        }
        if has_value && args.is(at, "limit") {
            let limit = parse_integer(args.at(at + 1)).ok_or(CommandError::NOT_AN_INTEGER)?;
            if limit < 0 {
                return Err(CommandError::fixed("ERR The LIMIT argument must be >= 0."));
            }
            self.limit = Some(limit);
            return Ok(2);
        }
        Ok(0)
    }

    /// Checks the options together. Returns how to trim, if that is asked for, as it has to be if
    /// `must_trim`.
    pub(super) fn finish(self, call: &Call<'_, '_>, must_trim: bool) -> Result<Option<Trim>, CommandError> {
        if self.limit.is_some_and(|limit| limit > 0) && self.bound.is_none() {
            return Err(CommandError::fixed(
                "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
            ));
        }
        if must_trim && self.bound.is_none() {
            return Err(CommandError::fixed(
                "ERR syntax error, XTRIM must be called with a trimming strategy",
            ));
        }
        if self.limit.is_some() && !self.is_approximate {
            return Err(CommandError::fixed(
                "ERR syntax error, LIMIT cannot be used without the special ~ option",
            ));
        }
        let default = match call.limits().stream_node_max_entries.saturating_mul(BLOCKS) {
            0 => FALLBACK_ENTRIES,
            entries => entries.min(MOST_ENTRIES),
        };
        let limit = match self.limit {
            _ if !self.is_approximate => 0,
            Some(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
            None => default,
        };
        let is_approximate = self.is_approximate;
        Ok(self.bound.map(|bound| Trim { bound, is_approximate, limit }))
    }
}

/// Returns the words of an exact trimming that has the effect of one that was just done.
pub(super) fn exact_words(trim: &Trim, log: &EntryLog) -> [String; 3] {
    let (word, bound) = match (trim.bound, trim.is_approximate) {
        (TrimBound::Len(len), false) => ("MAXLEN", len.to_string()),
        (TrimBound::MinId(id), false) => ("MINID", id.to_string()),
        (TrimBound::Len(_), true) => ("MAXLEN", log.len().to_string()),
        // One that was deleted before is in the way of no replay.
        (TrimBound::MinId(_), true) => ("MINID", log.first_in_blocks().unwrap_or(StreamId::MAX).to_string()),
    };
    [word.to_owned(), "=".to_owned(), bound]
}

pub(super) fn xtrim(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key) = (call.args, call.args.at(1));
    let mut options = TrimOptions::default();
    let mut at = 2;
    while at < args.len() {
        match options.read(args, at)? {
            0 => return Err(CommandError::SYNTAX),
            taken => at += taken,
        }
    }
    let trim = options.finish(call, true)?.ok_or(CommandError::SYNTAX)?;
    let Some(stream) = write(call, key)? else { return call.count(0) };
    let (removed, parts) = stream.log_mut().take_trimmed(&trim);
    let words = exact_words(&trim, stream.log());
    call.keys.leave_removed(parts);
    if removed > 0 {
        call.changed(EventClass::Stream, "xtrim", key);
        let words = words.iter().map(String::as_bytes);
        call.replay([&b"XTRIM"[..], key].into_iter().chain(words));
    }
    call.count(removed)
}

pub(super) fn xdel(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key) = (call.args, call.args.at(1));
    if super::read(call, key)?.is_none() {
        return call.count(0);
    }
    let ids = ids::all(args.skip(2).iter())?;
    let Some(stream) = write(call, key)? else { return call.count(0) };
    let removed = ids.into_iter().filter(|id| stream.log_mut().delete(*id)).count();
    if removed > 0 {
        call.changed(EventClass::Stream, "xdel", key);
    }
    call.count(removed)
}
