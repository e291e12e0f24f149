//! Ranges of keys: both orders, both ends, counting and iterators, alone and beside changes.

use crate::common::*;
use crate::with_all_primitives;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::RangeBounds;
use xtasking::{
    Context, Handle, JoinError, Promise, Runtime, Versioned, primitive::OptimisticLatched, task::LegalFor,
};
use xtasking_index::{Client, Layout, Tree, Words};

type Bounds = (Bound<u64>, Bound<u64>);

/// The entries of a range in a map, where a range that ends before it begins is empty.
fn expected(map: &BTreeMap<u64, u64>, range: Bounds) -> Vec<(u64, u64)> {
    map.iter().map(|(&key, &value)| (key, value)).filter(|(key, _)| range.contains(key)).collect()
}

/// Compares every operation on a range with the model.
fn range_agrees<L: Layout<Keys = Words>>(
    client: &Client<'_, u64, u64, L>,
    map: &BTreeMap<u64, u64>,
    range: Bounds,
    limit: usize,
) {
    let all = expected(map, range);
    let reversed: Vec<_> = all.iter().copied().rev().collect();
    let some = &all[..all.len().min(limit)];
    assert_eq!(client.scan_range(range, limit).unwrap(), some, "scan of {limit} in {range:?}");
    assert_eq!(client.scan_range(range, usize::MAX).unwrap(), all, "scan of {range:?}");
    let some = &reversed[..all.len().min(limit)];
    assert_eq!(client.scan_range_rev(range, limit).unwrap(), some, "reverse scan of {limit} in {range:?}");
    assert_eq!(client.scan_range_rev(range, usize::MAX).unwrap(), reversed, "reverse scan of {range:?}");
    assert_eq!(client.count_range(range).unwrap(), all.len() as u64, "count of {range:?}");
    let forth: Result<Vec<_>, _> = client.range(range).collect();
    assert_eq!(forth.unwrap(), all, "iteration over {range:?}");
    let back: Result<Vec<_>, _> = client.range(range).rev().collect();
    assert_eq!(back.unwrap(), reversed, "reverse iteration over {range:?}");
    // From both ends, in turns that depend on the limit.
    let (mut iter, mut both_ends) = (client.range(range), (Vec::new(), Vec::new()));
    for turn in 0.. {
        let entry = if turn % (limit + 2) == 0 { iter.next_back() } else { iter.next() };
        let Some(entry) = entry else { break };
        let side = if turn % (limit + 2) == 0 { &mut both_ends.1 } else { &mut both_ends.0 };
        side.push(entry.unwrap());
    }
    both_ends.0.extend(both_ends.1.into_iter().rev());
    assert_eq!(both_ends.0, all, "iteration over {range:?} from both ends");
    assert!(iter.next().is_none() && iter.next_back().is_none());
    assert_eq!(iter.size_hint(), (0, Some(0)));
}

/// Compares the ends, and the neighbours of a key.
fn ends_agree<L: Layout<Keys = Words>>(client: &Client<'_, u64, u64, L>, map: &BTreeMap<u64, u64>, key: u64) {
    let entry = |entry: Option<(&u64, &u64)>| entry.map(|(&key, &value)| (key, value));
    assert_eq!(client.first_key_value().unwrap(), entry(map.first_key_value()));
    assert_eq!(client.last_key_value().unwrap(), entry(map.last_key_value()));
    assert_eq!(client.floor(key).unwrap(), entry(map.range(..=key).next_back()), "floor of {key}");
    assert_eq!(client.ceiling(key).unwrap(), entry(map.range(key..).next()), "ceiling of {key}");
}

/// Random bounds, some of which end before they begin.
fn bounds(random: &mut Random, keys: u64) -> Bounds {
    let mut bound = || match random.below(8) {
        0 => Unbounded,
        1..5 => Included(random.below(keys)),
        _ => Excluded(random.below(keys)),
    };
    (bound(), bound())
}

/// Grows and shrinks a tree, and compares ranges all along. Removed runs of keys leave empty leaves
/// and dead ones behind.
fn agree<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let mut random = Random(setting.seed());
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let client = tree.client(&rt);
    let mut map = BTreeMap::new();
    range_agrees(&client, &map, (Unbounded, Unbounded), 3);
    ends_agree(&client, &map, 7);
    let keys = L::CAPACITY as u64 * 10;
    for _ in 0..12 / PATIENCE.min(4) {
        let from = random.below(keys);
        let run: Vec<u64> = (from..keys.min(from + keys / 4)).collect();
        if random.percent(60) {
            let entries: Vec<_> = run.iter().map(|&key| (key, random.word())).collect();
            client.upsert_many(&entries).unwrap();
            map.extend(entries);
        } else {
            client.remove_many(&run).unwrap();
            run.iter().for_each(|key| _ = map.remove(key));
        }
        for _ in 0..4 {
            let range = bounds(&mut random, keys);
            range_agrees(&client, &map, range, random.below(100) as usize);
            ends_agree(&client, &map, random.below(keys));
        }
    }
    range_agrees(&client, &map, (Unbounded, Unbounded), keys as usize / 2);
    sound_after(rt, &tree);
}

