//! SORT and SORT_RO.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the arguments |
//! | `pattern` | what patterns lead to |
//!
//! Patterns lead to keys that are not arguments. With them the command is a task on all shards.

mod options;
mod pattern;

use super::{Call, Command, CommandError, CommandResult, EventClass, Family, Flags, Reach};
use crate::resp::{Args, parse_double};
use crate::value::{CompactLimits, End, List, Value, ValueRef};
use options::Options;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

const COMPLEXITY: &str = "O(N+M*log(M)) where N is the number of elements in the list or set to sort, \
     and M the number of returned elements. When the elements are not sorted, complexity is O(N).";

const FAMILY: Family = Family::new("generic", &["set", "sortedset", "list", "dangerous"]);

pub(super) const COMMANDS: &[Command] = &FAMILY.commands([
    Command::new("sort", -2, sort)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLE_KEYS])
        .keys_and_patterns(options::keys, options::has_patterns)
        .reaching(|args| reach(args, true))
        .doc("1.0.0", COMPLEXITY, "Sort the elements in a list, set or sorted set"),
    Command::new("sort_ro", -2, sort_ro)
        .flags(&[Flags::READONLY, Flags::MOVABLE_KEYS])
        .keys_and_patterns(options::read_only_keys, options::has_patterns)
        .reaching(|args| reach(args, false))
        .doc(
            "7.0.0",
            COMPLEXITY,
            "Sort the elements in a list, set or sorted set. Read-only variant of SORT.",
        ),
]);

/// Elements of the collection.
type Elements<'v> = Vec<Cow<'v, [u8]>>;

fn sort(call: &mut Call<'_, '_>) -> CommandResult {
    run(call, true)
}

fn sort_ro(call: &mut Call<'_, '_>) -> CommandResult {
    run(call, false)
}

/// Patterns may lead to any key, which the user has to be allowed to read.
fn reach(args: Args<'_>, may_store: bool) -> Option<Reach> {
    let options = Options::parse(args.skip(2), may_store).ok()?;
    let option = match options.by {
        Some(_) if !options.has_constant_by() => "BY",
        _ if !options.gets.is_empty() => "GET",
        _ => return None,
    };
    let text = format!("ERR {option} option of SORT denied due to insufficient ACL permissions.");
    Some(Reach { is_write: false, refusal: CommandError::new(text) })
}

fn run(call: &mut Call<'_, '_>, may_store: bool) -> CommandResult {
    let options = Options::parse(call.args.skip(2), may_store)?;
    let limits = call.limits();
    let elements = sorted(call, &options)?;
    if let Some(destination) = options.destination {
        let list = stored(call, &options, &elements, &limits);
        let len = list.len();
        return call.store(EventClass::List, "sortstore", destination, Value::List(Box::new(list)), len);
    }
    call.reply.array(elements.len() * options.gets.len().max(1));
    for element in &elements {
        if options.gets.is_empty() {
            call.reply.bulk(element);
        }
        for get in &options.gets {
            call.reply.bulk_or_null(pattern::look_up(call.keys, get, element).as_deref());
        }
    }
    call.done()
}

/// Returns the list that is stored.
fn stored(call: &Call<'_, '_>, options: &Options<'_>, elements: &[Vec<u8>], limits: &CompactLimits) -> List {
    let mut list = List::new();
    for element in elements {
        if options.gets.is_empty() {
            list.push(End::Right, element, limits);
        }
        for get in &options.gets {
            let found = pattern::look_up(call.keys, get, element).unwrap_or_default();
            list.push(End::Right, &found, limits);
        }
    }
    list
}

/// Returns the elements that are asked for, in order.
fn sorted(call: &Call<'_, '_>, options: &Options<'_>) -> Result<Vec<Vec<u8>>, CommandError> {
    let value = call.keys.get(call.args.at(1));
    let (mut elements, is_set) = match value {
        None => (Vec::new(), false),
        Some(ValueRef::List(list)) => (list.iter().map(Cow::Borrowed).collect(), false),
        Some(ValueRef::Set(set)) => (set.iter().collect(), true),
        Some(ValueRef::SortedSet(set)) => {
            (set.iter().map(|(member, _)| Cow::Borrowed(member)).collect(), false)
        }
        Some(_) => return Err(CommandError::WRONG_TYPE),
    };
    // A set has no order of its own that could be stored: it gets one.
    let is_forced = options.has_constant_by() && is_set && options.destination.is_some();
    if !options.has_constant_by() || is_forced {
        let by = options.by.filter(|_| !is_forced);
        let is_alphabetic = options.is_alphabetic || is_forced;
        elements = order(call, elements, by, is_alphabetic, options.is_descending)?;
    } else if options.is_descending && !is_set {
        elements.reverse();
    }
    let range = limited(options.limit, elements.len());
    Ok(elements.drain(range).map(Cow::into_owned).collect())
}

/// Sorts elements by themselves, or by what a pattern leads to.
fn order<'v>(
    call: &'v Call<'_, '_>,
    elements: Elements<'v>,
    by: Option<&[u8]>,
    is_alphabetic: bool,
    is_descending: bool,
) -> Result<Elements<'v>, CommandError> {
    let weight = |element: &Cow<'v, [u8]>| match by {
        Some(by) => pattern::look_up(call.keys, by, element).map(Cow::into_owned),
        None => Some(element.to_vec()),
    };
    let direct = |order: Ordering| if is_descending { order.reverse() } else { order };
    if is_alphabetic {
        let mut keyed: Vec<_> = elements.into_iter().map(|element| (weight(&element), element)).collect();
        keyed.sort_by(|left, right| direct(left.cmp(right)));
        return Ok(keyed.into_iter().map(|(_, element)| element).collect());
    }
    let score = |element: &Cow<'v, [u8]>| weight(element).map_or(Some(0.0), |weight| parse_score(&weight));
    let keyed = elements.into_iter().map(|element| Some((score(&element)?, element)));
    let keyed: Option<Vec<_>> = keyed.collect();
    let not_a_number = CommandError::fixed("ERR One or more scores can't be converted into double");
    let mut keyed = keyed.ok_or(not_a_number)?;
    keyed.sort_by(|left, right| {
        let scores = left.0.partial_cmp(&right.0).unwrap_or(Ordering::Equal);
        direct(scores.then_with(|| left.1.cmp(&right.1)))
    });
    Ok(keyed.into_iter().map(|(_, element)| element).collect())
}

/// Reads a score as C's `strtod` does: spaces may come before it, and nothing is zero.
fn parse_score(text: &[u8]) -> Option<f64> {
    if text.is_empty() { Some(0.0) } else { parse_double(text.trim_ascii_start()) }
}

/// Returns the range of a limit: an offset, and a count that has no effect if it is negative.
fn limited((offset, count): (i64, i64), len: usize) -> Range<usize> {
    let start = usize::try_from(offset.max(0)).unwrap_or(len).min(len);
    let count = usize::try_from(count).unwrap_or(len).min(len - start);
    start..start + count
}
