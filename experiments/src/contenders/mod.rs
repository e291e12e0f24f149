//! What takes part in the YCSB experiment.
//!
//! A contender is built anew for every load, loads and runs what a [`Plan`] says, checks every result with it, and
//! afterwards shows everything it holds. [`ALL`] lists them: to add one, write an [`Entry`] beside it and name that here.
//! What several threads can use as it is needs only [`peers::map::ConcurrentMap`]; anything else is a [`Contender`] itself.

mod runtime;
mod settings;

pub use settings::{Layout, Prefetch, Primitive, Settings};

use crate::peers;
use crate::ycsb::plan::{Plan, Wrong};
use crate::ycsb::workload::Workload;
use std::sync::Arc;
use std::time::Duration;

/// An index, with what it takes to run requests on it.
///
/// The plans of one instance follow upon each other: first the one that loads, then those of the runs.
pub trait Contender {
    /// Carries out a plan that loads; the time is that from the first operation to the last result.
    fn load(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        self.run(plan)
    }

    /// Carries out a plan, checking every result; the time is that from the first operation to the last result.
    fn run(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong>;

    /// Shows everything that is there to an [`Audit`](crate::ycsb::plan::Audit) of the plan that has just been
    /// carried out. Not timed.
    fn verify(&mut self, plan: &Arc<Plan>) -> Result<(), Wrong>;
}

/// Why some contenders take no part where records are added.
pub const CANNOT_INSERT: &str = "it cannot insert";

/// What a contender can do beyond looking up keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Whether it can insert one key after another, so that loading it is a result of its own.
    pub inserts: bool,
    /// Whether it can overwrite values.
    pub updates: bool,
    /// Whether it can read ranges.
    pub scans: bool,
}

impl Abilities {
    /// Everything.
    pub const ALL: Self = Self { inserts: true, updates: true, scans: true };
    /// Lookups only.
    pub const LOOKUPS: Self = Self { inserts: false, updates: false, scans: false };

    /// Why a workload is beyond these abilities, if it is.
    pub fn refuse(self, workload: &Workload) -> Option<&'static str> {
        if workload.inserts() && !self.inserts {
            Some(CANNOT_INSERT)
        } else if workload.writes() && !self.updates {
            Some("it cannot write")
        } else if workload.scans() && !self.scans {
            Some("it cannot scan")
        } else {
            None
        }
    }
}

/// A contender that can be asked for by name.
pub struct Entry {
    /// The name for `--against` and in results.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// About how much memory it needs for a record, to refuse what cannot fit.
    pub bytes_per_record: u64,
    /// What it can do.
    pub abilities: Abilities,
    /// Whether it takes part where `--against` is not given.
    pub by_default: bool,
    /// Builds an empty one.
    pub build: fn(&Settings) -> Box<dyn Contender>,
}

/// All contenders. The first always takes part, and ratios are those to it.
pub static ALL: &[Entry] = &[
    runtime::XTASKING,
    runtime::NO_PREFETCH,
    peers::threads::THREADS,
    peers::threads::LIMIT,
    peers::scc::ENTRY,
    peers::congee::ENTRY,
    peers::skiplist::ENTRY,
    peers::btreemap::ENTRY,
];

/// Those that take part: the first, and those asked for, in their order; nothing asked for means the default.
pub fn select(against: Option<&[String]>) -> Result<Vec<&'static Entry>, String> {
    let first = &ALL[0];
    let Some(against) = against else {
        return Ok(ALL.iter().filter(|entry| entry.by_default || entry.name == first.name).collect());
    };
    let names: Vec<_> = ALL.iter().map(|entry| entry.name).collect();
    let places = crate::suggestion::take_part("contender", &names, against)?;
    Ok(places.into_iter().map(|place| &ALL[place]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ycsb::workload::standard;

    #[test]
    fn names_are_unique() {
        for (place, entry) in ALL.iter().enumerate() {
            assert!(ALL[..place].iter().all(|earlier| earlier.name != entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn the_first_is_always_selected_once() {
        let names = |against: &[&str]| -> Vec<_> {
            let against: Vec<_> = against.iter().map(|name| name.to_string()).collect();
            select(Some(&against)).unwrap().iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&[]), [ALL[0].name]);
        assert_eq!(names(&["btreemap", ALL[0].name, "btreemap"]), [ALL[0].name, "btreemap"]);
        assert_eq!(select(None).unwrap()[0].name, ALL[0].name);
        let error = select(Some(&["btremap".to_string()])).err().unwrap();
        assert!(error.contains("did you mean 'btreemap'?"), "{error}");
    }

    #[test]
    fn lookups_are_enough_for_workload_c_only() {
        for name in ["A", "B", "D", "E", "F"] {
            assert!(Abilities::LOOKUPS.refuse(&standard(name).unwrap()).is_some(), "{name}");
            assert!(Abilities::ALL.refuse(&standard(name).unwrap()).is_none(), "{name}");
        }
        assert!(Abilities::LOOKUPS.refuse(&standard("C").unwrap()).is_none());
    }
}
