//! Objects: the data that tasks are annotated with.

mod arena;
mod builder;
mod class;
mod header;
mod link;
mod owned;
mod primitive;
mod realm;
mod reference;
mod word;

pub use arena::{Arena, ArenaStats, Reserved};
pub use builder::ObjectBuilder;
pub use class::{Class, Plain, Shared, Snapshot, Version, Versioned};
pub use link::{Link, LinkCell};
pub use owned::Object;
pub use primitive::{
    Exclusive, Isolation, IsolationFor, LegalFor, OptimisticLatched, OptimisticReads, OptimisticSequenced,
    Primitive, ReaderWriterLatch, Sequencing, SharedReads, SpinLatch,
};
pub use word::{Word, WriteToken};

pub(crate) use header::{AtRest, Header, Turn};
pub(crate) use realm::Realm;
pub(crate) use reference::{Cell, Fetch, MAX_HOMES, Reference, prefetch};