#[test]
fn ranges_agree_with_the_model() {
    on_each(
        [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 7 }].into_iter(),
        |setting| {
            with_all_primitives!(agree::<Hinted512>(setting));
            agree::<Sorted512, _>(OptimisticLatched, setting);
            agree::<Hinted1024, _>(OptimisticLatched, setting);
        },
    );
}

fn any_bound() -> impl Strategy<Value = Bound<u64>> {
    let key = prop_oneof![0..200u64, (0..40u64).prop_map(|below| u64::MAX - below)];
    prop_oneof![
        1 => Just(Unbounded), 4 => key.clone().prop_map(Included), 4 => key.prop_map(Excluded)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60 / PATIENCE, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Keys are around both ends of their range, as are the bounds.
    #[test]
    fn any_range_agrees(
        keys in prop::collection::vec(prop_oneof![0..200u64, u64::MAX - 40..=u64::MAX], 0..300),
        removed in prop::collection::vec(0..200u64, 0..100),
        ranges in prop::collection::vec(((any_bound(), any_bound()), 0..60usize), 1..8),
        seed in any::<u64>(),
    ) {
        for setting in [Setting::Threads { workers: 1 }, Setting::Simulation { cores: 2, seed }] {
            let rt = setting.build();
            let tree = Tree::<u64, u64, Hinted512>::new(&rt);
            let client = tree.client(&rt);
            let mut map = BTreeMap::new();
            for &key in &keys {
                assert_eq!(client.upsert(key, !key).unwrap(), map.insert(key, !key));
            }
            for key in &removed {
                assert_eq!(client.remove(*key).unwrap(), map.remove(key));
            }
            for &(range, limit) in &ranges {
                range_agrees(&client, &map, range, limit);
            }
            ends_agree(&client, &map, 100);
            sound_after(rt, &tree);
        }
    }
}

/// Keys of other types, and tasks that use the operations.
#[test]
fn tasks_read_ranges_of_signed_keys() {
    on_each(Setting::threads().chain(Setting::simulations(&[3])), |setting| {
        let rt = setting.build();
        let tree = Tree::<i32, u64>::bulk_load(&rt, OptimisticLatched, (-500..500).map(|key| (key, 7)));
        let (promise, found) = rt.promise();
        tree.scan_range(&rt, -2..2, 3, |entries, _| promise.fulfil(entries));
        assert_eq!(found.join().unwrap(), [(-2, 7), (-1, 7), (0, 7)]);
        let (promise, found) = rt.promise();
        let ends = tree.clone();
        rt.task(()).spawn(move |(), cx| {
            let tree = ends.clone();
            ends.scan_range_rev(cx, ..=0, 2, move |entries, cx| {
                let floor = tree.clone();
                tree.count_range(cx, -10..10, move |count, cx| {
                    let ceiling = floor.clone();
                    floor.floor(cx, 1000, move |below, cx| {
                        ceiling.ceiling(cx, 1000, move |above, _| {
                            promise.fulfil((entries, count, below, above));
                        });
                    });
                });
            });
        });
        assert_eq!(found.join().unwrap(), (vec![(0, 7), (-1, 7)], 20, Some((499, 7)), None));
        let ((first, least), (last, greatest)) = (rt.promise(), rt.promise());
        tree.first_key_value(&rt, |found, _| first.fulfil(found));
        tree.last_key_value(&rt, |found, _| last.fulfil(found));
        assert_eq!((least.join().unwrap(), greatest.join().unwrap()), (Some((-500, 7)), Some((499, 7))));
    });
}

/// Every 50th key stays in the tree.
const STAYS: u64 = 50;
/// The keys are below this.
const KEYS: u64 = 1500;

/// The value of a key in a round.
fn value(key: u64, round: u64) -> u64 {
    key << 32 | round
}

/// The entries that stay.
fn staying() -> impl Iterator<Item = (u64, u64)> {
    (0..KEYS).step_by(STAYS as usize).map(|key| (key, value(key, 0)))
}

/// The keys that come and go.
fn changing() -> Vec<u64> {
    (0..KEYS).filter(|key| !key.is_multiple_of(STAYS)).collect()
}

/// Checks the entries of a range, in order: each key that stays is there, no key comes twice, and
/// each value is one of its key.
fn passed(entries: &[(u64, u64)], range: std::ops::Range<u64>, is_descending: bool) {
    let mut ascending = entries.to_vec();
    if is_descending {
        ascending.reverse();
    }
    assert!(ascending.is_sorted_by(|one, next| one.0 < next.0), "keys are in strict order");
    assert!(ascending.iter().all(|&(key, value)| range.contains(&key) && value >> 32 == key));
    let stay = |key: &u64| key.is_multiple_of(STAYS);
    assert!(
        ascending.into_iter().map(|entry| entry.0).filter(stay).eq(range.clone().filter(stay)),
        "a key that stays was missed in {range:?}"
    );
}

/// Reads a random range in all ways.
fn read<L: Layout<Keys = Words>>(client: &Client<'_, u64, u64, L>, random: &mut Random) {
    let first = random.below(KEYS);
    let last = first + random.below(400);
    let range = first..last.min(KEYS);
    passed(&client.scan_range(range.clone(), usize::MAX).unwrap(), range.clone(), false);
    passed(&client.scan_range_rev(range.clone(), usize::MAX).unwrap(), range.clone(), true);
    let forth: Result<Vec<_>, _> = client.range(range.clone()).collect();
    passed(&forth.unwrap(), range.clone(), false);
    let mut iter = client.range(range.clone());
    let (mut low, mut high) = (Vec::new(), Vec::new());
    loop {
        let side = if random.percent(50) { (&mut low, iter.next()) } else { (&mut high, iter.next_back()) };
        let (side, Some(entry)) = side else { break };
        side.push(entry.unwrap());
    }
    low.extend(high.into_iter().rev());
    passed(&low, range.clone(), false);
    let floor = client.floor(first).unwrap().expect("key 0 stays");
    assert!(floor.0 <= first && floor.0 >= first / STAYS * STAYS, "floor {floor:?} of {first}");
    let last_stays = (KEYS - 1) / STAYS * STAYS;
    let ceiling = client.ceiling(first).unwrap();
    assert!(ceiling.map_or(first > last_stays, |(key, _)| (first..first + STAYS).contains(&key)));
    assert_eq!(client.first_key_value().unwrap(), Some((0, 0)));
    assert!(client.last_key_value().unwrap().is_some_and(|(key, _)| key >= last_stays));
    let count = client.count_range(range.clone()).unwrap();
    let stay = range.clone().filter(|key| key.is_multiple_of(STAYS)).count() as u64;
    assert!((stay..=range.end.saturating_sub(range.start)).contains(&count));
}

/// Adds and removes the keys that do not stay.
fn change<L: Layout<Keys = Words>>(client: &Client<'_, u64, u64, L>, rounds: u64, seed: u64) {
    let mut random = Random(seed);
    let mut keys = changing();
    for round in 0..rounds {
        random.shuffle(&mut keys);
        let entries = keys.iter().map(|&key| (key, value(key, round))).collect::<Vec<_>>();
        assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
        random.shuffle(&mut keys);
        assert!(client.remove_many(&keys).unwrap().iter().all(Option::is_some));
    }
}

fn beside_changes<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, workers: usize) {
    let _watched = watchdog();
    let _blame = Blame((P::PRIMITIVE, L::NAME, workers));
    let rt = Setting::Threads { workers }.build();
    let tree = Tree::<u64, u64, L>::bulk_load(&rt, primitive, staying());
    let client = tree.client(&rt);
    beside_readers(2, 5, |random| read(&client, random), || change(&client, 6, workers as u64));
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, KEYS.div_ceil(STAYS));
}

