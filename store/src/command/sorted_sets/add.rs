//! ZADD with its options, and ZINCRBY.

use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::resp::{Args, parse_double};
use crate::value::{CompactLimits, SortedSet, Value};

/// The options of ZADD.
#[derive(Clone, Copy, Default)]
pub(in crate::command) struct AddOptions {
    /// Only members that are not there.
    pub(in crate::command) is_new_only: bool,
    /// Only members that are there.
    pub(in crate::command) is_old_only: bool,
    /// Only if the score gets greater.
    is_greater_only: bool,
    /// Only if the score gets less.
    is_less_only: bool,
    /// The reply counts changed scores too.
    counts_changes: bool,
    /// The score is added to the one that is there.
    is_increment: bool,
}

/// What became of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    Updated,
    /// The score is as before.
    Same,
    /// The options forbid it.
    Skipped,
}

impl AddOptions {
    /// Reads the options at the beginning, those of these names. Returns them and what follows.
    pub(in crate::command) fn read<'a>(mut args: Args<'a>, names: &[&str]) -> (Self, Args<'a>) {
        let mut options = Self::default();
        while let Some(name) = names.iter().find(|name| args.is(0, name)) {
            let option = match *name {
                "nx" => &mut options.is_new_only,
                "xx" => &mut options.is_old_only,
                "gt" => &mut options.is_greater_only,
                "lt" => &mut options.is_less_only,
                "ch" => &mut options.counts_changes,
                _ => &mut options.is_increment,
            };
            *option = true;
            args = args.skip(1);
        }
        (options, args)
    }

    /// Reads the options before the first score. Returns them and the scores and members.
    fn parse(args: Args<'_>, is_increment: bool) -> Result<(Self, Args<'_>), CommandError> {
        let (mut options, pairs) = Self::read(args, &["nx", "xx", "gt", "lt", "ch", "incr"]);
        options.is_increment |= is_increment;
        options.check(pairs)?;
        Ok((options, pairs))
    }

    /// Checks that the options suit each other, and the scores and members.
    fn check(&self, pairs: Args<'_>) -> Result<(), CommandError> {
        let (nx, gt, lt) = (self.is_new_only, self.is_greater_only, self.is_less_only);
        if pairs.is_empty() || pairs.len() % 2 == 1 {
            return Err(CommandError::SYNTAX);
        }
        let conflict = if nx && self.is_old_only {
            "ERR XX and NX options at the same time are not compatible"
        } else if nx && (gt || lt) || gt && lt {
            "ERR GT, LT, and/or NX options at the same time are not compatible"
        } else if self.is_increment && pairs.len() > 2 {
            "ERR INCR option supports a single increment-element pair"
        } else {
            return Ok(());
        };
        Err(CommandError::fixed(conflict))
    }

    /// Sets the score of a member, or adds to it. Returns what became of it, and the score.
    fn apply(
        &self,
        set: &mut SortedSet,
        member: &[u8],
        score: f64,
        limits: &CompactLimits,
    ) -> Result<(Change, f64), CommandError> {
        let Some(old) = set.score(member) else {
            if self.is_old_only {
                return Ok((Change::Skipped, score));
            }
            set.insert(member, score, limits);
            return Ok((Change::Added, score));
        };
        if self.is_new_only {
            return Ok((Change::Skipped, old));
        }
        let new = if self.is_increment { old + score } else { score };
        if new.is_nan() {
            return Err(CommandError::fixed("ERR resulting score is not a number (NaN)"));
        }
        if self.is_less_only && new >= old || self.is_greater_only && new <= old {
            return Ok((Change::Skipped, old));
        }
        set.insert(member, new, limits);
        Ok((if new == old { Change::Same } else { Change::Updated }, new))
    }
}

pub(super) fn zadd(call: &mut Call<'_, '_>) -> CommandResult {
    add(call, false)
}

pub(super) fn zincrby(call: &mut Call<'_, '_>) -> CommandResult {
    add(call, true)
}

fn add(call: &mut Call<'_, '_>, is_increment: bool) -> CommandResult {
    let (options, pairs) = AddOptions::parse(call.args.skip(2), is_increment)?;
    let scores = pairs.iter().step_by(2).map(|score| parse_double(score).ok_or(CommandError::NOT_A_FLOAT));
    let scores: Vec<f64> = scores.collect::<Result<_, _>>()?;
    add_members(call, options, pairs.iter().skip(1).step_by(2).zip(scores))
}

/// Adds members with scores to the set of the first argument, and writes the reply of ZADD.
pub(in crate::command) fn add_members<'a>(
    call: &mut Call<'_, '_>,
    options: AddOptions,
    members: impl Iterator<Item = (&'a [u8], f64)>,
) -> CommandResult {
    let (key, limits) = (call.args.at(1), call.limits());
    let (mut added, mut updated) = (0, 0);
    let mut score = None;
    if !options.is_old_only || call.keys.contains(key) {
        let make = || Value::SortedSet(Box::default());
        let set = call.keys.get_or_insert_with(key, make).as_sorted_set_mut()?;
        for (member, new) in members {
            let (change, new) = options.apply(set, member, new, &limits)?;
            added += usize::from(change == Change::Added);
            updated += usize::from(change == Change::Updated);
            score = (change != Change::Skipped).then_some(new);
        }
    }
    if added + updated > 0 {
        let event = if options.is_increment { "zincr" } else { "zadd" };
        call.changed(EventClass::SortedSet, event, key);
    }
    match (options.is_increment, score) {
        (false, _) => call.reply.count(if options.counts_changes { added + updated } else { added }),
        (true, Some(score)) => call.reply.double(score),
        (true, None) => call.reply.null(),
    }
    call.done()
}
