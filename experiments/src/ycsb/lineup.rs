//! The contenders of the experiment, by name.

use super::contender::Entry;
use super::runtime;
use crate::peers;
use xtasking_harness::common::Common;
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{self, help_with_default};

/// All contenders. The first always runs, and ratios are relative to it.
pub static ALL: &[Entry] = &[
    runtime::XTASKING,
    runtime::BUNDLES,
    runtime::NO_PREFETCH,
    peers::threads::THREADS,
    peers::threads::LIMIT,
    peers::scc::ENTRY,
    peers::congee::ENTRY,
    peers::skiplist::ENTRY,
    peers::btreemap::ENTRY,
];

/// The selected contenders, and their turns.
pub(super) type Lineup = lineup::Lineup<
    Box<dyn super::contender::Contender>,
    super::contender::ContenderProfile,
    super::settings::ContenderSettings,
>;

/// Selects the contenders by `--against`.
pub(super) fn select(common: &Common) -> Result<Lineup, Failure> {
    Lineup::with_default(ALL, &[], common, |entry| entry.more.is_default)
}

/// Returns the help text that lists the names for `--against`.
pub(super) fn help() -> String {
    help_with_default(ALL, |entry| entry.more.is_default)
}

#[cfg(test)]
mod tests {
    use super::ALL;
    use super::{Lineup, select as select_by};
    use clap::Parser;
    use xtasking_harness::common::Common;
    use xtasking_harness::failure::Failure;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        common: Common,
    }

    fn select(against: Option<Vec<String>>) -> Result<Lineup, Failure> {
        select_by(&Common { against, ..Arguments::parse_from(["test"]).common })
    }

    #[test]
    fn names_are_unique() {
        for (index, entry) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|earlier| earlier.name != entry.name), "{}", entry.name);
        }
    }

    #[test]
    fn the_first_is_always_selected_once() {
        let names = |against: &[&str]| -> Vec<_> {
            let against: Vec<_> = against.iter().map(|name| name.to_string()).collect();
            select(Some(against)).unwrap().contenders.iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&[]), [ALL[0].name]);
        assert_eq!(names(&["btreemap", ALL[0].name, "btreemap"]), [ALL[0].name, "btreemap"]);
        assert_eq!(select(None).unwrap().contenders[0].name, ALL[0].name);
        let error = select(Some(vec!["btremap".to_string()])).err().unwrap();
        assert!(error.to_string().contains("did you mean 'btreemap'?"), "{error}");
    }
}
