//! Sets of plain functions, each with an id to wait for, on workers whose number may change.
//!
//! | file | contents |
//! |---|---|
//! | `managed` | [`Managed`]: enqueue sets and wait for them |
//! | `id` | ids of sets, and the errors of a wait |
//! | `set` | one set: its partitions, runners and waiters |
//! | `size` | the number of workers: resize, suggest, follow |

mod id;
mod managed;
mod set;
mod size;

pub use id::{SetError, SetId};
pub use managed::Managed;
