//! XTasking: a runtime for annotated tasks.
//!
//! A program is cut into small run-to-completion tasks, and each says what it touches: which object, reading or
//! writing, where, how urgently. From that the runtime synchronises, prefetches, places and reclaims. Application code
//! holds no lock, fetches nothing ahead and pins no thread. The idea is that of MxTasks (SIGMOD'21, "MxTasks: How to
//! Make Efficient Synchronization and Prefetching Easy").
//!
//! ```
//! use xtasking::{Priority, Runtime};
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let (a, b) = (rt.plain(100i64).build(), rt.plain(0i64).build());
//!
//! // A transfer touches two accounts; it gets both at once.
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
//! # The rooms
//!
//! | room | what is in it |
//! |---|---|
//! | `annotation` | what a task says: priority, place, part of an object |
//! | `object` | what it says it about: classes, primitives, handles, links and arenas |
//! | `task` | descriptors, bodies, handles, groups |
//! | `fork` | joins: work that a task divides and waits for |
//! | `sync` | the shim for atomics, and the latch word that the primitives work on |
//! | `pool` | ring and inbox |
//! | `scheduler` | placement, the worker loop, the runtime |
//! | `memory` | heaps for descriptors, bulk memory, epochs |
//! | `monitor` | counters, statistics, advice, timeline, watchdog |
//! | `platform` | what the runtime asks of an operating system; threads and simulation |
//! | `planted` | faults that the checks must notice; in no other build |
//! | `model` | the lock-free pieces, each run through all executions by a model checker; in no other build |

#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("xtasking packs object references into 64-bit words with 48-bit addresses");

extern crate alloc;

#[macro_use]
mod planted;

mod annotation;
mod fork;
mod memory;
#[cfg(all(test, model = "loom"))]
mod model;
mod monitor;
mod object;
pub mod platform;
mod pool;
mod scheduler;
mod sync;
mod task;

pub use annotation::{Frequency, LINE, Part, Place, Priority};
pub use fork::{Divide, Fork, Over, Scope};
pub use memory::{GlobalPages, PageSource, Pages};
pub use monitor::{
    Advice, Allocation, Bucket, Histogram, Overrun, Reason, Snapshot as Counters, Statistics, Timeline,
    Touched, WorkerStatistics,
};
pub use object::{
    Arena, ArenaStats, Class, Exclusive, Isolation, IsolationFor, LegalFor, Link, LinkCell, Object,
    ObjectBuilder, OptimisticLatched, OptimisticReads, OptimisticSequenced, Plain, Primitive,
    ReaderWriterLatch, Reserved, Sequencing, Shared, SharedReads, Snapshot, SpinLatch, Version, Versioned,
    Word, WriteToken,
};
pub use platform::{Misplaced, Placement, Site};
pub use pool::{Links, Pool, Ranking};
pub use scheduler::{BuildError, Builder, Context, Driver, Progress, Runtime, Shutdown};
pub use task::{
    Access, AccessSet, After, Alone, Claim, Claiming, Control, Directory, Failure, Granules, Group, Handle,
    Held, Immediate, JoinError, Managed, Membership, Modify, Of, PanicPayload, Promise, Read, ReadLink,
    RuntimeId, SetError, SetId, Sight, Spawner, Step, TaskBuilder, Visit, Within, Write, WriteLink, Written,
};
