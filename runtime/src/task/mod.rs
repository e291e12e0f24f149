//! Types in the signatures of tasks. Programs seldom name them.
//!
//! | name | stands for |
//! |---|---|
//! | [`Access`], [`AccessSet`], [`Read`], [`Write`] | the objects that a task accesses, and how |
//! | [`ListAccess`], [`ReadOrWrite`], [`ReadOrWriteLink`] | lists of accesses |
//! | [`ReadOrWriteView`] | what the body gets of a [`ReadOrWrite`] |
//! | [`Call`] | the result of [`call`](crate::TaskBuilder::call) |
//! | [`Lines`] | cache lines that a running task will touch |
//! | [`PanicPayload`] | the payload in [`JoinError::Panicked`] |
//! | [`ScopedTask`] | a task in a [scope](crate::TaskScope) |
//! | [`Spawner`] | a [`Runtime`](crate::Runtime) or a [`Context`](crate::Context) |
//! | [`Membership`], [`Alone`], [`Of`] | whether a task belongs to a [`Group`](crate::Group) |
//! | [`Annotated`], [`TaskAnnotation`] | a membership, and what else a task carries |
//! | [`TaskName`], [`BodyName`] | a name of a task |
//! | [`After`] | a task that waits for a group; with a claim, see [`claims`](crate::claims) |
//! | [`LegalFor`], [`AllowsIsolation`] | the primitives and isolations that a class permits |
//! | [`RuntimeId`] | a runtime, to compare with others |

// | file | contents |
// |---|---|
// | `descriptor` | the descriptor, its phases and owners, the meta word |
// | `body` | what every kind of task shares: write, take out, cancel, refuse |
// | `unbound`, `single_object`, `multi_object/`, `optimistic_read` | the four kinds of task |
// | `builder`, `options` | annotations; `spawn`, `submit` and their variants |
// | `spawner` | origins, which pay for tasks; spawners, which deliver them |
// | `pending` | complete tasks that are stored before they enter a run queue |
// | `access`, `access_list`, `grant` | which objects a task accesses; what its body gets of each |
// | `entry` | entering and leaving an object |
// | `call` | bodies that a thread outside, or a running task, runs itself |
// | `bundle/` | one task that carries many walks |
// | `visit`, `modify` | walks and writes in linked structures, as a program defines them |
// | `reader`, `node_version` | walks of plain threads, without a task |
// | `handle` | results: handles, promises, sinks |
// | `reserve`, `room` | tasks that are spawned where there is room, and their permits |
// | `packet` | what a handle and its promise share |
// | `packet_body` | the body of a submitted task, which a cancellation drops at once |
// | `cancel_on_drop`, `timed_join` | handles that cancel; waits with a limit |
// | `annotated`, `deadline`, `name` | what only some tasks carry: a deadline, a name |
// | `scope`, `frame_guard` | tasks that borrow from a waiting thread |
// | `group/` | groups, their members, and tasks that run after a group |
// | `failure`, `guard` | errors of tasks; panics in user code |

pub(crate) mod access;
mod access_list;
mod annotated;
mod body;
pub(crate) mod builder;
pub(crate) mod bundle;
mod call;
pub(crate) mod cancel_on_drop;
pub(crate) mod deadline;
mod descriptor;
mod entry;
pub(crate) mod failure;
mod frame_guard;
pub(crate) mod grant;
pub(crate) mod group;
mod guard;
pub(crate) mod handle;
pub(crate) mod modify;
mod multi_object;
pub(crate) mod name;
pub(crate) mod node_version;
mod optimistic_read;
pub(crate) mod options;
mod packet;
mod packet_body;
pub(crate) mod pending;
pub(crate) mod reader;
pub(crate) mod reserve;
pub(crate) mod room;
pub(crate) mod scope;
mod single_object;
pub(crate) mod spawner;
mod timed_join;
mod unbound;
pub(crate) mod visit;

pub use crate::annotation::Lines;
pub use crate::object::{AllowsIsolation, LegalFor};
pub use access::{Access, AccessSet, Read, Write};
pub use access_list::{ListAccess, ReadOrWrite, ReadOrWriteLink, ReadOrWriteView};
pub use annotated::{Annotated, TaskAnnotation};
pub use call::Call;
pub use failure::PanicPayload;
pub use group::{After, Alone, Membership, Of};
pub use name::{BodyName, TaskName};
pub use scope::ScopedTask;
pub use spawner::{RuntimeId, Spawner};

pub(crate) use access::MOST_OBJECTS;
pub(crate) use access::{ReadLink, WriteLink};
pub(crate) use body::{describe_nothing, locate_nothing};
pub(crate) use builder::TaskBuilder;
pub(crate) use descriptor::{Meta, Task, VTable, class_of};
pub(crate) use failure::{Failure, JoinError};
pub(crate) use frame_guard::FrameGuard;
pub(crate) use group::{GroupState, Groups};
pub(crate) use guard::{Aftermath, Payload, catch, discard, drop_quietly, guarded, quietly, throw};
pub(crate) use handle::{Handle, Promise};
pub(crate) use handle::{Sink, pair};
