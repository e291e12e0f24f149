//! Sets of plain functions, each with an id to wait for, on workers whose number may change.
//!
//! | file | contents |
//! |---|---|
//! | `managed` | [`Managed`]: enqueue sets and wait for them |
//! | `id` | ids of sets, and the errors of a wait |
//! | `requests` | all sets of a pool; waiting for them |
//! | `runner`, `runners` | the tasks that run sets of one function, and which of them are at work |
//! | `lane`, `block` | the queue of sets, and the slot of a set |
//! | `cursor` | how a runner goes through the lanes |
//! | `stored_function` | a function in its slot |
//! | `records` | which ids can be waited for |
//! | `set` | a set of several functions: its partitions and runners |
//! | `size` | the number of workers: resize, suggest, follow |

mod block;
mod cursor;
mod id;
mod lane;
mod managed;
mod records;
mod requests;
mod runner;
mod runners;
mod set;
mod size;
mod stored_function;

pub use id::{SetError, SetId};
pub use managed::Managed;
