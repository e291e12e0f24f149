//! What the machine is and is doing, asked before data is divided and work is placed.
//!
//! A database should ask, not guess: how many partitions, on which cores, in whose memory, beside which neighbours. This
//! is the *system knowledge base* of Cod (Giceva et al., "COD: Database/Operating System Co-Design", CIDR 2013): facts, read
//! from the system, and questions, answered by rules and a search for the best plan, each answer with its reason.
//!
//! | module | what it holds |
//! |---|---|
//! | [`facts`] | what is known of a machine at one moment, as plain data |
//! | [`system`] | reading it from a system |
//! | [`hwloc`] | reading it from descriptions of machines |
//! | [`drawing`] | facts as a person sees them: text and SVG |
//! | `questions` | what can be asked of it: [`Knowledge`], [`Request`], [`Suggestion`] |
//! | `plan` | partitions and their places, and the way from one plan to another: [`Plan`], [`Change`] |
//! | `placement` | a suggestion as the place of a runtime's workers |
//! | `register` | what our own runtimes use: [`Register`] |
//! | `adviser` | whether the best plan has changed: [`Adviser`] |
//! | `subscription` | being told so: [`Subscription`] |
//! | `rules` | what follows from the facts |
//! | `speed` | how fast a worker is beside strangers and beside other threads of its core |
//! | `machine` | the machine as far as a request may use it |
//! | `classes`, `solver`, `pick` | alike cores, how many of each get workers, and which |
//! | `nodes`, `sums`, `weighted`, `equal` | how many: of each node, at most, of unequal and of equal partitions |

mod adviser;
mod by_cpu;
mod classes;
pub mod drawing;
mod equal;
pub mod facts;
pub mod hwloc;
mod machine;
mod nodes;
#[cfg(test)]
mod oracle;
mod pick;
mod placement;
mod plan;
mod questions;
mod register;
mod rules;
mod solver;
mod speed;
mod subscription;
mod sums;
pub mod system;
mod weighted;

pub use adviser::{Advice, Adviser, Patience};
pub use plan::{Bytes, Change, Partition, Plan};
pub use questions::{
    About, Alternative, Bound, CacheSizes, CacheView, Knowledge, NoPlan, Reason, Request, Sharing,
    Suggestion, Unknown,
};
pub use register::{Register, Registered};
pub use subscription::{Subscription, Trouble};
