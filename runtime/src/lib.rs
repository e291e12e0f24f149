//! XTasking: a runtime for tasks that name the data they touch.
//!
//! rayon divides work, and tokio waits for input. XTasking runs many small tasks on shared data:
//! each says which object it accesses, reading or writing, where and how urgently. From that the
//! runtime keeps conflicting tasks apart, prefetches what they will touch, places them, and frees
//! what no task can reach. Application code takes no lock and pins no thread. A body runs to
//! completion and must not block. (The idea is that of MxTasks: "How to Make Efficient
//! Synchronization and Prefetching Easy", SIGMOD 2021.)
//!
//! - A [`Runtime`] has a worker for each core. It spawns tasks for threads outside, and a
//!   [`Context`] does so inside a task.
//! - An [`Object`] is data that tasks name. Its class ([`Plain`], [`Shared`], [`Snapshot`],
//!   [`Versioned`]) says what the data is, and which accesses may overlap.
//! - A *task* is a closure with its accesses and annotations, described by a [`TaskBuilder`]. It
//!   gets its objects when it runs.
//! - A [`Handle`] waits for the result of one task, a [`Group`] for any number of tasks.
//!
//! ```
//! use xtasking::{Priority, Runtime};
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let (a, b) = (rt.plain(100i64).build(), rt.plain(0i64).build());
//!
//! // A transfer accesses two accounts. It gets both at once, and no other task at the same time.
//! let moved = rt
//!     .task((a.write(), b.write()))
//!     .priority(Priority::High)
//!     .submit(|(a, b), _cx| {
//!         *a -= 30;
//!         *b += 30;
//!         *b
//!     });
//! assert_eq!(moved.join()?, 30);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Run tasks on objects
//!
//! [`spawn`](TaskBuilder::spawn) has no handle, [`submit`](TaskBuilder::submit) returns one. Tasks
//! of one spawner and one priority on the same object run in the order of their spawns, if the
//! object is [sequenced](Primitive::Sequencing), as a plain one is by default.
//!
//! ```
//! # let rt = xtasking::Runtime::builder().workers(2).build()?;
//! let counter = rt.plain(0u64).build();
//! for _ in 0..10 {
//!     rt.task(counter.write()).spawn(|count, _cx| *count += 1);
//! }
//! assert_eq!(rt.task(counter.read()).submit(|count, _cx| *count).join()?, 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Continue after many tasks
//!
//! A [`Group`] is over when its members are, with all that they have spawned
//! [as siblings](TaskBuilder::as_sibling). It is waited for, or [continued](Group::then) without
//! blocking a thread.
//!
//! ```
//! # let rt = xtasking::Runtime::builder().workers(2).build()?;
//! let (group, (promise, done)) = (rt.group(), rt.promise());
//! for _ in 0..10 {
//!     rt.task(()).of(&group).spawn(|(), _cx| ());
//! }
//! group.then(&rt, |outcome, _cx| promise.fulfil(outcome.is_ok()));
//! assert!(done.join()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Claim ranges of something large
//!
//! [`Granules`] are the numbered parts of something that is too large for one object. A task
//! [claims](TaskBuilder::claim) ranges of them to read or to write, and cannot deadlock.
//!
//! ```
//! # let rt = xtasking::Runtime::builder().workers(2).build()?;
//! let shelves = rt.granules_of((0..100).map(|_| 0u64));
//! let claim = shelves.write(3..6).and_read(99..100);
//! let task = rt.task(()).claim(claim).submit_with(|(), mut held, _cx| *held.get_mut(5) += 1);
//! task.join()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Divide work
//!
//! [`Fork::join`] runs two closures that may borrow, perhaps at the same time, and waits for both;
//! [`Fork::over`] divides ranges and slices; a [`Scope`] takes any number of pieces.
//!
//! ```
//! # let rt = xtasking::Runtime::builder().workers(2).build()?;
//! let numbers = [1, 2, 3, 4];
//! let (low, high) = numbers.split_at(2);
//! let sum = |half: &[i32]| half.iter().sum::<i32>();
//! let (a, b) = rt.run(|mut cx| cx.join(|_| sum(low), |_| sum(high)))?;
//! assert_eq!(a + b, 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Read beside writers
//!
//! A [`Versioned`] object is read in place while a task may write it: the runtime checks the
//! version, and repeats the read if it has changed. Linked structures of millions of nodes live in
//! an [`Arena`](arena::Arena); walks along their links prefetch the next node.
//!
//! ```
//! use xtasking::{Version, Word};
//! #[derive(Version)]
//! struct Range { low: Word, high: Word }
//! # let rt = xtasking::Runtime::builder().workers(2).build()?;
//! let range = rt.versioned(Range { low: Word::new(1), high: Word::new(8) }).build();
//! let width = |range: &Range| range.high.get().wrapping_sub(range.low.get());
//! let read = rt.task(range.read()).submit_read(width, |width, _cx| width);
//! assert_eq!(read.join()?, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `std` (default) | threads and clocks; without it the program brings a [`platform`] |
//! | `unwind` (in `std`) | catches panics, which needs a target with a standard library |
//! | `derive` (default) | the derive macros `Version` and `AsWord` |
//! | `io` | sockets of the operating system as sources of [`events`] |
//! | `serde` | serialization of [`metrics`]: counters, histograms, statistics |
//! | `hdrhistogram` | histograms of [`metrics`] as those of the crate `hdrhistogram` |
//! | `tracing` | a span for each run of a task, on request |
//! | `baselines` | other admissions for claims, for experiments; exempt from semantic versioning |
//! | `loom`, `shuttle` | nothing alone; this crate's own checks need them, with `--cfg model` |
//!
//! # Types of other crates
//!
//! The interface names traits of `bytemuck` 1, which the data of a [`Snapshot`] must have. With the
//! features of their names it implements those of `serde` 1, and converts to types of
//! `hdrhistogram` 7. With `io` the sockets of `mio` 1 are sources of events. A newer major version
//! of one of them is a breaking change of this crate.
//!
//! # Further
//!
//! The book in the folder `docs` of the repository has a tutorial, guides and results. Its page
//! `explanation/architecture.md` shows the modules of this crate and the life of a task.

