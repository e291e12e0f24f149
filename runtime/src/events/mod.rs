//! What tasks wait for besides other tasks: sources of events outside the program, and moments.
//!
//! # The way of an event
//!
//! A source is registered with the queue of events of one worker (its platform has one for each),
//! under a *token*. A worker looks at its queue when it finds no task, and now and then between
//! tasks; when it sleeps, it sleeps in its queue. What it finds is handled by a task of the runtime
//! (`dispatch`), which looks up the handler of each token (`handlers`). A handler spawns
//! annotated tasks, and none of them blocks.
//!
//! # The way of a timer
//!
//! A timer is an entry in the wheel of one worker. The worker's sleep ends at the earliest
//! one. What is due is handled by the same task.
//!
//! # Shutdown
//!
//! When a shutdown begins, timers and handlers are dropped: they would spawn tasks without end.
//!
//! | file | what is in it |
//! |---|---|
//! | `batched` | streams whose output is sent together with that of others |
//! | `buffered` | reading and writing a stream through buffers |
//! | `delivery` | handlers that write an object, one task for several events |
//! | `dispatch` | when a worker looks at its events and timers, and the task that handles them |
//! | `handlers` | the handlers of a worker, by token |
//! | `outgoing` | the output of a worker's streams, and the task that sends it |
//! | `queue` | the traits: queues of events, and sources |
//! | `ready` | what a source is ready for |
//! | `registered` | a source that is registered |
//! | `timers` | the timers of a worker |
//! | `wheel` | a hierarchical timing wheel |

#[cfg(feature = "io")]
mod batched;
#[cfg(feature = "std")]
mod buffered;
mod delivery;
mod dispatch;
mod handlers;
#[cfg(feature = "io")]
mod outgoing;
mod queue;
mod ready;
mod registered;
mod timers;
mod wheel;

#[cfg(feature = "std")]
pub use buffered::{Buffered, Filled};
pub use delivery::{Event, Events, Handled};
pub(crate) use dispatch::Outside;
pub use queue::{EventQueues, Registration, Source, Token};
pub use ready::{Interest, Ready};
pub use registered::Registered;
pub use timers::Timer;

/// Sockets that can be [registered](crate::Runtime::register), of the crate `mio`.
#[cfg(feature = "io")]
pub mod net {
    pub use super::batched::{Batchable, BatchedStream};
    pub use mio::net::{TcpListener, TcpStream, UdpSocket};
    #[cfg(unix)]
    pub use mio::net::{UnixDatagram, UnixListener, UnixStream};
}
