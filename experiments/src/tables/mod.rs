//! Hash tables and their memory, which several experiments share.
//!
//! | file | what it holds |
//! |---|---|
//! | `hashing` | the hash function, and the places of a table |
//! | `memory` | memory on huge pages, and prefetching |
//! | `bucket_search` | the search in one bucket, for all tables of buckets |
//! | `bucket` | a bucket with a version |
//! | `versioned` | tables of such buckets in a runtime |
//! | `walks` | walks that look up and insert keys there |

mod bucket;
pub(crate) mod bucket_search;
pub(crate) mod hashing;
#[allow(unsafe_code, reason = "advice about pages, zeroed memory and prefetch instructions")]
pub(crate) mod memory;
#[allow(unsafe_code, reason = "promises the runtime when the buckets are unused")]
pub(crate) mod versioned;
pub(crate) mod walks;

pub(crate) use bucket::Bucket;
