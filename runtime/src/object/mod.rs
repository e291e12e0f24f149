//! Objects: the data that tasks are annotated with.
//!
//! | file | what is in it |
//! |---|---|
//! | `arena` | bulk memory for the nodes of a data structure |
//! | `array/` | objects side by side, found by their index |
//! | `builder` | the builder of an object, with its annotations |
//! | `class` | the kinds of data, and what tasks may do with each |
//! | `compaction` | moving nodes out of memory that holds few of them |
//! | `field` | typed cells of a versioned object, and what may be beside them |
//! | `header` | the header before every value: latch word and waiting tasks |
//! | `keeper` | keeping an object alive for tasks that go on after their operation |
//! | `link` | links between nodes, and cells that publish them |
//! | `names` | names of objects, for reports |
//! | `owned` | handles of an object |
//! | `primitive` | the synchronization primitives, and the choice among them |
//! | `remains` | what arenas and arrays leave, and when it is freed |
//! | `runtime_tag` | runtime tags, by which an object knows its runtime |
//! | `reference` | one word that names an object, and prefetching |
//! | `word` | the words of a versioned object |
//!
//! # Publication of a version
//!
//! An optimistic reader runs beside writers. It reads the version, the words and the version again,
//! and accepts the words only if the version has not changed. Words are read and written with
//! Relaxed atomics. The stores and fences that make this work, in the writer's order
//! (`sync/latch.rs`):
//!
//! 1. *Odd version.* `begin_write` stores the odd version (Relaxed).
//! 2. *Release fence* of `begin_write`, before the first word is stored. It pairs with 5.
//! 3. *Words.* The writer stores them (Relaxed).
//! 4. *Even version.* `end_write` stores the next even version (Release). It pairs with the Acquire
//!    load of `begin_read`: a reader of this version sees all words of 3, and all that happened
//!    before.
//! 5. *Acquire fence* of `validate`, after the last word was read. A reader that has read any word
//!    of 3 now sees 1 or a later version, and rejects what it has read.
//!
//! Without the fences of 2 and 5:
//!
//! ```text
//! reader: begin_read returns version 4
//! writer: stores word A of version 6 before the odd version 5 is visible
//! reader: reads the new A and the old B, validates against 4   -> accepts a torn pair
//! ```
//!
//! Without the Release in 4:
//!
//! ```text
//! writer: stores A and B, and version 6 becomes visible before B
//! reader: begin_read returns version 6
//! reader: reads the new A and the old B, validates against 6   -> accepts a torn pair
//! ```
//!
//! Writers exclude each other: by running at the object's home, or by `lock` on the same word. A
//! reader that gives up on optimism takes the same `lock`, and leaves by `unlock` without a new
//! version. A [`LinkCell`] publishes a link by a Release store, and `get` reads it with Acquire.
//! Models: `model/version.rs`.

mod arena;
mod array;
mod builder;
mod class;
mod compaction;
mod field;
mod header;
mod keeper;
mod link;
mod names;
mod owned;
mod primitive;
mod reference;
mod remains;
mod runtime_tag;
mod word;

pub use arena::{Arena, ArenaStats, Reserved};
pub use array::{Array, ArrayBuilder, Grower, Links};
pub use builder::ObjectBuilder;
pub use class::{Class, Plain, Shared, Snapshot, SnapshotData, Version, Versioned, WrittenInPlace};
pub use compaction::Compaction;
pub use field::{AsWord, Field, OptionalLink, VersionField};
pub use keeper::Keeper;
pub use link::{Link, LinkCell};
pub use owned::Object;
pub use primitive::{
    AllowsIsolation, Exclusive, Isolation, LegalFor, OptimisticLatched, OptimisticReads, OptimisticSequenced,
    Primitive, ReaderWriterLatch, Sequencing, SharedReads, SpinLatch,
};
pub use word::{Word, WriteToken};

pub(crate) use header::{FreeWord, Header, Turn};
pub(crate) use names::ObjectNames;
pub(crate) use owned::limit_of;
pub(crate) use reference::{Cell, Fetch, MAX_HOMES, Reference, prefetch, prefetch_part};
#[cfg(all(test, model = "loom"))]
pub(crate) use remains::{Remains, Then};
pub(crate) use runtime_tag::RuntimeTag;
