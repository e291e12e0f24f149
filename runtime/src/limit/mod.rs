//! Backpressure: bounds on the tasks that are spawned and not finished.
//!
//! A [`Limit`] has a number of permits. A task that is spawned *with room* takes one of each limit
//! that concerns it, and gives them back when it is over: it has returned, panicked, or was
//! cancelled. A limit belongs to
//!
//! | bound | declared by |
//! |---|---|
//! | all tasks of a runtime | [`Builder::most_tasks`](crate::Builder::most_tasks) |
//! | the members of a group | [`Group::most_tasks`](crate::Group::most_tasks) |
//! | the tasks on an object | [`ObjectBuilder::most_tasks`](crate::ObjectBuilder::most_tasks) |
//! | what a program counts itself | [`Runtime::limit`](crate::Runtime::limit) |
//!
//! and what happens where there is no room is said at the spawn:
//!
//! | spawn | without room |
//! |---|---|
//! | [`try_spawn`], [`try_submit`] | fails with [`LimitError::Full`], and gives the body back |
//! | [`reserve`] | waits as a future, in any async executor |
//! | [`reserve_blocking`] | blocks the thread, which is no worker of the runtime |
//! | `spawn`, `submit` and all others | does not ask: goes over the bound, and is not counted |
//!
//! So a task never waits for room, which keeps bounds free of deadlock: it spawns its follow-ups
//! with `spawn`, or tries. A request of several tasks keeps a [`Permit`] until its last task:
//!
//! ```
//! let rt = xtasking::Runtime::builder().workers(2).build()?;
//! let requests = rt.limit(100);
//! let (promise, answer) = rt.promise();
//! let permit = requests.acquire_blocking()?;
//! rt.task(()).spawn(move |(), cx| {
//!     let question = 6;
//!     cx.task(()).spawn(move |(), _| {
//!         drop(permit);
//!         promise.fulfil(question * 7);
//!     });
//! });
//! assert_eq!(answer.join()?, 42);
//! assert_eq!(requests.used(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Waiters are served in the order in which they came. One that was served and then goes away
//! passes its room on. A shutdown ends all waits with [`LimitError::ShutDown`].
//!
//! [`try_spawn`]: crate::TaskBuilder::try_spawn
//! [`try_submit`]: crate::TaskBuilder::try_submit
//! [`reserve`]: crate::TaskBuilder::reserve
//! [`reserve_blocking`]: crate::TaskBuilder::reserve_blocking

// | file | contents |
// |---|---|
// | `semaphore` | the word and the queue of waiters |
// | `permit` | limits and permits, as programs hold them |
// | `acquire` | the future of a permit |
// | `open` | the limits that a shutdown closes |
// | `error` | why there is no permit |

mod acquire;
mod error;
mod open;
mod permit;
mod semaphore;

pub use crate::task::reserve::{Reserve, TrySpawnError};
pub use crate::task::room::{MayReserve, WithRoom};
pub use acquire::Acquire;
pub use error::LimitError;
pub use permit::{Limit, Permit};

pub(crate) use open::OpenLimits;