#[test]
fn threads_read_ranges_beside_tasks_that_change_the_tree() {
    for workers in [1, 2] {
        with_all_primitives!(beside_changes::<Hinted512>(workers));
        beside_changes::<Sorted512, _>(OptimisticLatched, workers);
    }
}

/// A chain of changes: adds a run of keys, and removes it again.
struct Changes<L: Layout<Keys = Words>> {
    tree: Tree<u64, u64, L>,
    keys: Vec<u64>,
    round: u64,
    at: usize,
    done: Promise<()>,
}

impl<L: Layout<Keys = Words>> Changes<L> {
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        if self.at == self.keys.len() {
            self.at = 0;
            self.round += 1;
        }
        if self.round == 4 {
            return self.done.fulfil(());
        }
        let (tree, key) = (self.tree.clone(), self.keys[self.at]);
        self.at += 1;
        if self.round.is_multiple_of(2) {
            tree.insert(cx, key, value(key, self.round), move |_, cx| self.advance(cx));
        } else {
            tree.remove(cx, key, move |_, cx| self.advance(cx));
        }
    }
}

/// Tasks read ranges in both orders beside chains of changes.
fn tasks_beside_changes<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let mut random = Random(setting.seed());
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::bulk_load(&rt, primitive, staying());
    let mut changes: Vec<Handle<()>> = Vec::new();
    for part in 0..4 {
        let (done, handle) = rt.promise();
        let mut keys: Vec<u64> = changing().into_iter().filter(|key| key / (KEYS / 4) == part).collect();
        random.shuffle(&mut keys);
        let chain = Box::new(Changes { tree: tree.clone(), keys, round: 0, at: 0, done });
        rt.task(()).spawn(move |(), cx| chain.advance(cx));
        changes.push(handle);
    }
    for _ in 0..30 {
        let first = random.below(KEYS);
        let range = first..(first + 500).min(KEYS);
        let ((up, ascending), (down, descending)) = (rt.promise(), rt.promise());
        tree.scan_range(&rt, range.clone(), usize::MAX, |entries, _| up.fulfil(entries));
        tree.scan_range_rev(&rt, range.clone(), usize::MAX, |entries, _| down.fulfil(entries));
        passed(&ascending.join().unwrap(), range.clone(), false);
        passed(&descending.join().unwrap(), range, true);
    }
    changes.into_iter().for_each(|handle| handle.join().unwrap());
    sound_after(rt, &tree);
}

