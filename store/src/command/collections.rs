//! What the commands on lists, hashes, sets and sorted sets have in common.

use super::operands::reversible;
use super::{Block, Call, CommandError, CommandResult, EventClass, NullReply, Outcome, WakeCondition};
use crate::glob;
use crate::resp::{Args, Reply, parse_integer};
use crate::session::Session;
use crate::value::{CompactLimits, KeyedHasher, Value, ValueRef};
use indexmap::IndexSet;

/// Elements that a scan visits if it does not say how many.
const SCAN_COUNT: usize = 10;
/// Elements that may be picked with repetition at once. More would not fit into a reply.
const MAX_REPEATED: usize = 1 << 24;

impl Call<'_, '_> {
    /// Returns the sizes up to which values are compact.
    pub(super) fn limits(&self) -> CompactLimits {
        self.server.settings.value_limits()
    }

    /// Removes named elements of the collection at a key, and writes how many there were. `remove`
    /// returns that number, and whether the collection is empty now.
    pub(super) fn remove_named(
        &mut self,
        class: EventClass,
        event: &'static str,
        remove: impl FnOnce(&mut Value, Args<'_>) -> Result<(usize, bool), CommandError>,
    ) -> CommandResult {
        let (key, names) = (self.args.at(1), self.args.skip(2));
        let Some(value) = self.keys.get_mut(key) else { return self.count(0) };
        let (removed, is_empty) = remove(value, names)?;
        if removed > 0 {
            self.shrunk(class, event, key, is_empty);
        }
        self.count(removed)
    }

    /// Says that elements of a collection were removed, and removes the key if it `is_empty` now.
    pub(super) fn shrunk(&mut self, class: EventClass, event: &'static str, key: &[u8], is_empty: bool) {
        self.changed(class, event, key);
        if is_empty {
            self.keys.delete(key);
            self.changed(EventClass::Generic, "del", key);
        }
    }

    /// Stores a collection that a command has made, and writes its size. If it is empty, the key is
    /// removed instead.
    pub(super) fn store(
        &mut self,
        class: EventClass,
        event: &'static str,
        key: &[u8],
        value: Value,
        len: usize,
    ) -> CommandResult {
        if len > 0 {
            self.keys.put(key, value);
            self.changed(class, event, key);
        } else if self.keys.delete(key) {
            self.changed(EventClass::Generic, "del", key);
        }
        self.count(len)
    }
}

/// Returns the first of the keys that there is, and what `len` says of its value, which may fail
/// for another type. A command that has waited looks only at the key that is ready; another type
/// does not end its wait.
pub(super) fn first_of<'a>(
    call: &Call<'_, '_>,
    keys: Args<'a>,
    len: impl Fn(ValueRef<'_>) -> Result<usize, CommandError>,
) -> Result<Option<(&'a [u8], usize)>, CommandError> {
    for key in keys.iter().filter(|key| call.ready.is_none_or(|ready| ready == *key)) {
        match call.keys.get(key).map(&len) {
            Some(Ok(len)) => return Ok(Some((key, len))),
            Some(Err(error)) if call.ready.is_none() => return Err(error),
            _ => {}
        }
    }
    Ok(None)
}

/// Waits for something at one of the keys.
pub(super) fn wait(keys: Args<'_>, condition: WakeCondition, deadline: Option<u64>) -> Outcome {
    Outcome::Block(Block {
        keys: keys.iter().map(Into::into).collect(),
        others: Vec::new(),
        deadline,
        null: NullReply::Array,
        heeds_removal: false,
        condition,
    })
}

/// Reads a cursor as C's `strtoul` does: nothing is 0, a sign is allowed, and a negative number
/// wraps.
pub(super) fn parse_cursor(text: &[u8]) -> Result<u64, CommandError> {
    if text.is_empty() {
        return Ok(0);
    }
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(digits).ok().filter(|_| is_number);
    let number: u64 = number.and_then(|text| text.parse().ok()).ok_or(CommandError::INVALID_CURSOR)?;
    Ok(if is_negative { number.wrapping_neg() } else { number })
}

/// Where a scan goes on, how far, and what it returns.
pub(super) struct Scan<'a> {
    pub(super) cursor: u64,
    pub(super) count: usize,
    pattern: Option<&'a [u8]>,
}

