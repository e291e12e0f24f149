//! The contenders, a file for each. A new one is a file with an `ENTRY`, and a line in [`ALL`].
//!
//! | file | what it holds |
//! |---|---|
//! | `hash_map` | the map of `xtasking-index`, on this runtime |
//! | `versioned` | tables of one's own on this runtime, of a fixed size |
//! | `sharded` | tables of the crate `hashbrown` behind locks |
//! | `dashmap`, `papaya` | maps of the crates of these names |
//! | `buckets` | loops by hand over buckets, with and without prefetching |

#[allow(unsafe_code, reason = "zeroed words as buckets")]
mod buckets;
mod dashmap;
mod hash_map;
mod papaya;
mod sharded;
mod versioned;

use super::contender::Entry;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] = &[
    hash_map::ENTRY,
    hash_map::GROWING,
    hash_map::BATCHES,
    versioned::walks::ENTRY,
    versioned::visits::ENTRY,
    sharded::ENTRY,
    dashmap::ENTRY,
    papaya::ENTRY,
    buckets::PLAIN,
    buckets::AHEAD,
];

#[cfg(test)]
mod tests {
    use super::super::contender::Settings;
    use super::super::workload::Workload;
    use super::*;

    #[test]
    fn all_contenders_find_what_was_inserted() {
        for (records, lookups) in [(1, 10), (1000, 5000), (20_000, 333)] {
            let workload = Workload::new(records, lookups, &[0, 30], 7);
            for entry in ALL {
                for workers in [1, 3] {
                    let context = format!("{} with {workers} workers, {records} records", entry.name);
                    let mut contender = (entry.start)(Settings { workers, ahead: 5 }).unwrap();
                    assert!(contender.look_up(&workload.keys, &mut vec![None; records]).is_err());
                    // The second map replaces the first one.
                    for _ in 0..2 {
                        let (_, new) = contender.load(&workload.keys).unwrap();
                        workload.check_new(new).unwrap_or_else(|wrong| panic!("{context}: {wrong}"));
                        for lookups in &workload.lookups {
                            let mut found = vec![None; lookups.keys.len()];
                            contender.look_up(&lookups.keys, &mut found).unwrap();
                            lookups.check(&found).unwrap_or_else(|wrong| panic!("{context}: {wrong}"));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_key_that_is_there_is_not_new() {
        let workload = Workload::new(500, 1, &[0], 7);
        let twice: std::sync::Arc<[u64]> = workload.keys.iter().chain(&*workload.keys).copied().collect();
        for entry in ALL {
            let mut contender = (entry.start)(Settings { workers: 2, ahead: 16 }).unwrap();
            let (_, new) = contender.load(&twice).unwrap();
            assert_eq!(new, 500, "{}", entry.name);
        }
    }
}
