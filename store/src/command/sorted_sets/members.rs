//! Commands on members that are named, or chosen at random, or on all.

use super::{read, write_members};
use crate::command::collections::{Picks, Scan, at_indices, parse_cursor, random_index};
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::resp::{Args, Reply, format_double};
use crate::value::{SortedSet, ValueRef};

pub(super) fn zrem(call: &mut Call<'_, '_>) -> CommandResult {
    call.remove_named(EventClass::SortedSet, "zrem", |value, members| {
        let set = value.as_sorted_set_mut()?;
        let removed = members.iter().filter(|member| set.remove(member).is_some()).count();
        Ok((removed, set.is_empty()))
    })
}

pub(super) fn zcard(value: Option<ValueRef<'_>>, _: Args<'_>, reply: &mut Reply) -> Result<(), CommandError> {
    reply.count(value.map(ValueRef::as_sorted_set).transpose()?.map_or(0, SortedSet::len));
    Ok(())
}

pub(super) fn zscore(
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    let set = value.map(ValueRef::as_sorted_set).transpose()?;
    match set.and_then(|set| set.score(args.at(2))) {
        Some(score) => reply.double(score),
        None => reply.null(),
    }
    Ok(())
}

pub(super) fn zmscore(call: &mut Call<'_, '_>) -> CommandResult {
    let set = call.keys.get(call.args.at(1)).map(ValueRef::as_sorted_set).transpose()?;
    let members = call.args.skip(2);
    call.reply.array(members.len());
    for member in members.iter() {
        match set.and_then(|set| set.score(member)) {
            Some(score) => call.reply.double(score),
            None => call.reply.null(),
        }
    }
    call.done()
}

pub(super) fn zrank(call: &mut Call<'_, '_>) -> CommandResult {
    rank(call, "zrank", |rank, _| rank)
}

pub(super) fn zrevrank(call: &mut Call<'_, '_>) -> CommandResult {
    rank(call, "zrevrank", |rank, len| len - 1 - rank)
}

fn rank(call: &mut Call<'_, '_>, name: &str, of: fn(usize, usize) -> usize) -> CommandResult {
    let has_score = call.args.is(3, "withscore");
    if call.args.len() > 4 {
        return Err(CommandError::wrong_arity(name));
    }
    if call.args.len() == 4 && !has_score {
        return Err(CommandError::SYNTAX);
    }
    let set = read(call, call.args.at(1))?;
    let found =
        set.and_then(|set| set.rank(call.args.at(2)).map(|(rank, score)| (of(rank, set.len()), score)));
    match (found, has_score) {
        (Some((rank, _)), false) => call.reply.count(rank),
        (Some((rank, score)), true) => {
            call.reply.array(2);
            call.reply.count(rank);
            call.reply.double(score);
        }
        (None, false) => call.reply.null(),
        (None, true) => call.reply.null_array(),
    }
    call.done()
}

pub(super) fn zrandmember(call: &mut Call<'_, '_>) -> CommandResult {
    let (args, key) = (call.args, call.args.at(1));
    let picks = (args.len() > 2).then(|| Picks::parse_with(args, "withscores")).transpose()?;
    let set = call.keys.get(key).map(ValueRef::as_sorted_set).transpose()?;
    match (set, picks) {
        (None, None) => call.reply.null(),
        (None, Some(_)) => call.reply.array(0),
        (Some(set), None) => {
            let index = random_index(call.session, set.len());
            call.reply.bulk_or_null(set.range(index..index + 1).next().map(|(member, _)| member));
        }
        (Some(set), Some((picks, has_scores))) => {
            let indices = picks.indices(call.session, set.len());
            let all = set.range(0..set.len());
            let get = |index| set.range(index..index + 1).next();
            let members: Vec<_> = at_indices(&indices, set.len(), all, get).collect();
            write_members(call.reply, members.into_iter(), has_scores);
        }
    }
    call.done()
}

pub(super) fn zscan(call: &mut Call<'_, '_>) -> CommandResult {
    let cursor = parse_cursor(call.args.at(2))?;
    let set = call.keys.get(call.args.at(1)).map(ValueRef::as_sorted_set).transpose()?;
    let Some((set, scan)) = Scan::begin(cursor, set, call.args, call.reply)? else { return call.done() };
    let mut visited = Vec::new();
    let next = set.scan(scan.cursor, scan.count, |member, score| visited.push((member, score)));
    visited.retain(|(member, _)| scan.matches(member));
    call.reply.bulk(next.to_string().as_bytes());
    call.reply.array(2 * visited.len());
    for (member, score) in visited {
        call.reply.bulk(member);
        // A bulk string also in RESP3, as Redis has it.
        call.reply.bulk(format_double(score).as_bytes());
    }
    call.done()
}
