//! Run queues: the ready tasks of one worker.
//!
//! A ring for each priority holds what the worker spawns for itself; an inbox holds what other
//! threads send. Unbound tasks may be elsewhere, where other workers can take them: in a deque, in
//! SPSC rings, or in one shared queue.
//!
//! | file | what is in it |
//! |---|---|
//! | `backlog` | unbounded list behind the inbox: many pushers, one taker |
//! | `choice` | the policies for unbound tasks |
//! | `deque` | a worker's tasks that others may steal, and the batch for thieves |
//! | `inbox` | what other threads send to a worker: a ring, and the backlog behind it |
//! | `injector` | what threads outside send to any worker |
//! | `kautz` | which workers are linked, with log₂ N links each |
//! | `spsc` | SPSC rings between two workers |
//! | `ranked` | the queue shared by all workers, by rank |
//! | `ring` | a worker's own FIFO queue, with prefetching |
//! | `task_ring` | a ring that its worker and thieves take from |

mod backlog;
mod choice;
mod deque;
mod inbox;
mod injector;
mod kautz;
mod ranked;
mod ring;
mod spsc;
mod task_ring;

#[cfg(all(test, model = "loom"))]
pub(crate) use backlog::Backlog;
pub use choice::{QueuePolicy, RankOrder, Topology};
pub(crate) use deque::{Deque, StealBatch};
pub(crate) use inbox::Inbox;
pub(crate) use injector::Injector;
pub(crate) use ranked::Ranked;
pub(crate) use ring::Ring;
pub(crate) use spsc::{Entry, Exit, SpscRing};
pub(crate) use task_ring::TaskRing;
