//! Tasks: descriptors, what they run, and what waits for them.

mod access;
mod bare;
pub(crate) mod builder;
mod claim;
mod descriptor;
mod failure;
mod group;
mod guard;
mod handle;
mod many;
mod once;
mod sets;
mod visit;
mod waiting;

pub use access::{Access, AccessSet, Read, ReadLink, Write, WriteLink, Written};
pub use builder::{RuntimeId, Spawner, TaskBuilder};
#[cfg(all(test, model = "loom"))]
pub(crate) use claim::{BucketLock, Phase};
pub use claim::{Claim, Claiming, Control, Directory, Granules, Held, Sight, Within};
pub use failure::{Failure, JoinError, PanicPayload};
pub use group::{After, Alone, Group, Immediate, Membership, Of};
pub use handle::{Handle, Promise};
pub use once::Modify;
pub use sets::{Managed, SetError, SetId};
pub use visit::{Step, Visit};

pub(crate) use access::MOST_OBJECTS;
pub(crate) use bare::{describe_nothing, locate_nothing};
pub(crate) use descriptor::{Meta, Task, VTable, class_of, is_too_large};
pub(crate) use group::{Groups, Tally};
pub(crate) use guard::{Aftermath, Payload, catch, discard, guarded, quietly};
pub(crate) use handle::{Sink, pair, refuse};
