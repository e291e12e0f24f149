//! Questions and their answers.

mod alternatives;
mod answer;
mod cache;
mod divide;
mod request;
mod suggest;
mod why;

pub use answer::{About, Alternative, NoPlan, Reason, Suggestion};
pub use cache::{CacheSizes, CacheView, Unknown};
#[cfg(test)]
pub(crate) use divide::divide;
pub use request::{Bound, Request, Sharing};

use crate::facts::{CpuSet, Facts, Registration};
use crate::register::{Register, Registered};
use crate::rules::Topology;
use std::sync::Arc;

/// What is known of a machine, and who of our own uses it: to be asked.
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
    register: Register,
}

impl Knowledge {
    /// Knows these facts, and no runtime but those that they name.
    pub fn new(facts: Facts) -> Self {
        let topology = Arc::new(Topology::of(&facts, &CpuSet::default()));
        Self { facts, topology, register: Register::default() }
    }

    /// Knows the runtimes in `register` as well, also those that come later.
    #[must_use]
    pub fn with_register(self, register: Register) -> Self {
        Self { register, ..self }
    }

    /// The facts as they were read.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Knows newer facts from now on. Who is registered stays so.
    pub fn update(&mut self, facts: Facts) {
        if !Topology::is_shared(&self.facts, &facts) {
            self.topology = Arc::new(Topology::of(&facts, &CpuSet::default()));
        }
        self.facts = facts;
    }

    /// Tells what one of our own runtimes uses, for as long as the token lives.
    pub fn register(&self, registration: Registration) -> Registered {
        self.register.register(registration)
    }

    /// What follows by rules, where some CPUs are to be kept free.
    pub(crate) fn topology(&self, kept: &CpuSet) -> Arc<Topology> {
        if kept.is_empty() { self.topology.clone() } else { Arc::new(Topology::of(&self.facts, kept)) }
    }

    /// Which of our own runtimes use the machine now: those named by the facts and those registered.
    pub fn registered(&self) -> Vec<Registration> {
        let mut all = self.facts.registered.clone();
        all.extend(self.register.registrations());
        all
    }
}
