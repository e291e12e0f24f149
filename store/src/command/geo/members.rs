//! GEOADD, and commands on members that are named.

use super::search::{write_distance, write_point};
use super::{arguments, cell};
use crate::command::sorted_sets::{AddOptions, add_members};
use crate::command::{Call, CommandError, CommandResult};
use crate::resp::{Args, Reply};
use crate::value::{SortedSet, ValueRef};

pub(super) fn geoadd(call: &mut Call<'_, '_>) -> CommandResult {
    let (options, rest) = AddOptions::read(call.args.skip(2), &["nx", "xx", "ch"]);
    if rest.is_empty() || rest.len() % 3 != 0 || options.is_new_only && options.is_old_only {
        return Err(CommandError::SYNTAX);
    }
    let places = (0..rest.len()).step_by(3);
    let scores = places.map(|at| arguments::point(rest, at).map(cell::score));
    let scores: Vec<f64> = scores.collect::<Result<_, _>>()?;
    let members = rest.iter().skip(2).step_by(3);
    add_members(call, options, members.zip(scores))
}

/// Writes, for each of the members that are named, what `write` does with its score, which is none
/// if there is no such member.
fn for_each(
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
    write: impl Fn(&mut Reply, Option<f64>),
) -> Result<(), CommandError> {
    let set = value.map(ValueRef::as_sorted_set).transpose()?;
    let members = args.skip(2);
    reply.array(members.len());
    members.iter().for_each(|member| write(reply, set.and_then(|set| set.score(member))));
    Ok(())
}

pub(super) fn geopos(
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    for_each(value, args, reply, |reply, score| match score {
        Some(score) => write_point(reply, cell::point(score)),
        None => reply.null_array(),
    })
}

pub(super) fn geohash(
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    for_each(value, args, reply, |reply, score| match score {
        Some(score) => reply.bulk(&cell::geohash(cell::point(score))),
        None => reply.null(),
    })
}

pub(super) fn geodist(
    value: Option<ValueRef<'_>>,
    args: Args<'_>,
    reply: &mut Reply,
) -> Result<(), CommandError> {
    if args.len() > 5 {
        return Err(CommandError::SYNTAX);
    }
    let unit = args.get(4).map_or(Ok(1.0), arguments::unit)?;
    let set: Option<&SortedSet> = value.map(ValueRef::as_sorted_set).transpose()?;
    let place = |at: usize| set.and_then(|set| set.score(args.at(at))).map(cell::point);
    match (place(2), place(3)) {
        (Some(one), Some(other)) => write_distance(reply, one.distance(other) / unit),
        _ => reply.null(),
    }
    Ok(())
}
