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
//! | `interval_locks` | one lock, a lock for each granule, DomLock and NumLock |
//! | `intervals` | conflicts between sets of granules, and their hulls |
//! | `toggle` | Toggle: tasks wait in buckets of granules, which workers host |

mod any_admission;
mod control;
mod interval_locks;
mod intervals;
mod toggle;

pub(super) use any_admission::{AnyAdmission, BaselineGrant};
pub use control::Control;
#[cfg(all(test, model = "loom"))]
pub(crate) use toggle::{BucketLock, Phase};
