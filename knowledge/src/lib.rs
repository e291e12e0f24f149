//! A knowledge base of the machine: it reads what the hardware is and what it is doing, and answers
//! how to partition data and place workers on it.
//!
//! It follows the *system knowledge base* of Cod (Giceva et al., "COD: Database/Operating System
//! Co-Design", CIDR 2013). Use it when the number of partitions, their CPUs and their NUMA nodes
//! should follow from the machine, its load and its limits. Each answer comes with reasons.
//!
//! [`Facts`](facts::Facts) are plain data about one machine at one moment, read by
//! [`System`](system::System) from Linux or by [`hwloc`] from a description. [`Knowledge`] derives
//! what follows from them and answers a [`Request`] with a [`Suggestion`]: a [`Plan`], its reasons,
//! and near alternatives. An [`Adviser`] follows the load over time and reports when another plan
//! is worth a move; a [`Subscription`] is an adviser with a thread. A [`Registry`] lists what the
//! runtimes of this process use, so that they avoid each other's CPUs.
//!
//! ```
//! use xtasking_knowledge::facts::Facts;
//! use xtasking_knowledge::{Bound, Knowledge, Request};
//!
//! // Two packages, each with 4 cores of 2 threads. `System::here().facts()?` reads this machine.
//! let knowledge = Knowledge::new(Facts::symmetric(2, 1, 4, 2));
//! let request = Request { partitions_max: Some(6), ..Request::new(8 << 30, Bound::Memory) };
//! let suggestion = knowledge.suggest_allocation(&request, None)?;
//!
//! // Three workers on each node, on cores of their own, with their data in the memory of the node.
//! assert_eq!(suggestion.plan.cpus().to_string(), "0-2,4-6");
//! for part in &suggestion.plan.partitions {
//!     println!("CPU {}: bytes {}..{} on node {}", part.cpu, part.low, part.high, part.node);
//! }
//! for reason in &suggestion.why {
//!     println!("{reason}");
//! }
//! # Ok::<(), xtasking_knowledge::NoPlan>(())
//! ```
//!
//! | To do | use |
//! |---|---|
//! | read a machine | [`system`], [`hwloc`], [`Facts::symmetric`](facts::Facts::symmetric) |
//! | draw it | [`render::text`], [`render::svg`] |
//! | ask for a plan | [`Knowledge::suggest_allocation`], [`Knowledge::best_plan`] |
//! | ask for cache sizes | [`Knowledge::cache_size`] |
//! | place a runtime | [`Placement`](xtasking::platform::Placement), which is `From<&Suggestion>` |
//! | follow changes | [`Adviser::update`], [`Adviser::subscribe`] |
//! | share the machine among runtimes | [`Registry`], [`Knowledge::register`] |
//!
//! Inside, `inference` derives facts by Datalog rules, and `speed` models competing load and
//! hardware threads. `machine` is the part of the machine that a request may use. `solver` counts
//! workers, and `query` turns the numbers into plans.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `program` | the program `machine`, which draws a machine and answers questions about it |
//!
//! # Types of other crates
//!
//! The interface names types of `xtasking`, and implements traits of `serde` 1.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

/// Compiles the code of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod adviser;
mod cpu_map;
pub mod facts;
pub mod hwloc;
mod inference;
mod machine;
mod placement;
mod plan;
mod query;
mod registry;
pub mod render;
mod request;
mod solver;
mod speed;
mod subscription;
pub mod system;

pub use adviser::{Advice, AdvicePolicy, Adviser};
pub use plan::{Bytes, Change, InvalidBytes, Partition, Plan};
pub use query::{
    Alternative, CacheSizes, CacheView, Knowledge, NoPlan, Reason, Suggestion, Topic, UnknownCacheSize,
};
pub use registry::{RegistrationGuard, Registry};
pub use request::{Bound, CacheSharing, Request};
pub use subscription::{Subscription, WatchError};
