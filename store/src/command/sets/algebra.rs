//! Commands on several sets: union, intersection, difference.

use crate::command::operands::at_least;
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::resp::Args;
use crate::value::{KeyedHasher, Set, Value, ValueRef};
use indexmap::IndexSet;
use std::borrow::Cow;

/// Members of a result, in the order in which they were found.
type Members<'s> = Vec<Cow<'s, [u8]>>;

/// What to do with several sets. A key without a set is an empty one.
#[derive(Clone, Copy)]
enum Operation {
    Union,
    Intersection { limit: usize },
    Difference,
}

const INTERSECTION: Operation = Operation::Intersection { limit: usize::MAX };

impl Operation {
    fn run<'s>(self, sets: &[Option<&'s Set>]) -> Members<'s> {
        match self {
            Self::Union => {
                let members = sets.iter().flatten().flat_map(|set| set.iter());
                members.collect::<IndexSet<_, KeyedHasher>>().into_iter().collect()
            }
            Self::Intersection { limit } => {
                let all: Option<Vec<&Set>> = sets.iter().copied().collect();
                let Some(mut all) = all else { return Vec::new() };
                all.sort_by_key(|set| set.len());
                let Some((smallest, others)) = all.split_first() else { return Vec::new() };
                let is_in_all = |member: &Cow<'_, [u8]>| others.iter().all(|set| set.contains(member));
                smallest.iter().filter(is_in_all).take(limit).collect()
            }
            Self::Difference => {
                let Some((first, others)) = sets.split_first() else { return Vec::new() };
                let is_in_none =
                    |member: &Cow<'_, [u8]>| !others.iter().flatten().any(|set| set.contains(member));
                first.iter().flat_map(|set| set.iter()).filter(is_in_none).collect()
            }
        }
    }
}

/// Returns the sets of keys.
fn read_all<'a>(call: &'a Call<'_, '_>, keys: Args<'_>) -> Result<Vec<Option<&'a Set>>, CommandError> {
    keys.iter().map(|key| super::read(call, key)).collect()
}

fn reply(call: &mut Call<'_, '_>, operation: Operation) -> CommandResult {
    let keys = call.args.skip(1);
    let sets = keys.iter().map(|key| call.keys.get(key).map(ValueRef::as_set).transpose());
    let sets: Vec<Option<&Set>> = sets.collect::<Result<_, _>>()?;
    let members = operation.run(&sets);
    call.reply.set(members.len());
    members.iter().for_each(|member| call.reply.bulk(member));
    call.done()
}

fn store(call: &mut Call<'_, '_>, operation: Operation, event: &'static str) -> CommandResult {
    let limits = call.limits();
    let sets = read_all(call, call.args.skip(2))?;
    let members = operation.run(&sets);
    let first = members.first().map_or(&[][..], |first| first);
    let mut set = Set::new(first, 1, &limits);
    for member in &members {
        set.insert(member, &limits);
    }
    let len = set.len();
    call.store(EventClass::Set, event, call.args.at(1), Value::Set(Box::new(set)), len)
}

pub(super) fn sunion(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Operation::Union)
}

pub(super) fn sinter(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, INTERSECTION)
}

pub(super) fn sdiff(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Operation::Difference)
}

pub(super) fn sunionstore(call: &mut Call<'_, '_>) -> CommandResult {
    store(call, Operation::Union, "sunionstore")
}

pub(super) fn sinterstore(call: &mut Call<'_, '_>) -> CommandResult {
    store(call, INTERSECTION, "sinterstore")
}

pub(super) fn sdiffstore(call: &mut Call<'_, '_>) -> CommandResult {
    store(call, Operation::Difference, "sdiffstore")
}

pub(super) fn sintercard(call: &mut Call<'_, '_>) -> CommandResult {
    let args = call.args;
    let keys = at_least(args.at(1), 1, "ERR numkeys should be greater than 0")? as usize;
    if keys > args.len() - 2 {
        return Err(CommandError::fixed("ERR Number of keys can't be greater than number of args"));
    }
    let mut limit = usize::MAX;
    let mut options = args.skip(2 + keys);
    while !options.is_empty() {
        let value = options.get(1).filter(|_| options.is(0, "limit")).ok_or(CommandError::SYNTAX)?;
        limit = match at_least(value, 0, "ERR LIMIT can't be negative")? {
            0 => usize::MAX,
            limit => limit as usize,
        };
        options = options.skip(2);
    }
    let sets = read_all(call, args.skip(2).take(keys))?;
    let found = Operation::Intersection { limit }.run(&sets).len();
    call.count(found)
}
