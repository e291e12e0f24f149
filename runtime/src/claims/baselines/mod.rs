//! Baselines: other admissions for claims, for comparison in experiments.
//!
//! Only the feature `baselines` compiles this module. A worker whose task waits for a baseline does
//! nothing else meanwhile. What tasks may rely on is the same as with queue locks, except for the
//! order of conflicting tasks: it is the order in which they start.
//!
//! | file | contents |
//! |---|---|
//! | `control` | the choice between the queue locks and the baselines |
//! | `any_admission` | the admission of builds with this feature: queue locks or a baseline |
//! | `cover` | what is locked for a task: all, an interval, several intervals |
//! | `interval_locks` | one lock, a lock for each granule, DomLock and NumLock |
//! | `parked_locks` | the same locks, under which tasks wait as they do at queue locks |
//! | `lock_table` | which of the waiting tasks comes next there |
//! | `intervals` | conflicts between sets of granules, and their hulls |
//! | `ticket_lock` | a fair lock |
//! | `toggle` | Toggle: tasks wait in buckets of granules, which workers host |

mod any_admission;
mod control;
mod cover;
mod interval_locks;
mod intervals;
mod lock_table;
mod parked_locks;
mod ticket_lock;
mod toggle;

pub(super) use any_admission::{AnyAdmission, BaselineGrant};
pub use control::Control;
pub use cover::Granularity;
#[cfg(all(test, model = "loom"))]
pub(crate) use ticket_lock::TicketLock as BucketLock;
#[cfg(all(test, model = "loom"))]
pub(crate) use toggle::Phase;
pub use toggle::ToggleCounts;
