//! Claims: tasks that claim ranges of *granules*, the parts of data that many tasks share.
//!
//! Data that are too large for one object, and too finely divided for an object each, are cut into
//! granules. A task claims ranges of them, to read or to write, and runs when it has been granted
//! all: with other readers, or as the only writer, in FIFO order. Meanwhile no thread blocks.
//!
//! # Protocol
//!
//! Each granule has a *queue lock*: the number of its holders and a FIFO queue of waiters. Each
//! claim has a *state*, which holds a waiter for each granule and counts those that are not
//! granted.
//!
//! | state | where the task is | what is next |
//! |---|---|---|
//! | parked | in the claim's state; holds nothing | enqueue, or send if it is deferred |
//! | queued | in the claim's state; a waiter for each granule | grants decrement `pending` |
//! | granted | sent to a worker | the worker starts it |
//! | running | on its worker | its body returns or panics |
//! | released | over | each release grants the granule to the head of the queue |
//!
//! 1. *Enqueue*, in two phases: lock all queues in ascending order of the granules, add a waiter to
//!    each or become a holder at once, then unlock.
//! 2. *Grant*: a release makes the waiters at the head of the queue holders, and decrements
//!    `pending` of their claims. The thread that decrements it to zero owns the state, and sends
//!    the task.
//! 3. *Confirm*: a claim with a [plan](Granules::planned) runs the plan again at this point. If it
//!    names more, the claim releases all that it holds, and goes back to step 1.
//! 4. *Release*, at the end of the task, one granule after another.
//!
//! This is two-phase enqueue as in behaviour-oriented concurrency (Cheeseman et al., OOPSLA 2023),
//! with readers that share, in the same queue as writers.
//!
//! # Deadlock
//!
//! Tasks A and B claim granules 0 and 1. If each locked only one queue at a time, this schedule
//! would deadlock, although both enqueue in ascending order:
//!
//! 1. A enqueues at 0, and is granted it. B enqueues at 0, behind A.
//! 2. B enqueues at 1, and is granted it. A enqueues at 1, behind B.
//! 3. A waits for B at 1, and B waits for A at 0: neither ever runs.
//!
//! With two phases, all queues of a claim are locked before its first waiter is added. So of two
//! claims one is ahead of the other in *every* queue that both enter, and waiting follows one total
//! order. The mutexes of the queues cannot deadlock either, as each claim locks them in ascending
//! order. The model `model::claim::two_claims_of_the_same_granules_do_not_deadlock` shows both; the
//! planted fault `claim-without-two-phase` makes it fail.
//!
//! # Starvation
//!
//! A queued claim cannot starve: the queues are FIFO, and no claim overtakes a waiter but deferred
//! readers, of which at most `max_overtaking` do so between two writers.
//!
//! An [unordered](Claim::unordered) claim is *deferred*: its task is sent at once, and the claim
//! acquires all granules or none when a worker gets to it. If it fails, it registers at the first
//! granule that it lacked, as a *retry waiter*, and holds nothing. Three rules keep it from
//! starving:
//!
//! - A release notifies retry waiters, also while other claims queue or readers follow one another.
//! - A notified claim that does not acquire the granule, or is cancelled, notifies the next retry
//!   waiter, so that no notification is lost.
//! - After 32 attempts the claim enqueues like an ordered one, and the queues are FIFO.
//!
//! The model `model::claim::a_release_beside_a_new_retry_waiter_notifies_it` shows that no
//! notification is lost between a failed attempt and the registration.
//!
//! # Files
//!
//! | file | contents |
//! |---|---|
//! | `granules` | the granules, their data, and their handle |
//! | `claim` | what a task claims: ranges, or a plan |
//! | `plan` | plans, and how they peek at granules |
//! | `rights` | sets of granules |
//! | `admission` | the seam between claims and what keeps their tasks apart |
//! | `queue_lock` | the queue lock of a granule: holders, FIFO queue, retry waiters |
//! | `claim_state` | the state of one claim |
//! | `grant` | enqueue, grant, confirm, release; where tasks are sent |
//! | `deferred` | unordered claims, made when a worker gets to the task |
//! | `state_ptr` | the memory of a claim's state |
//! | `kind` | what a task may claim: granules, or nodes of a tree |
//! | `spawner` | the spawner of a task with a claim, and its membership |
//! | `releasing` | the sink of a task with a claim |
//! | `directory` | a table that says which granule something is in |
//! | `held` | what a running task holds |
//! | `affinity` | the homes of granules |
//! | `waiting_claims` | claims that wait, as an inspection sees them |
//! | `conflict_check` | an independent check in debug builds |
//! | `baselines` | other admissions, for comparison; only with the feature `baselines` |

mod admission;
mod affinity;
#[cfg(feature = "baselines")]
mod baselines;
pub(crate) mod claim;
mod claim_state;
#[cfg(debug_assertions)]
mod conflict_check;
mod deferred;
mod directory;
mod grant;
pub(crate) mod granules;
pub(crate) mod held;
pub(crate) mod kind;
mod plan;
mod queue_lock;
pub(crate) mod releasing;
mod rights;
pub(crate) mod spawner;
mod state_ptr;
mod waiting_claims;

#[cfg(all(test, model = "loom", feature = "baselines"))]
pub(crate) use baselines::{BucketLock, Phase};
#[cfg(feature = "baselines")]
pub use baselines::{Control, Granularity, ToggleCounts};
pub(crate) use claim::Claim;
pub use directory::Directory;
pub(crate) use granules::Granules;
pub use kind::{ClaimKind, IntoClaim};
pub use plan::PlanView;
pub use spawner::{ClaimedTask, Claiming, Within};
pub(crate) use waiting_claims::GranuleTables;
