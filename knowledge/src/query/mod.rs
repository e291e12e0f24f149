//! Queries and their answers.
//!
//! | module | what it holds |
//! |---|---|
//! | `search` | the best plan for a request |
//! | `partitioning` | partitions for selected CPUs: sizes and memory |
//! | `alternatives` | other plans that are nearly as good |
//! | `explain` | the reasons for a plan, in sentences |
//! | `suggestion` | the answer, and the errors |
//! | `cache_sizes` | the sizes of the caches |
//! | `brute_force` | tests of the search against all possible plans |

mod alternatives;
#[cfg(test)]
mod brute_force;
mod cache_sizes;
mod explain;
mod partitioning;
mod search;
mod suggestion;

pub use cache_sizes::{CacheSizes, CacheView, UnknownCacheSize};
pub use suggestion::{Alternative, NoPlan, Reason, Suggestion, Topic};

use crate::facts::{CpuSet, Facts, Registration};
use crate::inference::Topology;
use crate::registry::{RegistrationGuard, Registry};
use std::sync::Arc;

/// The knowledge base: facts about a machine and the runtimes that use it. It answers queries.
///
/// ```
/// use xtasking_knowledge::facts::Facts;
/// use xtasking_knowledge::{Bound, Knowledge, Request};
///
/// // Two packages of one node with 4 cores of 2 threads each.
/// let knowledge = Knowledge::new(Facts::symmetric(2, 1, 4, 2));
/// let answer = knowledge.suggest_partitions(64 << 20, Bound::Memory)?;
/// assert_eq!(answer.plan.partitions.len(), 8);
/// assert_eq!(answer.plan.cpus().to_string(), "0-7"); // one thread of each core
/// for reason in &answer.why {
///     println!("{reason}");
/// }
/// # Ok::<(), xtasking_knowledge::NoPlan>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    facts: Facts,
    topology: Arc<Topology>,
    register: Registry,
}

impl Knowledge {
    /// Creates a knowledge base from facts, including the registrations among them.
    pub fn new(facts: Facts) -> Self {
        let topology = Arc::new(Topology::derive(&facts, &CpuSet::default()));
        Self { facts, topology, register: Registry::default() }
    }

    /// Adds the runtimes in `register`, including those that register later.
    #[must_use]
    pub fn with_registry(self, register: Registry) -> Self {
        Self { register, ..self }
    }

    /// Returns the facts.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Replaces the facts; registrations stay.
    pub fn update(&mut self, facts: Facts) {
        if !Topology::is_shared(&self.facts, &facts) {
            self.topology = Arc::new(Topology::derive(&facts, &CpuSet::default()));
        }
        self.facts = facts;
    }

    /// Registers what a runtime of this process uses, until the guard is dropped.
    pub fn register(&self, registration: Registration) -> RegistrationGuard {
        self.register.register(registration)
    }

    /// Returns the derived facts if the request excludes the CPUs in `kept`.
    pub(crate) fn topology(&self, kept: &CpuSet) -> Arc<Topology> {
        if kept.is_empty() { self.topology.clone() } else { Arc::new(Topology::derive(&self.facts, kept)) }
    }

    /// Returns the registrations: those among the facts, then those of the registry.
    pub fn registered(&self) -> Vec<Registration> {
        let mut all = self.facts.registered.clone();
        all.extend(self.register.registrations());
        all
    }
}
