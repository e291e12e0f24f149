//! Commands on several sets: union, intersection, difference. Sets without scores count as sorted
//! sets whose scores are 1.

use super::write_members;
use crate::command::operands::at_least;
use crate::command::{Call, CommandError, CommandResult, EventClass};
use crate::keyspace::Keys;
use crate::resp::{Args, parse_double, parse_integer};
use crate::value::{CompactLimits, KeyedHasher, Set, SortedSet, Value, ValueRef, order_ranked};
use indexmap::IndexMap;
use std::borrow::Cow;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// How scores of one member in several sets become one.
#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn parse(arg: &[u8]) -> Option<Self> {
        let names = [(&b"sum"[..], Self::Sum), (b"min", Self::Min), (b"max", Self::Max)];
        names.into_iter().find(|(name, _)| arg.eq_ignore_ascii_case(name)).map(|(_, aggregate)| aggregate)
    }

    fn combine(self, score: f64, other: f64) -> f64 {
        match self {
            // Infinities of both signs make no number.
            Self::Sum => number(score + other),
            Self::Min => {
                if other < score {
                    other
                } else {
                    score
                }
            }
            Self::Max => {
                if other > score {
                    other
                } else {
                    score
                }
            }
        }
    }
}

/// Takes what is no number as 0.
fn number(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// A set that takes part.
#[derive(Clone, Copy)]
struct Source<'s> {
    members: Option<Members<'s>>,
    weight: f64,
}

#[derive(Clone, Copy)]
enum Members<'s> {
    Scored(&'s SortedSet),
    Plain(&'s Set),
}

impl<'s> Source<'s> {
    fn of(value: Option<ValueRef<'s>>) -> Result<Self, CommandError> {
        let members = match value {
            None => None,
            Some(ValueRef::SortedSet(set)) => Some(Members::Scored(set)),
            Some(ValueRef::Set(set)) => Some(Members::Plain(set)),
            Some(_) => return Err(CommandError::WRONG_TYPE),
        };
        Ok(Self { members, weight: 1.0 })
    }

    fn len(&self) -> usize {
        match self.members {
            None => 0,
            Some(Members::Scored(set)) => set.len(),
            Some(Members::Plain(set)) => set.len(),
        }
    }

    fn score(&self, member: &[u8]) -> Option<f64> {
        match self.members? {
            Members::Scored(set) => set.score(member),
            Members::Plain(set) => set.contains(member).then_some(1.0),
        }
    }

    /// Returns the score times the weight.
    fn weighted(&self, member: &[u8]) -> Option<f64> {
        self.score(member).map(|score| score * self.weight)
    }

    /// Iterates over members and scores times the weight.
    fn iter(&self) -> impl Iterator<Item = (Cow<'s, [u8]>, f64)> {
        let (scored, plain) = match self.members {
            None => (None, None),
            Some(Members::Scored(set)) => (Some(set), None),
            Some(Members::Plain(set)) => (None, Some(set)),
        };
        let weight = self.weight;
        let scored = scored.into_iter().flat_map(SortedSet::iter);
        let scored = scored.map(move |(member, score)| (Cow::Borrowed(member), number(score * weight)));
        let plain = plain.into_iter().flat_map(Set::iter);
        scored.chain(plain.map(move |member| (member, number(weight))))
    }
}

/// A command: its sets and options.
struct Query<'s> {
    operation: Operation,
    sources: Vec<Source<'s>>,
    aggregate: Aggregate,
    has_scores: bool,
    /// The number of members that are counted.
    limit: usize,
}

/// What the options may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Reply,
    Store,
    Count,
}

impl<'s> Query<'s> {
    /// Reads the arguments from the number of keys at `at` on, and finds the sets.
    fn parse(
        database: &'s Keys<'_>,
        all: Args<'_>,
        at: usize,
        operation: Operation,
        form: Form,
    ) -> Result<Self, CommandError> {
        let args = all.skip(at);
        let keys = parse_integer(args.at(0)).ok_or(CommandError::NOT_AN_INTEGER)?;
        let Some(keys) = usize::try_from(keys).ok().filter(|&keys| keys > 0) else {
            let name = String::from_utf8_lossy(all.at(0)).to_ascii_lowercase();
            return Err(CommandError::new(format!(
                "ERR at least 1 input key is needed for '{name}' command"
            )));
        };
        if keys >= args.len() {
            return Err(CommandError::SYNTAX);
        }
        let sources = args.skip(1).take(keys).iter().map(|key| Source::of(database.get(key)));
        let sources = sources.collect::<Result<_, _>>()?;
        let aggregate = Aggregate::Sum;
        let mut query = Self { operation, sources, aggregate, has_scores: false, limit: usize::MAX };
        query.parse_options(args.skip(1 + keys), form)?;
        if operation != Operation::Difference {
            query.sources.sort_by_key(Source::len);
        }
        Ok(query)
    }

