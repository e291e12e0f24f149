//! What the runtime guarantees for tasks and objects, on threads and on virtual cores. The
//! guarantees hold with every queue policy, so the checks run all of this with several.
//!
//! The tests of the runtime are a few programs, because linking one takes longer than running most
//! of its tests:
//!
//! | program | contents |
//! |---|---|
//! | `behaviour` | tasks, objects, handles, groups, and the end of a runtime |
//! | `resources` | resources of a runtime: workers, queues of tasks, memory, and virtual cores |
//! | `reports` | observation: statistics, the timeline, spans, and tasks that run too long |
//! | `idle` | CPU time while idle, memory; it measures its process, so it runs alone |
//! | `promises` | what must not compile; it starts compilers |
//! | `seeds` | random programs, each replayed by its seed |
//! | `shuttle` | random schedules, under a model checker |

#[path = "../common/mod.rs"]
mod common;

mod arrays;
mod blocking;
mod bundles;
mod calls;
mod captures;
mod cells;
mod claims;
mod clock_jumps;
mod compaction;
mod deadlines;
mod driven;
#[cfg(feature = "io")]
mod events;
mod failures;
mod forks;
mod freed;
mod groups;
mod handles;
mod histories;
mod limits;
mod lists;
mod memory;
mod mending;
mod nodes;
mod offers;
mod order;
mod order_of_programs;
mod over;
mod panic_names;
mod panicking;
mod primitives;
mod readers;
mod regressions;
mod requests;
mod runtime_handles;
mod scheduling;
mod sets;
mod several;
mod shutdown;
// Its errors are those of the operating system, and `kernel/` has none.
#[cfg(not(bare))]
mod simulated_network;
mod stealing;
mod task_scopes;
mod time_limits;
mod timers;
mod trees;
mod validation;
mod waiting;
