//! Bytes to values.

use super::codes::{
    HASH, HASH_LISTPACK, HASH_ZIPLIST, HASH_ZIPMAP, LIST, LIST_QUICKLIST, LIST_QUICKLIST_2, LIST_ZIPLIST,
    NODE_PACKED, NODE_PLAIN, SET, SET_INTSET, SET_LISTPACK, SORTED_SET, SORTED_SET_LISTPACK, SORTED_SET_TEXT,
    SORTED_SET_ZIPLIST, STREAM, STREAM_2, STREAM_3, STRING,
};
use super::input::{Bytes, Input};
use super::streams::decode_stream;
use super::{RdbError, RdbErrorKind, intset, listpack, ziplist, zipmap};
use crate::resp::parse_double;
use crate::value::{CompactLimits, End, Hash, List, Set, SortedSet, StringValue, Value};
use std::borrow::Cow;

/// Reads a value of a type; `None` for a collection without elements, which Redis skips.
pub(super) fn decode(
    code: u8,
    input: &mut Input<'_>,
    limits: &CompactLimits,
) -> Result<Option<Value>, RdbError> {
    match code {
        STRING => match input.integer()? {
            Some(number) => Ok(Some(Value::String(StringValue::Integer(number)))),
            None => Ok(Some(Value::String(StringValue::new(&input.string()?)))),
        },
        LIST | LIST_ZIPLIST | LIST_QUICKLIST | LIST_QUICKLIST_2 => decode_list(code, input, limits),
        SET | SET_INTSET | SET_LISTPACK => decode_set(code, input, limits),
        HASH | HASH_ZIPMAP | HASH_ZIPLIST | HASH_LISTPACK => decode_hash(code, input, limits),
        SORTED_SET | SORTED_SET_TEXT | SORTED_SET_ZIPLIST | SORTED_SET_LISTPACK => {
            decode_sorted_set(code, input, limits)
        }
        STREAM | STREAM_2 | STREAM_3 => {
            decode_stream(code, input).map(|stream| Some(Value::Stream(Box::new(stream))))
        }
        _ => Err(RdbError::new(input.offset(), RdbErrorKind::UnknownType(code))),
    }
}

/// Reads a string, and calls `read` with what is inside of it. Errors are in the string, or at its
/// end if it is compressed: then it may have more bytes than the file.
fn inside<T>(
    input: &mut Input<'_>,
    read: impl FnOnce(Input<'_>) -> Result<T, RdbError>,
) -> Result<T, RdbError> {
    let string = input.string()?;
    let end = input.offset();
    let start = end.saturating_sub(string.len() as u64);
    read(Input::new(&string, start)).map_err(|error| RdbError::new(error.offset.min(end), error.kind))
}

fn decode_list(code: u8, input: &mut Input<'_>, limits: &CompactLimits) -> Result<Option<Value>, RdbError> {
    let mut list = List::new();
    let mut push = |element: Cow<'_, [u8]>| {
        list.push(End::Right, &element, limits);
        Ok(())
    };
    if code == LIST_ZIPLIST {
        inside(input, |input| ziplist::read(input, push))?;
    } else {
        for _ in 0..input.length()? {
            let node = if code == LIST_QUICKLIST_2 { input.length()? } else { NODE_PACKED };
            match (code, node) {
                (LIST, _) | (_, NODE_PLAIN) => push(input.string()?)?,
                (LIST_QUICKLIST, _) => drop(inside(input, |input| ziplist::read(input, &mut push))?),
                (_, NODE_PACKED) => drop(inside(input, |input| listpack::read(input, &mut push))?),
                _ => return Err(input.malformed("a node of a list is of an unknown kind")),
            }
        }
    }
    Ok((!list.is_empty()).then(|| Value::List(Box::new(list))))
}

fn decode_set(code: u8, input: &mut Input<'_>, limits: &CompactLimits) -> Result<Option<Value>, RdbError> {
    let offset = input.offset();
    let mut set: Option<Set> = None;
    let mut size = 0;
    let mut insert = |member: Cow<'_, [u8]>, size: usize| {
        let set = set.get_or_insert_with(|| Set::new(&member, size, limits));
        match set.insert(&member, limits) {
            true => Ok(()),
            false => Err(RdbError::malformed(offset, "a set has a member twice")),
        }
    };
    match code {
        SET_INTSET => inside(input, |input| intset::read(input, |member| insert(member, size)))?,
        SET_LISTPACK => {
            inside(input, |input| listpack::read(input, |member| insert(member, size)))?;
        }
        _ => {
            let length = input.length()?;
            size = usize::try_from(length).unwrap_or(usize::MAX);
            for _ in 0..length {
                insert(input.string()?, size)?;
            }
        }
    }
    Ok(set.map(|set| Value::Set(Box::new(set))))
}

