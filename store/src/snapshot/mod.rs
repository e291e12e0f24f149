//! Snapshots: what tasks save of one moment becomes a file.
//!
//! | file | contents |
//! |---|---|
//! | `output` | [`SnapshotOutput`]: where tasks send what they save |
//! | `file` | [`SnapshotFile`]: written by a thread |
//! | `target` | [`SnapshotTarget`]: where it is |
//!
//! `keyspace::versions` says why it is of one moment, and `engine::snapshot` visits the shards.

mod file;
mod output;
mod target;

pub(crate) use file::SnapshotFile;
#[cfg(test)]
pub(crate) use output::Message;
pub(crate) use output::SnapshotOutput;
pub(crate) use target::{SnapshotTarget, sync_names};
