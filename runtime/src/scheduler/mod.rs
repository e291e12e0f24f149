//! Where tasks go, and how workers run them.
//!
//! | file | what is in it |
//! |---|---|
//! | `runtime` | the runtime, as programs hold it |
//! | `builder`, `build` | its options, and how it is built from them |
//! | `handle`, `open_guard` | its handles, and what keeps it from ending while they are used |
//! | `shutdown`, `shutdown_error` | how it ends; what runs when it should have ended |
//! | `build_error` | why it cannot be built or resized |
//! | `runtime_state` | what all workers share; a slot for each |
//! | `worker_set` | how many workers run, and which of them owns a run queue |
//! | `driver`, `sleep` | the loop of a worker's thread, and how it sleeps |
//! | `worker_thread` | which threads have driven a worker |
//! | `block_in_place`, `relay` | tasks that block, and which thread drives their worker meanwhile |
//! | `placement` | which worker a spawned task goes to |
//! | `worker`, `context` | a worker, and the tasks' view of it |
//! | `burst` | how a worker runs tasks, and what it does without any |
//! | `offers` | which worker is woken for work that any may take |
//! | `unbound`, `inline` | unbound tasks, and those of them that run inside another task |
//! | `steal`, `injected`, `round_robin`, `ranked` | how unbound tasks reach workers, by policy |
//! | `trace`, `observing`, `demand_recorder`, `busy_clock` | what a worker counts and records |
//! | `inspector`, `inspect` | looks at a runtime from outside, and what it sees |
//! | `worker_view` | what a worker is doing, for reports |
//! | `virtual_time` | steps of a worker on a virtual clock |
//! | `export` | statistics and timeline, written at the end of a runtime |
//!
//! The other parts of a worker: `run_queue` (rings of ready tasks), `search` (probes of an idle
//! worker), `reclaim` (epochs and garbage) and `worker_heap` (descriptors).

mod block_in_place;
mod build;
mod build_error;
mod builder;
mod burst;
mod busy_clock;
mod context;
mod demand_recorder;
mod driver;
#[cfg(feature = "std")]
mod export;
mod handle;
mod injected;
mod inline;
mod inspect;
mod inspector;
mod observing;
mod offers;
mod open_guard;
mod placement;
mod ranked;
mod reclaim;
mod relay;
mod round_robin;
mod run_queue;
mod runtime;
mod runtime_state;
mod search;
mod shutdown;
mod shutdown_error;
mod sleep;
mod steal;
mod trace;
mod unbound;
mod virtual_time;
mod worker;
mod worker_heap;
mod worker_set;
#[cfg(feature = "std")]
mod worker_thread;
mod worker_view;

pub use build_error::BuildError;
pub use builder::Builder;
pub use context::Context;
pub use driver::{Driver, Progress};
pub use handle::{RuntimeHandle, WeakRuntimeHandle};
pub use inspector::{Inspector, Recording};
pub(crate) use offers::OfferKinds;
pub(crate) use open_guard::OpenGuard;
pub use runtime::Runtime;
pub(crate) use runtime_state::{RuntimeState, WorkerSlot, phase};
pub use shutdown::Shutdown;
pub use shutdown_error::ShutdownTimedOut;
pub(crate) use worker::Worker;
pub use worker_view::WorkerView;
