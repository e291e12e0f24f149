//! The interface of an index that the YCSB experiment measures.
//!
//! A contender is built anew for every load. It carries out a [`Plan`], checks every result with
//! it, and finally shows all its entries to an audit. To add a contender, write an [`Entry`] for it
//! and add that to [`ALL`](super::lineup::ALL). An index that threads can share implements only
//! [`ConcurrentMap`](crate::peers::map::ConcurrentMap); any other implements [`Contender`] itself.

use super::settings::ContenderSettings;
use std::sync::Arc;
use std::time::Duration;
use xtasking_harness::failure::Wrong;
use xtasking_harness::lineup;
use xtasking_ycsb::plan::Plan;
use xtasking_ycsb::workload::Workload;

/// An index, with the workers that run requests on it.
///
/// An instance carries out a sequence of plans: first the one that loads, then those of the runs.
pub trait Contender {
    /// Carries out the plan that loads all records. Returns the time from the first operation to
    /// the last result.
    ///
    /// # Errors
    ///
    /// The first wrong result.
    fn load(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        self.run(plan)
    }

    /// Carries out a plan and checks every result. Returns the time from the first operation to the
    /// last result.
    ///
    /// # Errors
    ///
    /// The first wrong result.
    fn run(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong>;

    /// Shows all entries to an [`Audit`](xtasking_ycsb::plan::Audit) of the plan that was carried
    /// out last. Not timed.
    ///
    /// # Errors
    ///
    /// What the audit finds wrong.
    fn verify(&mut self, plan: &Arc<Plan>) -> Result<(), Wrong>;
}

/// The reason for skipping workloads that insert.
pub const CANNOT_INSERT: &str = "it cannot insert";

/// The operations that a contender has beyond looking up keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Whether it can insert single keys; if not, loading it is not measured.
    pub can_insert: bool,
    /// Whether it can overwrite values.
    pub can_update: bool,
    /// Whether it can read ranges.
    pub can_scan: bool,
}

impl Abilities {
    /// All operations.
    pub const ALL: Self = Self { can_insert: true, can_update: true, can_scan: true };
    /// Lookups only.
    pub const LOOKUPS: Self = Self { can_insert: false, can_update: false, can_scan: false };

    /// Returns the reason for which a contender with these abilities cannot run a workload, or
    /// `None` if it can.
    pub fn refusal(self, workload: &Workload) -> Option<&'static str> {
        if workload.inserts() && !self.can_insert {
            Some(CANNOT_INSERT)
        } else if workload.writes() && !self.can_update {
            Some("it cannot write")
        } else if workload.scans() && !self.can_scan {
            Some("it cannot scan")
        } else {
            None
        }
    }
}

/// Properties of a contender.
#[derive(Clone, Copy, Debug)]
pub struct ContenderProfile {
    /// An estimate of its memory per record in bytes, from which runs that cannot fit are refused.
    pub bytes_per_record: u64,
    /// The operations that it has.
    pub abilities: Abilities,
    /// Whether it runs if `--against` is not given.
    pub is_default: bool,
}

/// A contender that `--against` can select. Starting it builds an empty index.
pub type Entry = lineup::Entry<Box<dyn Contender>, ContenderProfile, ContenderSettings>;

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_ycsb::workload::standard;

    #[test]
    fn lookups_are_enough_for_workload_c_only() {
        for name in ["A", "B", "D", "E", "F"] {
            assert!(Abilities::LOOKUPS.refusal(&standard(name).unwrap()).is_some(), "{name}");
            assert!(Abilities::ALL.refusal(&standard(name).unwrap()).is_none(), "{name}");
        }
        assert!(Abilities::LOOKUPS.refusal(&standard("C").unwrap()).is_none());
    }
}
