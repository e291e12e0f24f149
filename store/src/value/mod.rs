//! What a key holds.
//!
//! Each type has a file. Commands read a [`ValueRef`] and change a [`Value`]. They take it apart by
//! `as_…`, which fails with the error that Redis gives to a command on a key of another type. Small
//! collections lie in one buffer; larger ones have tables and trees. [`CompactLimits`] says from
//! which size on.
//!
//! | file | contents |
//! |---|---|
//! | `string` | [`StringValue`], [`StringRef`] |
//! | `list`, `hash`, `set`, `sorted_set` | [`List`], [`struct@Hash`], [`Set`], [`SortedSet`] |
//! | `stream` | [`Stream`] |
//! | `view` | [`ValueRef`]: values as they are read |
//! | `extended` | [`Extended`]: floating point as INCRBYFLOAT computes it |
//! | `limits` | [`CompactLimits`]: the sizes up to which they are compact |
//! | `memory` | how much memory values take |
//! | `pieces` | values are freed in pieces |
//! | `listpack` | entries of Redis' listpack |
//! | `packed` | byte strings in one buffer |
//! | `intset` | integers in one buffer |
//! | `table` | hash tables whose entries have indices |
//! | `counted_tree` | sequences with positions in logarithmic time |

mod counted_tree;
mod extended;
mod hash;
mod intset;
mod limits;
mod list;
pub(crate) mod listpack;
mod memory;
mod packed;
mod pieces;
mod set;
mod sorted_set;
mod stream;
mod string;
mod table;
mod view;

#[cfg(test)]
mod tests;

pub use extended::Extended;
pub use hash::Hash;
pub use limits::CompactLimits;
pub use list::{End, List};
pub use listpack::Piece;
pub(crate) use pieces::{LARGE_BYTES, Pieces, Removed, pieces_of_block};
pub use set::Set;
pub use sorted_set::SortedSet;
pub(crate) use sorted_set::order_ranked;
pub use stream::{
    AppendError, Consumer, ConsumerGroup, EntryLog, PendingEntry, Stream, StreamEntry, StreamId, StreamState,
    Trim, TrimBound,
};
pub(crate) use stream::{MAX_STREAM_COUNT, one_more};
pub use string::{StringRef, StringValue};
pub(crate) use table::KeyedHasher;
pub use view::ValueRef;

use crate::command::CommandError;

macro_rules! values {
    ($(
        $(#[$doc:meta])*
        $variant:ident($type:ty), $target:ty, $get_mut:ident, $noun:literal;
    )*) => {
        /// The value of a key.
        #[derive(Clone, Debug)]
        pub enum Value {
            $($(#[$doc])* $variant($type),)*
        }

        impl Value {
            $(
                #[doc = concat!("Returns the ", $noun, ", to be changed.")]
                ///
                /// # Errors
                ///
                /// [`CommandError::WRONG_TYPE`] if it is none.
                pub fn $get_mut(&mut self) -> Result<&mut $target, CommandError> {
                    match self {
                        Self::$variant(value) => Ok(value),
                        _ => Err(CommandError::WRONG_TYPE),
                    }
                }
            )*
        }
    };
}

values! {
    /// Bytes, or a number.
    String(StringValue), StringValue, as_string_mut, "string";
    /// A list of byte strings.
    List(Box<List>), List, as_list_mut, "list";
    /// Fields with values.
    Hash(Box<Hash>), Hash, as_hash_mut, "hash";
    /// A set of members.
    Set(Box<Set>), Set, as_set_mut, "set";
    /// Members in the order of scores.
    SortedSet(Box<SortedSet>), SortedSet, as_sorted_set_mut, "sorted set";
    /// Entries in the order of IDs.
    Stream(Box<Stream>), Stream, as_stream_mut, "stream";
}