#[test]
fn tasks_read_ranges_beside_changes() {
    let settings = [Setting::Threads { workers: 2 }].into_iter().chain(Setting::simulations(&[1, 2]));
    on_each(settings, |setting| {
        with_all_primitives!(tasks_beside_changes::<Hinted512>(setting));
        tasks_beside_changes::<Sorted512, _>(OptimisticLatched, setting);
    });
}

/// A long iteration does not keep removed nodes: they are freed while it goes on.
#[test]
fn an_iteration_does_not_hold_up_reclamation() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    let tree =
        Tree::<u64, u64, Hinted512>::bulk_load(&rt, OptimisticLatched, (0..4000).map(|key| (key, key)));
    let client = tree.client(&rt);
    let mut iter = client.iter();
    assert!(matches!(iter.next(), Some(Ok((0, 0)))));
    let nodes = tree.memory().live;
    let keys: Vec<u64> = (1000..4000).collect();
    client.remove_many(&keys).unwrap();
    eventually("the removed nodes are freed beside the iteration", || tree.memory().live < nodes / 2);
    let rest: Result<Vec<_>, _> = iter.collect();
    assert!(rest.unwrap().into_iter().eq((1..1000).map(|key| (key, key))));
    drop(client);
    sound_after(rt, &tree);
}

#[test]
fn an_iteration_ends_with_its_error() {
    silence_tasks();
    let settings = [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 1 }];
    on_each(settings.into_iter(), |setting| {
        let rt = setting.builder().on_failure(|_| ()).build().unwrap();
        let tree =
            Tree::<u64, u64, Hinted512>::bulk_load(&rt, OptimisticLatched, (0..1000).map(|key| (key, key)));
        let client = tree.client(&rt);
        assert!(client.modify(500, |_| panic!("provoked")).is_err());
        for is_reverse in [false, true] {
            let mut iter = client.iter();
            let mut advance = || if is_reverse { iter.next_back() } else { iter.next() };
            let mut sound = 0;
            let error = loop {
                match advance() {
                    Some(Ok(_)) => sound += 1,
                    Some(Err(error)) => break error,
                    None => panic!("the iteration passed a half-written leaf"),
                }
            };
            assert!(matches!(error, JoinError::Poisoned | JoinError::Abandoned), "{error:?}");
            assert!((1..1000).contains(&sound));
            assert!(advance().is_none() && advance().is_none());
        }
        assert!(client.scan_range_rev(.., usize::MAX).is_err() && client.count_range(400..600).is_err());
        assert_eq!(client.last_key_value().unwrap(), Some((999, 999)), "other leaves are sound");
    });
}

#[test]
fn a_task_gets_an_error_in_place_of_a_range() {
    let _watched = watchdog();
    let rt = std::sync::Arc::new(Setting::Threads { workers: 2 }.build());
    let tree = Tree::<u64, u64>::bulk_load(&rt, OptimisticLatched, (0..100).map(|key| (key, key)));
    let own: std::sync::Arc<Runtime> = rt.clone();
    let refused = rt.task(()).submit(move |(), _| {
        let client = tree.client(&own);
        let mut iter = client.iter();
        matches!(client.scan_range(.., 9), Err(JoinError::WouldBlock))
            && matches!(client.last_key_value(), Err(JoinError::WouldBlock))
            && matches!(iter.next(), Some(Err(JoinError::WouldBlock)))
            && iter.next().is_none()
    });
    assert!(refused.join().unwrap());
}