    fn parse_options(&mut self, mut options: Args<'_>, form: Form) -> Result<(), CommandError> {
        let is_combined = self.operation != Operation::Difference && form != Form::Count;
        while !options.is_empty() {
            let mut used = 2;
            if is_combined && options.is(0, "weights") && options.len() > self.sources.len() {
                self.parse_weights(options.skip(1))?;
                used = 1 + self.sources.len();
            } else if is_combined && options.is(0, "aggregate") && options.len() > 1 {
                self.aggregate = Aggregate::parse(options.at(1)).ok_or(CommandError::SYNTAX)?;
            } else if form == Form::Reply && options.is(0, "withscores") {
                self.has_scores = true;
                used = 1;
            } else if form == Form::Count && options.is(0, "limit") && options.len() > 1 {
                self.limit = match at_least(options.at(1), 0, "ERR LIMIT can't be negative")? {
                    0 => usize::MAX,
                    limit => limit as usize,
                };
            } else {
                return Err(CommandError::SYNTAX);
            }
            options = options.skip(used);
        }
        Ok(())
    }

    fn parse_weights(&mut self, args: Args<'_>) -> Result<(), CommandError> {
        const WEIGHT: CommandError = CommandError::fixed("ERR weight value is not a float");
        for (source, weight) in self.sources.iter_mut().zip(args.iter()) {
            source.weight = parse_double(weight).ok_or(WEIGHT)?;
        }
        Ok(())
    }

    /// Returns the members of the result with their scores.
    fn members(&self) -> Vec<(Cow<'s, [u8]>, f64)> {
        let Some((first, others)) = self.sources.split_first() else { return Vec::new() };
        match self.operation {
            Operation::Union => self.union(),
            Operation::Intersection => {
                let members = first.iter().filter_map(|(member, score)| {
                    let mut scores = others.iter().map(|source| source.weighted(&member));
                    let score =
                        scores.try_fold(score, |score, other| Some(self.aggregate.combine(score, other?)))?;
                    Some((member, score))
                });
                members.take(self.limit).collect()
            }
            Operation::Difference => {
                let is_in_none = |(member, _): &(Cow<'_, [u8]>, f64)| {
                    others.iter().all(|source| source.score(member).is_none())
                };
                first.iter().filter(is_in_none).collect()
            }
        }
    }

    fn union(&self) -> Vec<(Cow<'s, [u8]>, f64)> {
        let mut scores: IndexMap<Cow<'s, [u8]>, f64, KeyedHasher> = IndexMap::default();
        for (member, score) in self.sources.iter().flat_map(Source::iter) {
            scores
                .entry(member)
                .and_modify(|old| *old = self.aggregate.combine(*old, score))
                .or_insert(score);
        }
        scores.into_iter().collect()
    }

    /// Returns the result as a sorted set.
    fn result(&self, limits: &CompactLimits) -> SortedSet {
        let mut result = SortedSet::new();
        for (member, score) in self.members() {
            result.insert(&member, score, limits);
        }
        result
    }
}

fn reply(call: &mut Call<'_, '_>, operation: Operation) -> CommandResult {
    let query = Query::parse(call.keys, call.args, 1, operation, Form::Reply)?;
    let mut members = query.members();
    members.sort_by(|(left, score), (right, other)| order_ranked((*score, left), (*other, right)));
    let members = members.iter().map(|(member, score)| (member.as_ref(), *score));
    write_members(call.reply, members, query.has_scores);
    call.done()
}

fn store(call: &mut Call<'_, '_>, operation: Operation, event: &'static str) -> CommandResult {
    let args = call.args;
    let query = Query::parse(call.keys, args, 2, operation, Form::Store)?;
    let result = query.result(&call.limits());
    let len = result.len();
    let result = Value::SortedSet(Box::new(result));
    call.store(EventClass::SortedSet, event, call.args.at(1), result, len)
}

pub(super) fn zunion(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Operation::Union)
}

pub(super) fn zinter(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Operation::Intersection)
}

pub(super) fn zdiff(call: &mut Call<'_, '_>) -> CommandResult {
    reply(call, Operation::Difference)
}

pub(super) fn zunionstore(call: &mut Call<'_, '_>) -> CommandResult {
    store(call, Operation::Union, "zunionstore")
}

pub(super) fn zinterstore(call: &mut Call<'_, '_>) -> CommandResult {
    store(call, Operation::Intersection, "zinterstore")
}

pub(super) fn zdiffstore(call: &mut Call<'_, '_>) -> CommandResult {
    store(call, Operation::Difference, "zdiffstore")
}

pub(super) fn zintercard(call: &mut Call<'_, '_>) -> CommandResult {
    let query = Query::parse(call.keys, call.args, 1, Operation::Intersection, Form::Count)?;
    let count = query.members().len();
    call.count(count)
}
