//! Commands on sorted sets.
//!
//! | file | contents |
//! |---|---|
//! | `table` | their entries in the table of commands |
//! | `add` | ZADD with its options, and ZINCRBY |
//! | `members` | of members that are named, or chosen at random, or of all |
//! | `span` | [`Span`](span::Span): an interval of ranks, scores or names |
//! | `range` | of the members of a span |
//! | `pop` | pops, of one key and of several, that wait or do not |
//! | `algebra` | of several sets: union, intersection, difference |

mod add;
mod algebra;
mod members;
mod pop;
mod range;
mod span;
mod table;

pub(super) use add::{AddOptions, add_members};
pub(super) use table::COMMANDS;

pub(super) use span::NameEnd;

use super::{Call, CommandError};
use crate::resp::{Protocol, Reply};
use crate::value::{SortedSet, ValueRef};

/// Returns the sorted set of a key to be read, if there is such a key.
fn read<'a>(call: &'a Call<'_, '_>, key: &[u8]) -> Result<Option<&'a SortedSet>, CommandError> {
    call.keys.get(key).map(ValueRef::as_sorted_set).transpose()
}

/// Writes members, with their scores if these are asked for: pairs in RESP3, one after the other in
/// RESP2.
fn write_members<'s>(
    reply: &mut Reply,
    members: impl ExactSizeIterator<Item = (&'s [u8], f64)>,
    has_scores: bool,
) {
    let is_nested = has_scores && reply.protocol() == Protocol::Three;
    let is_flat = has_scores && !is_nested;
    reply.array(members.len() * if is_flat { 2 } else { 1 });
    for (member, score) in members {
        if is_nested {
            reply.array(2);
        }
        reply.bulk(member);
        if has_scores {
            reply.double(score);
        }
    }
}
