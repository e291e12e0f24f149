//! YCSB, the standard benchmark of key-value stores, for ordered indexes that map `u64` to `u64`.
//! (Cooper, Silberstein, Tam, Ramakrishnan, Sears, "Benchmarking Cloud Serving Systems with YCSB",
//! SoCC 2010.)
//!
//! A *workload* says how frequent each kind of operation and each record is. A *plan* is a
//! workload's requests for a number of workers. It is generated from a seed before the run and
//! checks every result of it. A *contender* is an index that carries out plans.
//!
//! | module | what it holds |
//! |---|---|
//! | [`workload`] | YCSB's workloads and property files |
//! | [`distribution`] | the distributions that choose records |
//! | [`keyspace`] | keys of records, and values that identify their writes |
//! | [`plan`] | the requests of a run, and the checks of their results |
//!
//! [`Random`] and [`Wrong`] are those of the benchmark harness.
//!
//! # Example
//!
//! One worker loads an index, runs workload A with some properties changed, and shows what is in
//! the index afterwards:
//!
//! ```
//! use std::collections::BTreeMap;
//! use xtasking_ycsb::keyspace::Keyspace;
//! use xtasking_ycsb::plan::{Audit, Plan, Request, WriteOrder};
//! use xtasking_ycsb::workload::{properties, standard};
//! use xtasking_ycsb::Wrong;
//!
//! fn carry_out(plan: &Plan, index: &mut BTreeMap<u64, u64>) -> Result<(), Wrong> {
//!     for position in 0..plan.length(0) {
//!         match plan.request(0, position) {
//!             Request::Read { key } => plan.check_read(key, index.get(&key).copied())?,
//!             Request::Update { key, value } => {
//!                 plan.check_update(key, index.insert(key, value).is_some())?
//!             }
//!             Request::Insert { key, value } => {
//!                 plan.check_insert(key, index.insert(key, value).is_none())?
//!             }
//!             request => unreachable!("workload A has no {request:?}"),
//!         }
//!     }
//!     let scan = |from, limit, entries: &mut Vec<(u64, u64)>| {
//!         entries.extend(index.range(from..).take(limit).map(|(key, value)| (*key, *value)));
//!     };
//!     Audit::new(plan, WriteOrder::Trace).walk(index.len() as u64, scan)
//! }
//!
//! let mut workload = standard("A").unwrap();
//! let changes = properties::parse("requestdistribution=uniform\ninsertorder=ordered")?;
//! workload.apply(&changes)?;
//! workload.validate()?;
//!
//! let (seed, workers) = (42, 1);
//! let keyspace = Keyspace::new(workload.insert_order, seed);
//! let mut index = BTreeMap::new();
//! let load = Plan::load(keyspace, 1_000, workers);
//! carry_out(&load, &mut index)?;
//! let run = Plan::run(keyspace, &workload, 5_000, workers, load.past(), seed);
//! carry_out(&run, &mut index)?;
//!
//! // An entry that is lost is noticed.
//! index.pop_first();
//! assert!(carry_out(&run, &mut index).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod distribution;
pub mod keyspace;
pub mod plan;
pub mod workload;

pub use xtasking_harness_core::random::Random;
pub use xtasking_harness_core::wrong::Wrong;