impl<'a> Scan<'a> {
    /// Begins the reply to a scan, and reads the options after its cursor. Without a collection it
    /// completes the reply, and returns nothing.
    pub(super) fn begin<C>(
        cursor: u64,
        collection: Option<C>,
        args: Args<'a>,
        reply: &mut Reply,
    ) -> Result<Option<(C, Self)>, CommandError> {
        reply.array(2);
        let Some(collection) = collection else {
            reply.bulk_integer(0);
            reply.array(0);
            return Ok(None);
        };
        Ok(Some((collection, Self::parse(cursor, args.skip(3))?)))
    }

    /// Reads the options after the cursor.
    fn parse(cursor: u64, mut options: Args<'a>) -> Result<Self, CommandError> {
        let mut scan = Self { cursor, count: SCAN_COUNT, pattern: None };
        while !options.is_empty() {
            let value = options.get(1).ok_or(CommandError::SYNTAX)?;
            if options.is(0, "count") {
                let count = parse_integer(value).ok_or(CommandError::NOT_AN_INTEGER)?;
                scan.count =
                    usize::try_from(count).ok().filter(|&count| count > 0).ok_or(CommandError::SYNTAX)?;
            } else if options.is(0, "match") {
                scan.pattern = Some(value).filter(|&pattern| pattern != b"*");
            } else {
                return Err(CommandError::SYNTAX);
            }
            options = options.skip(2);
        }
        Ok(scan)
    }

    /// Returns true if the scan returns what has this name.
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, name))
    }
}

/// How many elements are picked at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Picks {
    /// This number of different ones, or all if there are fewer.
    Distinct(usize),
    /// This number, each drawn from all.
    Repeated(usize),
}

impl Picks {
    /// Reads a count; a negative one is with repetition.
    pub(super) fn parse(arg: &[u8]) -> Result<Self, CommandError> {
        let count = reversible(arg)?;
        let size = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        match count {
            0.. => Ok(Self::Distinct(size)),
            _ if size > MAX_REPEATED => Err(CommandError::fixed("ERR value is out of range")),
            _ => Ok(Self::Repeated(size)),
        }
    }

    /// Reads a count and the word that asks for what belongs to each element.
    pub(super) fn parse_with(args: Args<'_>, word: &str) -> Result<(Self, bool), CommandError> {
        let picks = Self::parse(args.at(2))?;
        match args.len() {
            3 => Ok((picks, false)),
            4 if args.is(3, word) => match picks {
                Self::Distinct(count) if count > i64::MAX as usize / 2 => {
                    Err(CommandError::fixed("ERR value is out of range"))
                }
                _ => Ok((picks, true)),
            },
            _ => Err(CommandError::SYNTAX),
        }
    }

    /// Returns random indices below `len`, which is not zero.
    pub(super) fn indices(self, session: &mut Session, len: usize) -> Vec<usize> {
        match self {
            Self::Repeated(count) => (0..count).map(|_| random_index(session, len)).collect(),
            Self::Distinct(count) if count >= len => (0..len).collect(),
            Self::Distinct(count) if count > len / 3 => {
                let mut all: Vec<_> = (0..len).collect();
                for at in 0..count {
                    all.swap(at, at + random_index(session, len - at));
                }
                all.truncate(count);
                all
            }
            // Floyd's algorithm: each round adds one, the number itself if the random one is there.
            Self::Distinct(count) => {
                let mut chosen = IndexSet::with_capacity_and_hasher(count, KeyedHasher);
                for end in len - count..len {
                    let index = random_index(session, end + 1);
                    if !chosen.insert(index) && !planted!("collision-dropped") {
                        chosen.insert(end);
                    }
                }
                chosen.into_iter().collect()
            }
        }
    }
}

/// Returns the elements at indices, by `get`. If there are as many indices as elements, all are
/// collected first: a compact value walks to each index.
pub(super) fn at_indices<T: Clone>(
    indices: &[usize],
    len: usize,
    all: impl Iterator<Item = T>,
    get: impl Fn(usize) -> Option<T>,
) -> impl Iterator<Item = T> {
    let all: Option<Vec<T>> = (indices.len() >= len).then(|| all.collect());
    indices.iter().filter_map(move |&index| match &all {
        Some(all) => all.get(index).cloned(),
        None => get(index),
    })
}

/// Returns a random index below `len`, which is not zero.
pub(super) fn random_index(session: &mut Session, len: usize) -> usize {
    // The high half of the product: uniform but for 1 in 2^64 / len.
    ((u128::from(session.random()) * len as u128) >> 64) as usize
}