#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("xtasking packs object references into 64-bit words with 48-bit addresses");

extern crate alloc;
// For panics alone: nothing else of it is in the prelude.
#[cfg(all(feature = "unwind", not(feature = "std")))]
extern crate std;

/// Compiles the code of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[doc(hidden)]
#[macro_use]
pub mod planted;

mod annotation;
pub mod claims;
pub mod events;
pub mod fork;
pub mod limit;
pub mod managed;
mod memory;
#[cfg(all(test, model = "loom"))]
mod model;
mod monitor;
mod object;
pub mod platform;
mod pool;
mod scheduler;
mod sync;
pub mod task;
pub mod trees;

/// How accesses to an object are isolated: markers for the variants of [`Primitive`] and
/// [`Isolation`].
///
/// | name | use |
/// |---|---|
/// | [`Sequencing`], [`SpinLatch`], [`ReaderWriterLatch`] | [pin] the primitive of an object |
/// | [`OptimisticSequenced`], [`OptimisticLatched`] | pin that of an object with versions |
/// | [`Exclusive`], [`SharedReads`], [`OptimisticReads`] | [declare] which accesses may overlap |
/// | [`Class`] | the class of an object: [`Plain`], [`Shared`], [`Snapshot`] or [`Versioned`] |
/// | [`SnapshotData`] | the data of a [`Snapshot`] |
/// | [`WrittenInPlace`] | the classes that a panic may leave half-written |
///
/// [pin]: ObjectBuilder::pin
/// [declare]: ObjectBuilder::isolation
/// [`Sequencing`]: primitive::Sequencing
/// [`SpinLatch`]: primitive::SpinLatch
/// [`ReaderWriterLatch`]: primitive::ReaderWriterLatch
/// [`OptimisticSequenced`]: primitive::OptimisticSequenced
/// [`OptimisticLatched`]: primitive::OptimisticLatched
/// [`Exclusive`]: primitive::Exclusive
/// [`SharedReads`]: primitive::SharedReads
/// [`OptimisticReads`]: primitive::OptimisticReads
/// [`Class`]: primitive::Class
/// [`SnapshotData`]: primitive::SnapshotData
/// [`WrittenInPlace`]: primitive::WrittenInPlace
pub mod primitive {
    pub use crate::object::{
        Class, Exclusive, OptimisticLatched, OptimisticReads, OptimisticSequenced, ReaderWriterLatch,
        Sequencing, SharedReads, SnapshotData, SpinLatch, WrittenInPlace,
    };
}

/// Arenas and arrays of versioned objects, links to them, and tasks that walk along the links.
///
/// An [`Arena`](arena::Arena) allocates nodes, one by one. An [`Array`](arena::Array) has objects
/// side by side, whose links are computed from their index. A [`Link`](arena::Link) names a node,
/// an [`OptionalLink`](arena::OptionalLink) holds one inside a node, and a
/// [`LinkCell`](arena::LinkCell) outside of any. Other values that change are a
/// [`Field`](arena::Field) or [`Word`]. A task walks from node to node
/// ([`Visit`](arena::Visit), [`Step`](arena::Step)) or writes one ([`Modify`](arena::Modify)). A
/// write needs the [`WriteToken`](arena::WriteToken) of its node. A thread walks without a task by
/// a [`Reader`](arena::Reader).
pub mod arena {
    pub use crate::object::{
        Arena, ArenaStats, Array, ArrayBuilder, AsWord, Compaction, Field, Grower, Keeper, Link, LinkCell,
        Links, OptionalLink, Reserved, VersionField, WriteToken,
    };
    pub use crate::task::access::{ReadLink, WriteLink};
    pub use crate::task::grant::Written;
    pub use crate::task::modify::Modify;
    pub use crate::task::node_version::NodeVersion;
    pub use crate::task::reader::Reader;
    pub use crate::task::visit::{Step, Visit};
    #[cfg(feature = "derive")]
    pub use xtasking_derive::AsWord;
}

