//! The contenders, a file for each library. A new one has an `ENTRY`, and a line in [`ALL`].

mod by_hand;
mod own;
mod rayon;
mod sequential;

use super::rows::{Matches, Sides};
use xtasking_harness::lineup::Outside;
use xtasking_harness::outside::{self, Contender};

/// A function that joins two sides.
pub(super) type Join = Box<dyn Fn(&Sides) -> Matches>;

pub(super) type Entry = xtasking_harness::lineup::Entry<Contender<Join>>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    own::PARTITIONED,
    own::WALKS,
    sequential::SHARED,
    sequential::PARTITIONED,
    rayon::SHARED,
    rayon::PARTITIONED,
    by_hand::AHEAD,
];

/// The database: a program that draws the same rows, and times its own join.
pub(super) static OUTSIDE: &[Outside<Contender<Join>>] = &[Outside {
    program: "databases",
    entry: Entry {
        name: "duckdb",
        about: "DuckDB: two tables in memory, joined by a statement",
        is_parallel: true,
        start: |workers| outside::start("databases", "duckdb-join", workers),
        more: (),
    },
}];

fn here(join: impl Fn(&Sides) -> Matches + 'static) -> Contender<Join> {
    Contender::Here(Box::new(join))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(entry: &Entry, workers: usize, sides: &Sides) -> Matches {
        match (entry.start)(workers).unwrap() {
            Contender::Here(join) => join(sides),
            Contender::Outside(_) => panic!("{} is a separate program", entry.name),
        }
    }

    #[test]
    fn all_contenders_find_the_same_matches() {
        for (build, probe) in [(1, 50), (700, 1), (1000, 5000), (60_000, 20_000)] {
            let (sides, expected) = Sides::new(build, probe, 11);
            for entry in ALL {
                for workers in [1, 3] {
                    assert_eq!(
                        join(entry, workers, &sides),
                        expected,
                        "{} {workers} {build} {probe}",
                        entry.name
                    );
                }
            }
        }
    }

    #[test]
    fn nothing_matches_an_empty_side() {
        let (mut sides, _) = Sides::new(100, 100, 11);
        sides.build.clear();
        for entry in ALL {
            assert_eq!(join(entry, 2, &sides), Matches::default(), "{}", entry.name);
        }
    }
}