/// Makes a function of entries that come one by one into one of pairs. It takes the first entry of
/// a pair, and then the second one.
struct Pairs<'a, F> {
    first: Option<Cow<'a, [u8]>>,
    visit: F,
}

impl<'a, F: FnMut(&[u8], &[u8]) -> Result<(), RdbError>> Pairs<'a, F> {
    fn new(visit: F) -> Self {
        Self { first: None, visit }
    }

    fn take(&mut self, entry: Cow<'a, [u8]>) -> Result<(), RdbError> {
        match self.first.take() {
            Some(first) => (self.visit)(&first, &entry),
            None => {
                self.first = Some(entry);
                Ok(())
            }
        }
    }

    fn finish(self, offset: u64) -> Result<(), RdbError> {
        match self.first {
            None => Ok(()),
            Some(_) => Err(RdbError::malformed(offset, "a sequence of pairs ends after half of one")),
        }
    }
}

/// Reads pairs in a ziplist or a listpack.
fn packed_pairs(
    input: &mut Input<'_>,
    is_ziplist: bool,
    visit: impl FnMut(&[u8], &[u8]) -> Result<(), RdbError>,
) -> Result<(), RdbError> {
    inside(input, |input| {
        let offset = input.offset();
        let mut pairs = Pairs::new(visit);
        match is_ziplist {
            true => ziplist::read(input, |entry| pairs.take(entry))?,
            false => listpack::read(input, |entry| pairs.take(entry))?,
        };
        pairs.finish(offset)
    })
}

fn decode_hash(code: u8, input: &mut Input<'_>, limits: &CompactLimits) -> Result<Option<Value>, RdbError> {
    let offset = input.offset();
    let mut hash = Hash::new();
    let mut set = |field: &[u8], value: &[u8]| match hash.set(field, value, limits) {
        true => Ok(()),
        false => Err(RdbError::malformed(offset, "a hash has a field twice")),
    };
    match code {
        HASH_ZIPMAP => inside(input, |input| zipmap::read(input, set))?,
        HASH_ZIPLIST | HASH_LISTPACK => packed_pairs(input, code == HASH_ZIPLIST, set)?,
        _ => {
            for _ in 0..input.length()? {
                set(&input.string()?, &input.string()?)?;
            }
        }
    }
    Ok((!hash.is_empty()).then(|| Value::Hash(Box::new(hash))))
}

fn decode_sorted_set(
    code: u8,
    input: &mut Input<'_>,
    limits: &CompactLimits,
) -> Result<Option<Value>, RdbError> {
    let offset = input.offset();
    let mut set = SortedSet::new();
    let mut insert = |member: &[u8], score: Option<f64>| {
        let score = score.filter(|score| !score.is_nan());
        let score = score.ok_or_else(|| RdbError::malformed(offset, "a score is not a number"))?;
        match set.insert(member, score, limits) {
            None => Ok(()),
            Some(_) => Err(RdbError::malformed(offset, "a sorted set has a member twice")),
        }
    };
    if matches!(code, SORTED_SET_ZIPLIST | SORTED_SET_LISTPACK) {
        packed_pairs(input, code == SORTED_SET_ZIPLIST, |member, score| insert(member, parse_double(score)))?;
    } else {
        for _ in 0..input.length()? {
            let member = input.string()?;
            let score = match code {
                SORTED_SET => Some(f64::from_le_bytes(input.array()?)),
                _ => decode_text_score(input)?,
            };
            insert(&member, score)?;
        }
    }
    Ok((!set.is_empty()).then(|| Value::SortedSet(Box::new(set))))
}

/// The lengths that stand for scores of their own: no number, and the infinite ones.
pub(super) const NO_NUMBER: u8 = 253;
const INFINITE: u8 = 254;
const NEGATIVE_INFINITE: u8 = 255;

/// Reads a score as text; `None` if it is none.
fn decode_text_score(input: &mut Input<'_>) -> Result<Option<f64>, RdbError> {
    Ok(match input.byte()? {
        NO_NUMBER => None,
        INFINITE => Some(f64::INFINITY),
        NEGATIVE_INFINITE => Some(f64::NEG_INFINITY),
        length => parse_double(input.take(length.into())?),
    })
}
