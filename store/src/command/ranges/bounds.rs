//! Between which keys: two bounds as ZRANGEBYLEX has them, or a prefix.

use super::super::sorted_sets::NameEnd;
use super::super::{Call, CommandError};
use crate::keyspace::KeyCut;
use crate::resp::Args;

/// The database has no order, or not yet.
pub(super) const NOT_ORDERED: CommandError =
    CommandError::fixed("ERR the keys of this database are not in order: see the setting ordered-databases");

/// The keys that a command is about.
#[derive(Debug)]
pub(super) struct KeyBounds<'a> {
    from: NameEnd<'a>,
    to: UpperEnd<'a>,
}

#[derive(Debug)]
enum UpperEnd<'a> {
    Bound(NameEnd<'a>),
    /// Before this, which is no longer than a prefix.
    Before(Vec<u8>),
}

impl<'a> KeyBounds<'a> {
    /// Reads the first two arguments.
    pub(super) fn read(args: Args<'a>) -> Result<Self, CommandError> {
        if args.is(1, "prefix") {
            let prefix = args.at(2);
            let to = successor(prefix).map_or(UpperEnd::Bound(NameEnd::Greatest), UpperEnd::Before);
            return Ok(Self { from: NameEnd::Included(prefix), to });
        }
        let (from, to) = NameEnd::parse_both(args.at(1), args.at(2))?;
        Ok(Self { from, to: UpperEnd::Bound(to) })
    }

    /// Returns where the keys begin.
    pub(super) fn from(&self) -> KeyCut<'_> {
        match self.from {
            NameEnd::Least => KeyCut::Start,
            NameEnd::Greatest => KeyCut::End,
            NameEnd::Included(key) => KeyCut::Before(key),
            NameEnd::Excluded(key) => KeyCut::After(key),
        }
    }

    /// Returns where they end.
    pub(super) fn to(&self) -> KeyCut<'_> {
        match &self.to {
            UpperEnd::Bound(NameEnd::Least) => KeyCut::Start,
            UpperEnd::Bound(NameEnd::Greatest) => KeyCut::End,
            UpperEnd::Bound(NameEnd::Included(key)) => KeyCut::After(key),
            UpperEnd::Bound(NameEnd::Excluded(key)) => KeyCut::Before(key),
            UpperEnd::Before(key) => KeyCut::Before(key),
        }
    }
}

/// Returns the first bytes after all that begin with a prefix; `None` if there are none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let at = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut next = prefix[..=at].to_vec();
    next[at] += 1;
    Some(next)
}

/// Makes the order of the database if SWAPDB in the same transaction has brought one that has none
/// to a number whose keys are to be in order: its task holds all shards alone. Orders that CONFIG
/// SET in the transaction demands are made later.
pub(super) fn order_swapped(call: &mut Call<'_, '_>) {
    let is_due = call.effects.are_orders_due() && !call.keys.is_ordered() && !planted!("swapped-unordered");
    if is_due && call.keys.may_write_all() && call.server.settings.ordered_databases()[call.keys.database()] {
        call.keys.make_order();
    }
}

/// Reads the number of an option.
pub(super) fn limit(call: &Call<'_, '_>, at: usize) -> Result<usize, CommandError> {
    if at >= call.args.len() {
        return Err(CommandError::SYNTAX);
    }
    usize::try_from(call.integer_arg(at)?).map_err(|_| CommandError::NOT_POSITIVE)
}
