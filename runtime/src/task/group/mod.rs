//! Groups: tasks that are waited for together.
//!
//! | file | contents |
//! |---|---|
//! | `owner` | [`Group`]: wait for it, or continue after it |
//! | `state` | the shared state: tickets, first failure, continuation |
//! | `tickets` | the worker's cache of tickets |
//! | `member` | the sink of a member |
//! | `after` | tasks that are stored until a group is over |
//!
//! A group counts *tickets*. Each member that is not over has one. So has the [`Group`] itself,
//! until its continuation is set. A ticket is drawn only by the holder of another one. So when the
//! last ticket is returned, the group is over for good, and the thread that returned it runs the
//! continuation. The tickets also keep the group's memory.
//!
//! All workers share the counter, so tasks avoid it. A worker caches tickets of one group: a spawn
//! takes one from the cache, and a member that is over puts its ticket there. An empty cache draws
//! many tickets at once, and at the end of a burst the worker returns all of them. So a burst costs
//! two atomic additions, however many members it spawns or runs. (These are weighted reference
//! counts, Bevan and Watson 1987.)
//!
//! ```text
//! spawn ── takes one ──▶ cache of the worker ◀── puts one ── member is over
//!                          ▲  │
//!              many, when  │  │ all, at the end of the burst
//!             it is empty  │  ▼ or for another group
//!                         state: number of tickets that are out
//! ```

mod after;
mod member;
mod owner;
mod state;
mod tickets;

pub use after::After;
pub use member::{Alone, Membership, Of};
pub use owner::Group;

pub(crate) use member::SinkPair;
pub(crate) use member::sealed::Sealed as SealedMembership;
pub(crate) use state::GroupState;
pub(crate) use tickets::Groups;
