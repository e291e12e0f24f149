//! A class refuses an isolation that is looser than it can bear, and one that its views do not
//! keep. Only the isolations below without a condition are accepted.
//!
//! refused plain_shared_reads: error[E0277]: `xtasking::primitive::SharedReads` is no isolation of
//!     objects of class `Plain<u64>`
//! says plain_shared_reads: `Plain` objects are `Exclusive`; `Shared` ones are `SharedReads`
//! refused plain_optimistic_reads: error[E0277]: `xtasking::primitive::OptimisticReads` is no
//!     isolation of objects of class `Plain<u64>`
//! refused shared_optimistic_reads: error[E0277]: `xtasking::primitive::OptimisticReads` is no
//!     isolation of objects of class `Shared<u64>`
//! refused snapshot_exclusive: error[E0277]: `xtasking::primitive::Exclusive` is no isolation of
//!     objects of class `Snapshot<u64>`
//! refused snapshot_shared_reads: error[E0277]: `xtasking::primitive::SharedReads` is no isolation
//!     of objects of class `Snapshot<u64>`
//! refused versioned_exclusive: error[E0277]: `xtasking::primitive::Exclusive` is no isolation of
//!     objects of class `Versioned<Node>`
//! refused versioned_shared_reads: error[E0277]: `xtasking::primitive::SharedReads` is no isolation
//!     of objects of class `Versioned<Node>`

use xtasking::{Runtime, Version, Word, primitive::{Exclusive, OptimisticReads, SharedReads}};

struct Node(Word);
impl Version for Node {}

fn main() {
    let rt = Runtime::new().unwrap();
    #[cfg(refused = "plain_shared_reads")]
    let _object = rt.plain(1u64).isolation(SharedReads).build();
    #[cfg(refused = "plain_optimistic_reads")]
    let _object = rt.plain(1u64).isolation(OptimisticReads).build();
    let _object = rt.plain(1u64).isolation(Exclusive).build();

    #[cfg(refused = "shared_optimistic_reads")]
    let _object = rt.shared_reads(1u64).isolation(OptimisticReads).build();
    let _object = rt.shared_reads(1u64).isolation(Exclusive).build();
    let _object = rt.shared_reads(1u64).isolation(SharedReads).build();

    #[cfg(refused = "snapshot_exclusive")]
    let _object = rt.snapshot(1u64).isolation(Exclusive).build();
    #[cfg(refused = "snapshot_shared_reads")]
    let _object = rt.snapshot(1u64).isolation(SharedReads).build();
    let _object = rt.snapshot(1u64).isolation(OptimisticReads).build();

    #[cfg(refused = "versioned_exclusive")]
    let _object = rt.versioned(Node(Word::new(1))).isolation(Exclusive).build();
    #[cfg(refused = "versioned_shared_reads")]
    let _object = rt.versioned(Node(Word::new(1))).isolation(SharedReads).build();
    let _object = rt.versioned(Node(Word::new(1))).isolation(OptimisticReads).build();
}
