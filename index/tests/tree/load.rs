//! Bulk loads with all workers.

use crate::common::*;
use crate::with_all_primitives;
use xtasking::{Versioned, primitive::OptimisticLatched, task::LegalFor};
use xtasking_index::{Key, Layout, LoadError, Report, Tree, Value, Words};

/// Loads entries in both ways. Both trees must have the same nodes and entries. Returns their
/// report.
fn load<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>> + Copy>(
    primitive: P,
    setting: Setting,
    entries: &[(u64, u64)],
) -> Report {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting, entries.len()));
    let rt = setting.build();
    let sequential = Tree::<u64, u64, L>::bulk_load(&rt, primitive, entries.iter().copied());
    let tree = Tree::<u64, u64, L>::load_sorted(&rt, primitive, entries).unwrap();
    let client = tree.client(&rt);
    assert_eq!(client.scan(0, usize::MAX).unwrap(), entries);
    let keys: Vec<u64> = entries.iter().map(|entry| entry.0).step_by(97).collect();
    let values: Vec<_> = entries.iter().map(|entry| Some(entry.1)).step_by(97).collect();
    assert_eq!(client.get_many(&keys).unwrap(), values);
    // The tree takes changes as any other.
    for key in [0, 12_345, u64::MAX] {
        let before = client.get(key).unwrap();
        assert_eq!(client.upsert(key, 1).unwrap(), before);
        assert_eq!(client.get(key).unwrap(), Some(1));
        match before {
            Some(value) => assert_eq!(client.update(key, value).unwrap(), Some(1)),
            None => assert_eq!(client.remove(key).unwrap(), Some(1)),
        }
    }
    assert_eq!(tree.memory().live, sequential.memory().live);
    rt.shutdown(xtasking::Shutdown::Drain);
    // SAFETY: the runtime was shut down, so no operation is left.
    let reports = unsafe { [sound(&tree), sound(&sequential)] };
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0].unseparated, 0);
    let [report, _] = reports;
    report
}

fn entries(count: u64) -> Vec<(u64, u64)> {
    (0..count).map(|index| (index * 7, !index)).collect()
}

#[test]
fn a_tree_loaded_by_all_workers_is_the_same() {
    on_each(Setting::simulations(&[1]).chain(Setting::threads()), |setting| {
        // None, one, one leaf and a little more, several levels; at the borders of shares.
        for count in [0, 1, 2, 21, 22, 43, 671, 672, 673, 1_344, 1_345, 20_000] {
            let report = load::<Hinted512, _>(OptimisticLatched, setting, &entries(count));
            assert_eq!(report.entries, count);
        }
    });
    let setting = Setting::Simulation { cores: 4, seed: 2 };
    on_each([setting].into_iter(), |setting| {
        with_all_primitives!(load::<Sorted512>(setting, &entries(5_000)));
    });
    let setting = Setting::Threads { workers: 2 };
    on_each([setting].into_iter(), |setting| {
        let report = load::<Hinted1024, _>(OptimisticLatched, setting, &entries(400_000));
        assert!(report.levels == 4 && report.leaves == 8_000, "{report:?}");
    });
}

#[test]
fn both_ends_of_the_keys_are_loaded() {
    let setting = Setting::Simulation { cores: 4, seed: 1 };
    on_each([setting].into_iter(), |setting| {
        let mut ends = entries(3_000);
        ends.push((u64::MAX - 1, 1));
        ends.push((u64::MAX, 2));
        load::<Hinted512, _>(OptimisticLatched, setting, &ends);
        load::<Sorted512, _>(OptimisticLatched, setting, &[(u64::MAX, 3)]);
    });
}

#[test]
fn the_first_disorder_is_reported() {
    let _watched = watchdog();
    let rt = Setting::Simulation { cores: 4, seed: 1 }.build();
    let load = |entries: &[(u64, u64)]| {
        Tree::<u64, u64, Hinted512>::load_sorted(&rt, OptimisticLatched, entries).map(drop)
    };
    let sorted = entries(5_000);
    load(&sorted).unwrap();
    // In a leaf, between leaves, and between shares.
    for at in [1, 20, 21, 22, 671, 672, 673, 4_999] {
        let mut twice = sorted.clone();
        twice[at].0 = twice[at - 1].0;
        let failed = load(&twice);
        assert!(matches!(failed, Err(LoadError::Unsorted { index }) if index == at), "{at}: {failed:?}");
        twice[4_990].0 = 0;
        let failed = load(&twice);
        assert!(
            matches!(failed, Err(LoadError::Unsorted { index }) if index == at.min(4_990)),
            "{at}: {failed:?}"
        );
    }
    let text = load(&[(2, 0), (1, 0)]).unwrap_err().to_string();
    assert_eq!(text, "the key of entry 1 is not above that of the entry before it");
}

#[test]
fn a_worker_cannot_wait_for_a_load() {
    let _watched = watchdog();
    let rt = std::sync::Arc::new(Setting::Threads { workers: 2 }.build());
    let inner = rt.clone();
    let failed = rt
        .task(())
        .submit(move |(), _| Tree::<u64, u64>::load_sorted(&inner, OptimisticLatched, &[(1, 1)]).map(drop))
        .join()
        .unwrap();
    assert!(matches!(failed, Err(LoadError::Join(xtasking::JoinError::WouldBlock))), "{failed:?}");
}

#[test]
fn other_keys_and_values_are_loaded() {
    fn check<K: Key, V: Value + PartialEq + std::fmt::Debug>(
        entries: &[(K::Arg<'_>, V)],
        keys: &[K::Arg<'_>],
    ) {
        let rt = Setting::Simulation { cores: 2, seed: 1 }.build();
        let tree = Tree::<K, V>::load_sorted(&rt, OptimisticLatched, entries).unwrap();
        let values = tree.client(&rt).get_many(keys).unwrap();
        assert!(values.iter().zip(entries).all(|(value, entry)| value.as_ref() == Some(&entry.1)));
    }
    let _watched = watchdog();
    let signed: Vec<(i32, f64)> = (-3_000..3_000).map(|key| (key, f64::from(key) / 2.0)).collect();
    let keys: Vec<i32> = signed.iter().map(|entry| entry.0).collect();
    check::<i32, f64>(&signed, &keys);
    let bytes: Vec<([u8; 4], bool)> = (0..3_000u32).map(|key| (key.to_be_bytes(), key % 3 == 0)).collect();
    let keys: Vec<[u8; 4]> = bytes.iter().map(|entry| entry.0).collect();
    check::<[u8; 4], bool>(&bytes, &keys);
}
