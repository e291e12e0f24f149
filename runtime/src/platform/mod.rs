//! What the runtime needs from the system below it: cores and nodes, workers, sleep, pages, a
//! clock.
//!
//! Two platforms come with the runtime: [`Threads`] of the operating system, and a [`Simulation`]
//! of virtual cores in one thread, whose interleaving follows from a seed. A port to another system
//! implements [`Platform`]; its documentation says in order what to do.
//!
//! | file | what is in it |
//! |---|---|
//! | `clock` | a clock that can be read several times a task |
//! | `default` | the platform of runtimes whose builders name none |
//! | `error` | why a platform failed |
//! | `interface` | the trait that a port implements |
//! | `os` | the operating system: CPUs, nodes, pinning, memory limits, pages |
//! | `placement` | an explicit choice of CPUs for the workers |
//! | `runtime_wait` | waits of workers for another runtime |
//! | `simulation` | the deterministic platform, with or without virtual time |
//! | `threads` | the platform on threads of the operating system |
//! | `thread_number` | numbers that tell threads apart |
//! | `topology` | cores and nodes as the runtime counts them |
//! | `unpark` | the waker of a thread outside the runtime |
//! | `virtual_time` | the trait of platforms whose clock is computed |
//! | `worker_thread` | a worker for which the program starts the thread |

mod clock;
mod default;
mod error;
mod interface;
#[cfg(feature = "std")]
mod os;
#[cfg(feature = "std")]
mod parking;
mod placement;
mod runtime_wait;
mod simulation;
#[cfg(feature = "std")]
mod spare_threads;
mod thread_number;
#[cfg(feature = "std")]
mod threads;
mod topology;
mod virtual_time;
#[cfg(feature = "std")]
mod worker_thread;

pub(crate) use clock::Clock;
pub(crate) use default::default_platform;
pub use default::set_default;
pub use error::PlatformError;
pub use interface::{Platform, WouldBlock};
pub use placement::{Misplaced, Placement, Site};
pub use runtime_wait::RuntimeWait;
pub(crate) use simulation::StepCounts;
pub use simulation::{ClockJumps, Clocks, CoreTime, Costs, Simulation};
#[cfg(feature = "std")]
pub use simulation::{Network, NetworkFaults, SimulatedListener, SimulatedStream};
pub use thread_number::set_thread_number;
pub(crate) use thread_number::this_thread;
#[cfg(feature = "std")]
pub use threads::Threads;
pub use topology::{CoreInfo, CpuTopology};
pub use virtual_time::VirtualTime;
#[cfg(feature = "std")]
pub use worker_thread::WorkerThread;

pub use crate::annotation::CACHE_LINE;
pub use crate::memory::{GlobalPages, PageSource, Pages};
pub use crate::scheduler::{Driver, Progress, WorkerView};
