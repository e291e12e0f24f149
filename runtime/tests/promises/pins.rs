//! A primitive that does not provide a class's isolation cannot be pinned. Only the primitives
//! below without a condition can.
//!
//! refused plain_reader_writer_latch: error[E0277]: `xtasking::primitive::ReaderWriterLatch` cannot
//!     be the primitive of an object of class `Plain<u64>`
//! says plain_reader_writer_latch: `Plain` objects take `Sequencing` and `SpinLatch`
//! refused plain_optimistic_sequenced: error[E0277]: `xtasking::primitive::OptimisticSequenced`
//!     cannot be the primitive of an object of class `Plain<u64>`
//! refused plain_optimistic_latched: error[E0277]: `xtasking::primitive::OptimisticLatched` cannot
//!     be the primitive of an object of class `Plain<u64>`
//! refused shared_optimistic_sequenced: error[E0277]: `xtasking::primitive::OptimisticSequenced`
//!     cannot be the primitive of an object of class `Shared<u64>`
//! refused shared_optimistic_latched: error[E0277]: `xtasking::primitive::OptimisticLatched` cannot
//!     be the primitive of an object of class `Shared<u64>`
//! refused snapshot_sequencing: error[E0277]: `xtasking::primitive::Sequencing` cannot be the
//!     primitive of an object of class `Snapshot<u64>`
//! refused snapshot_spin_latch: error[E0277]: `xtasking::primitive::SpinLatch` cannot be the
//!     primitive of an object of class `Snapshot<u64>`
//! refused snapshot_reader_writer_latch: error[E0277]: `xtasking::primitive::ReaderWriterLatch`
//!     cannot be the primitive of an object of class `Snapshot<u64>`

use xtasking::primitive::{
    OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch,
};
use xtasking::{Runtime, Version, Word};

struct Node(Word);
impl Version for Node {}

fn main() {
    let rt = Runtime::new().unwrap();
    #[cfg(refused = "plain_reader_writer_latch")]
    let _object = rt.plain(1u64).pin(ReaderWriterLatch).build();
    #[cfg(refused = "plain_optimistic_sequenced")]
    let _object = rt.plain(1u64).pin(OptimisticSequenced).build();
    #[cfg(refused = "plain_optimistic_latched")]
    let _object = rt.plain(1u64).pin(OptimisticLatched).build();
    let _object = rt.plain(1u64).pin(Sequencing).build();
    let _object = rt.plain(1u64).pin(SpinLatch).build();

    #[cfg(refused = "shared_optimistic_sequenced")]
    let _object = rt.shared_reads(1u64).pin(OptimisticSequenced).build();
    #[cfg(refused = "shared_optimistic_latched")]
    let _object = rt.shared_reads(1u64).pin(OptimisticLatched).build();
    let _object = rt.shared_reads(1u64).pin(Sequencing).build();
    let _object = rt.shared_reads(1u64).pin(SpinLatch).build();
    let _object = rt.shared_reads(1u64).pin(ReaderWriterLatch).build();

    #[cfg(refused = "snapshot_sequencing")]
    let _object = rt.snapshot(1u64).pin(Sequencing).build();
    #[cfg(refused = "snapshot_spin_latch")]
    let _object = rt.snapshot(1u64).pin(SpinLatch).build();
    #[cfg(refused = "snapshot_reader_writer_latch")]
    let _object = rt.snapshot(1u64).pin(ReaderWriterLatch).build();
    let _object = rt.snapshot(1u64).pin(OptimisticSequenced).build();
    let _object = rt.snapshot(1u64).pin(OptimisticLatched).build();

    let _object = rt.versioned(Node(Word::new(1))).pin(Sequencing).build();
    let _object = rt.versioned(Node(Word::new(1))).pin(SpinLatch).build();
    let _object = rt.versioned(Node(Word::new(1))).pin(ReaderWriterLatch).build();
    let _object = rt.versioned(Node(Word::new(1))).pin(OptimisticSequenced).build();
    let _object = rt.versioned(Node(Word::new(1))).pin(OptimisticLatched).build();
}
