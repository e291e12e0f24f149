//! A looser isolation than a class can bear cannot be asked for, nor one that its views do not keep: only those below
//! without a condition can.
//!
//! refused plain_shared_reads: error[E0277]: the trait bound `xtasking::SharedReads: IsolationFor<Plain<u64>>` is not satisfied
//! refused plain_optimistic_reads: error[E0277]: the trait bound `xtasking::OptimisticReads: IsolationFor<Plain<u64>>` is not satisfied
//! refused shared_optimistic_reads: error[E0277]: the trait bound `xtasking::OptimisticReads: IsolationFor<Shared<u64>>` is not satisfied
//! refused snapshot_exclusive: error[E0277]: the trait bound `xtasking::Exclusive: IsolationFor<Snapshot<u64>>` is not satisfied
//! refused snapshot_shared_reads: error[E0277]: the trait bound `xtasking::SharedReads: IsolationFor<Snapshot<u64>>` is not satisfied
//! refused versioned_exclusive: error[E0277]: the trait bound `xtasking::Exclusive: IsolationFor<Versioned<Node>>` is not satisfied
//! refused versioned_shared_reads: error[E0277]: the trait bound `xtasking::SharedReads: IsolationFor<Versioned<Node>>` is not satisfied

use xtasking::{Exclusive, OptimisticReads, Runtime, SharedReads, Version, Word};

struct Node(Word);
// SAFETY: what changes is a word.
unsafe impl Version for Node {}

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
