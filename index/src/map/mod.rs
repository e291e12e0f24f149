//! The hash map: an array of buckets that grows while it is used.
//!
//! # Buckets
//!
//! A bucket is an object of one cache line: a header and three entries. A key's [hash](hash::Mixer)
//! is a bijection of it, and is stored in its place. The number of buckets is the length of the
//! array. There are 64 at least, so the bucket's index implies the lowest six bits of its hashes,
//! whose place serves to tell entries from what is none: each key is legal, and removal leaves no
//! tombstones.
//!
//! A full bucket gives its third place to a link. The chain that it leads to is immutable: a change
//! makes new nodes while the bucket is held for writing, and retires the old ones. So a reader that
//! has read the link at a validated version sees a chain of one moment. The rest of the third place
//! is a filter, which most searches for other keys do not pass.
//!
//! # Growth
//!
//! The map grows by linear hashing. The next bucket to be added, number `n`, takes its entries from
//! bucket `n - 2^k`, where `2^k` is the highest power of two below or at `n`. The task that holds
//! this bucket for writing makes the new one, appends it to the array, and then removes the entries
//! that have moved. So the length that a reader loads while it reads a bucket, at one version of
//! it, tells which keys belong there: a key that is not found in its bucket of that length does not
//! exist. Otherwise the reader goes on to its bucket of that length.
//!
//! The map has no counter of entries, on which all workers would have to agree. Instead it counts a
//! sample: the entries whose hashes begin with some zeros ([`growth`]).
//!
//! | file | contents |
//! |---|---|
//! | `handle` | the handle of a map, with its operations: [`HashMap`] |
//! | `client` | access from plain threads: [`MapClient`] |
//! | `root` | what all operations of a map share |
//! | `hash` | hashes of keys, and the bucket of a hash |
//! | `bucket` | buckets, and the search in one |
//! | `chain` | the entries of a bucket and of its chain, as a writer sees them |
//! | `lookup` | looking up a key |
//! | `change` | changing an entry of a bucket |
//! | `write` | changing an entry by a task |
//! | `many` | many lookups or changes at once |
//! | `scan` | reading all entries |
//! | `growth` | when the map grows, and the task that splits buckets |
//! | `split` | splitting one bucket |

mod bucket;
mod chain;
mod change;
mod client;
mod growth;
mod handle;
mod hash;
mod lookup;
mod many;
mod root;
mod scan;
mod split;
mod write;

pub use client::{MapClient, MapIter};
pub use handle::{HashMap, MapMemory};
pub use scan::{ScanPosition, ScanResult};