/// Limits of time: handles that cancel their task, deadlines, and shutdowns with a limit.
///
/// [`Handle::cancel_on_drop`] makes a [`CancelOnDrop`](cancellation::CancelOnDrop),
/// [`Runtime::deadline_in`] a [`Deadline`](cancellation::Deadline). The error of
/// [`Runtime::shutdown_within`] is [`ShutdownTimedOut`](cancellation::ShutdownTimedOut).
pub mod cancellation {
    pub use crate::scheduler::ShutdownTimedOut;
    pub use crate::task::cancel_on_drop::CancelOnDrop;
    pub use crate::task::deadline::Deadline;
}

/// What the runtime measures: counters, statistics, the timeline, and tasks that run too long.
///
/// All of it is off until the [`Builder`] turns it on: [`Counters`](metrics::Counters) with
/// [`Builder::counters`], [`Statistics`](metrics::Statistics) with [`Builder::statistics`], the
/// [`Timeline`](metrics::Timeline) with [`Builder::timeline`].
pub mod metrics {
    pub use crate::monitor::{
        Activity, Allocation, Bucket, Counters, EpochLag, Histogram, Inspection, ObjectLabel, ObjectUse,
        Overrun, RunningInspection, RunningTask, Statistics, TaskKind, Timeline, Touched, WaitingClaim,
        WorkerInspection, WorkerStatistics,
    };
    pub use crate::scheduler::{Inspector, Recording};
}

/// Parameters of [`QueuePolicy`]: the order of ranked tasks, and the rings between workers.
pub mod queues {
    pub use crate::pool::{RankOrder, Topology};
}

/// Bundles: one task that carries many walks of one kind, at the speed of a loop with prefetches by
/// hand.
///
/// A [`Walk`](bundle::Walk) goes from node to node, and says with each [`Hop`](bundle::Hop) what it
/// touches next. A [`Bundle`](bundle::Bundle) supplies walks and receives their results;
/// [`each`](bundle::each) makes one of an iterator and a closure, and [`fold`](bundle::fold) one
/// that folds the results.
pub mod bundle {
    pub use crate::task::bundle::{Bundle, Each, Fold, Hop, Next, Start, Walk, each, fold};
}

pub use annotation::{Frequency, Part, Place, Priority};
#[doc(inline)]
pub use claims::{claim::Claim, granules::Granules, held::Held};
#[doc(inline)]
pub use fork::{join::Fork, scope::Scope};
pub use object::{
    Isolation, Object, ObjectBuilder, Plain, Primitive, Shared, Snapshot, Version, Versioned, Word,
};
pub use pool::QueuePolicy;
pub use scheduler::{BuildError, Builder, Context, Runtime, RuntimeHandle, Shutdown, WeakRuntimeHandle};
/// Derives the trait [`Version`](trait@Version), and checks that each field of the type can be in a
/// versioned type: see [`VersionField`](arena::VersionField). So what changes is words, and a
/// structure of such nodes needs no `unsafe`.
///
/// ```
/// use xtasking::arena::{AsWord, Field, OptionalLink};
/// use xtasking::{Version, Word};
///
/// #[derive(AsWord, Clone, Copy)]
/// enum Color { Red, Black }
///
/// #[derive(Version)]
/// struct Node {
///     key: String,
///     color: Field<Color>,
///     count: Word,
///     children: [OptionalLink<Node>; 2],
/// }
/// ```
///
/// A field that can change in other ways is refused:
///
/// ```compile_fail,E0277
/// #[derive(xtasking::Version)]
/// struct Node { count: std::sync::Mutex<u64> }
/// ```
///
/// `#[version(unchecked)]` at a field leaves it out of the check: for a type of another crate that
/// does not change, or whose changes concern no reader.
#[cfg(feature = "derive")]
pub use xtasking_derive::Version;

#[doc(inline)]
pub use task::{
    builder::TaskBuilder,
    failure::{Failure, JoinError},
    group::Group,
    handle::{Handle, Promise},
    scope::TaskScope,
};
