//! A class refuses an isolation that is looser than it can bear, and one that its views do not
//! keep. Only the isolations below without a condition are accepted.
//!
//! refused plain_shared_reads: error[E0277]: the trait bound `xtasking::primitive::SharedReads:
//!     AllowsIsolation<Plain<u64>>` is not satisfied
//! refused plain_optimistic_reads: error[E0277]: the trait bound
//!     `xtasking::primitive::OptimisticReads: AllowsIsolation<Plain<u64>>` is not satisfied
//! refused shared_optimistic_reads: error[E0277]: the trait bound
//!     `xtasking::primitive::OptimisticReads: AllowsIsolation<Shared<u64>>` is not satisfied
//! refused snapshot_exclusive: error[E0277]: the trait bound `xtasking::primitive::Exclusive:
//!     AllowsIsolation<Snapshot<u64>>` is not satisfied
//! refused snapshot_shared_reads: error[E0277]: the trait bound `xtasking::primitive::SharedReads:
//!     AllowsIsolation<Snapshot<u64>>` is not satisfied
//! refused versioned_exclusive: error[E0277]: the trait bound `xtasking::primitive::Exclusive:
//!     AllowsIsolation<Versioned<Node>>` is not satisfied
//! refused versioned_shared_reads: error[E0277]: the trait bound `xtasking::primitive::SharedReads:
//!     AllowsIsolation<Versioned<Node>>` is not satisfied

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
