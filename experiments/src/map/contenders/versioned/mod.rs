//! The table of this runtime: an array of versioned buckets, read in place beside writers.
//!
//! It locks nothing and prefetches nothing: tasks name the bucket that they access, and the runtime
//! does both. How the operations become tasks is up to each contender.
//!
//! | file | what it holds |
//! |---|---|
//! | `table` | the table of a turn, and the runtime that it belongs to |
//! | `lanes` | dividing the keys of a turn among workers, and collecting the results |
//! | `walks` | a contender: a bundle of walks for each worker |
//! | `visits` | a contender: a task for each operation |

mod lanes;
mod table;
pub(super) mod visits;
pub(super) mod walks;
