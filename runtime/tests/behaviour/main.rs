//! What tasks and objects are promised to do, on threads and on virtual cores: it holds in every pool, so the checks run
//! all of this in several.
//!
//! The tests of the runtime are few programs, as building one takes longer than most of its tests:
//!
//! | program | what is in it |
//! |---|---|
//! | `behaviour` | tasks, objects, handles, groups, and the end of a runtime |
//! | `resources` | what a runtime is given: workers and their number, pools of tasks, memory, and virtual cores |
//! | `reports` | what a runtime tells of itself: statistics, the timeline, spans, and who runs too long |
//! | `idle` | measures its process, so nothing runs beside it |
//! | `promises` | starts compilers, and is the same however it is compiled |
//! | `seeds` | takes a seed and a test's name to run a program again |
//! | `shuttle` | is there for a model checker alone |

#[path = "../common/mod.rs"]
mod common;

mod claims;
mod failures;
mod forks;
mod groups;
mod handles;
mod histories;
mod memory;
mod nodes;
mod order;
mod order_of_programs;
mod over;
mod primitives;
mod regressions;
mod scheduling;
mod sets;
mod several;
mod shutdown;
