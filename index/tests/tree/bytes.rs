//! Keys that are byte strings: random operations compared with the standard library's ordered map,
//! and operations beside each other.

use crate::common::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use xtasking::platform::Simulation;
use xtasking::primitive::OptimisticLatched;
use xtasking::{Runtime, Shutdown};
use xtasking_index::{BytesNode, Client, Tree};

type BytesTree = Tree<Vec<u8>, u64>;
type Map = BTreeMap<Vec<u8>, u64>;

fn simulated(cores: usize, seed: u64) -> Runtime {
    Runtime::builder().platform(Simulation::new(cores, seed)).build().unwrap()
}

/// Kinds of keys. Within a kind many begin alike, and some are prefixes of others.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Up to three bytes, of few values and the extreme ones.
    Short,
    /// Decimal numbers behind a common text.
    Text,
    /// Common beginnings of 20 to 100 bytes.
    Deep,
    /// Up to 5000 bytes.
    Long,
    /// Some more bytes than a block takes of a key, until the keys of a node begin alike.
    Border,
    /// All of them.
    Mixed,
}

const KINDS: [Kind; 6] = [Kind::Short, Kind::Text, Kind::Deep, Kind::Long, Kind::Border, Kind::Mixed];

fn choose(kind: Kind, random: &mut Random) -> Vec<u8> {
    let few = |random: &mut Random| [0, 1, b'a', b'b', 0xfe, 0xff][random.below(6) as usize];
    match kind {
        Kind::Short => (0..random.below(4)).map(|_| few(random)).collect(),
        Kind::Text => format!("customer/{}/order/{}", random.below(40), random.below(30)).into_bytes(),
        Kind::Deep => {
            let mut key = vec![b'p'; 20 + 16 * random.below(6) as usize];
            key.extend((0..random.below(12)).map(|_| few(random)));
            key
        }
        Kind::Long => {
            let mut key = vec![few(random); [70, 300, 1030, 5000][random.below(4) as usize]];
            key.extend((0..random.below(3)).map(|_| few(random)));
            key
        }
        Kind::Border => {
            let mut key: Vec<u8> = (0..3).map(|_| few(random)).collect();
            key.resize_with(65 + random.below(3) as usize, || random.word() as u8);
            key
        }
        Kind::Mixed => choose(KINDS[random.below(5) as usize], random),
    }
}

/// Runs one random operation on both maps and compares the results.
fn both(client: &Client<'_, Vec<u8>, u64>, map: &mut Map, key: &[u8], operation: u64, value: u64) {
    match operation {
        0..4 => {
            let is_new = !map.contains_key(key);
            map.entry(key.into()).or_insert(value);
            assert_eq!(client.insert(key, value).unwrap(), is_new, "insert {key:?}");
        }
        4 => assert_eq!(client.upsert(key, value).unwrap(), map.insert(key.into(), value), "upsert {key:?}"),
        5 => {
            let old = map.get_mut(key).map(|there| std::mem::replace(there, value));
            assert_eq!(client.update(key, value).unwrap(), old, "update {key:?}");
        }
        6 => {
            let old = map.get_mut(key).map(|there| std::mem::replace(there, *there ^ value));
            assert_eq!(client.modify(key, move |there| there ^ value).unwrap(), old, "modify {key:?}");
        }
        7 => {
            let limit = (value % 60) as usize;
            let range = map.range(key.to_vec()..).take(limit);
            let expected: Vec<_> = range.map(|(key, &value)| (key.clone(), value)).collect();
            assert_eq!(client.scan(key, limit).unwrap(), expected, "scan of {limit} from {key:?}");
        }
        8 => assert_eq!(client.get(key).unwrap(), map.get(key).copied(), "get {key:?}"),
        _ => assert_eq!(client.remove(key).unwrap(), map.remove(key), "remove {key:?}"),
    }
}

/// Compares all entries.
fn same(client: &Client<'_, Vec<u8>, u64>, map: &Map) {
    let all: Vec<_> = map.iter().map(|(key, &value)| (key.clone(), value)).collect();
    assert_eq!(client.scan(&[], usize::MAX).unwrap(), all);
    assert_eq!(client.count().unwrap(), all.len() as u64);
}

/// Grows and shrinks a tree by random operations.
fn agree(kind: Kind, rounds: u64, cores: usize, seed: u64) {
    let rt = simulated(cores, seed);
    let tree = BytesTree::new(&rt);
    let client = tree.client(&rt);
    let (mut map, mut random) = (Map::new(), Random(seed));
    for phase in 0..4 {
        for round in 0..rounds {
            let mut key = choose(kind, &mut random);
            if phase % 2 == 1 && random.percent(60) {
                key = map.range(key.clone()..).next().map_or(key, |(key, _)| key.clone());
            }
            let operation = random.below(10 + 8 * (phase % 2));
            both(&client, &mut map, &key, operation, random.word());
            if round % 64 == 0 {
                // SAFETY: this is a simulation, and this thread is not waiting.
                let report = unsafe { sound(&tree) };
                assert_eq!(report.entries, map.len() as u64, "the leaves and the map differ in size");
            }
        }
        same(&client, &map);
    }
    let mut rest: Vec<_> = map.keys().cloned().collect();
    random.shuffle(&mut rest);
    for key in rest {
        both(&client, &mut map, &key, 99, 0);
    }
    same(&client, &map);
    assert_eq!(sound_after(rt, &tree).entries, 0);
}

#[test]
fn trees_of_byte_strings_agree_with_an_ordered_map() {
    for (seed, kind) in (1..).zip(KINDS) {
        agree(kind, 800 / u64::from(PATIENCE), 2, seed);
        agree(kind, 300 / u64::from(PATIENCE), 8, seed + 100);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_byte_strings_agree(
        keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..300),
        seed in any::<u64>(),
    ) {
        let rt = simulated(2, seed);
        let tree = BytesTree::new(&rt);
        let client = tree.client(&rt);
        let (mut map, mut random) = (Map::new(), Random(seed));
        for key in &keys {
            both(&client, &mut map, key, 0, random.word());
            let end = random.below(key.len() as u64 + 1) as usize;
            both(&client, &mut map, &key[..end], random.below(12), random.word());
        }
        same(&client, &map);
        sound_after(rt, &tree);
    }
}

#[test]
fn ascending_and_descending_keys_fill_nodes() {
    for descending in [false, true] {
        let rt = simulated(2, 7);
        let tree = BytesTree::new(&rt);
        let client = tree.client(&rt);
        let mut map = Map::new();
        for number in 0..3000u64 {
            let number = if descending { 3000 - number } else { number };
            let key = format!("https://www.example.com/articles/{number:08}").into_bytes();
            both(&client, &mut map, &key, 0, number);
        }
        same(&client, &map);
        let report = sound_after(rt, &tree);
        let least = if descending { 11 } else { 35 };
        assert!(report.entries / report.leaves >= least, "nodes are too empty: {report:?}");
    }
}

#[test]
fn bulk_loads_fill_nodes() {
    let rt = simulated(2, 9);
    for kind in KINDS {
        let mut random = Random(kind as u64);
        let mut map: Map = (0..2000).map(|value| (choose(kind, &mut random), value)).collect();
        map.extend((0..1000).map(|number| (format!("customer/{number:020}").into_bytes(), number)));
        let entries = map.iter().map(|(key, &value)| (key.clone(), value));
        let tree = BytesTree::bulk_load(&rt, OptimisticLatched, entries);
        let client = tree.client(&rt);
        same(&client, &map);
        // SAFETY: no operation is running.
        let report = unsafe { sound(&tree) };
        assert!(report.entries / report.leaves >= 18, "nodes are too empty: {report:?}");
        for round in 0..200 {
            let key = choose(kind, &mut random);
            both(&client, &mut map, &key, random.below(12), round);
        }
        same(&client, &map);
    }
    let empty = BytesTree::bulk_load(&rt, OptimisticLatched, []);
    assert_eq!(empty.client(&rt).count().unwrap(), 0);
}

#[test]
fn batches_of_byte_strings_agree() {
    on_each(Setting::threads().chain(Setting::simulations(&[3, 4])), |setting| {
        let rt = setting.build();
        let tree = BytesTree::new(&rt);
        let client = tree.client(&rt);
        let mut random = Random(5);
        let mut map = Map::new();
        while map.len() < 3000 / PATIENCE as usize {
            map.insert(choose(Kind::Mixed, &mut random), random.word());
        }
        let mut entries: Vec<(&[u8], u64)> = map.iter().map(|(key, &value)| (&**key, value)).collect();
        random.shuffle(&mut entries);
        assert!(client.insert_many(&entries).unwrap().into_iter().all(|is_new| is_new));
        assert!(client.insert_many(&entries).unwrap().into_iter().all(|is_new| !is_new));
        let keys: Vec<&[u8]> = entries.iter().map(|entry| entry.0).collect();
        let values = client.get_many(&keys).unwrap();
        assert!(values.iter().zip(&entries).all(|(value, entry)| *value == Some(entry.1)));
        same(&client, &map);
        let (gone, stay) = keys.split_at(keys.len() / 2);
        assert!(client.remove_many(gone).unwrap().into_iter().all(|old| old.is_some()));
        assert!(client.get_many(gone).unwrap().into_iter().all(|value| value.is_none()));
        assert!(client.get_many(stay).unwrap().into_iter().all(|value| value.is_some()));
        sound_after(rt, &tree);
    });
}

#[test]
fn threads_change_their_keys_beside_each_other() {
    on_each(Setting::threads().chain(Setting::simulations(&[3, 4])), |setting| {
        let rt = setting.build();
        let tree = BytesTree::new(&rt);
        let rounds = 400 / u64::from(PATIENCE);
        let (threads, is_simulated) = (3u64, rt.is_simulated());
        let run = |thread: u64| {
            let client = tree.client(&rt);
            let (mut map, mut random) = (Map::new(), Random(thread + 1));
            for _ in 0..rounds {
                let mut key = choose(Kind::Mixed, &mut random);
                // The last byte says whose key it is.
                key.push(thread as u8);
                let operation = [0, 4, 5, 6, 8, 9][random.below(6) as usize];
                both(&client, &mut map, &key, operation, random.word());
            }
            map
        };
        let mut all = Map::new();
        if is_simulated {
            (0..threads).for_each(|thread| all.extend(run(thread)));
        } else {
            std::thread::scope(|scope| {
                let runs: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
                runs.into_iter().for_each(|run| all.extend(run.join().unwrap()));
            });
        }
        same(&tree.client(&rt), &all);
        sound_after(rt, &tree);
    });
}

#[test]
fn readers_see_whole_keys_beside_writers() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let tree = BytesTree::new(&rt);
    let rounds = 40 / u64::from(PATIENCE);
    let over = std::sync::atomic::AtomicBool::new(false);
    let key = |number: u64, long: bool| {
        let text = format!("key {number:04} {}", if long { "x".repeat(300) } else { String::new() });
        text.into_bytes()
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let client = tree.client(&rt);
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                // Scanned keys are whole, and their values are theirs.
                for (key, value) in client.scan(b"", usize::MAX).unwrap() {
                    let text = String::from_utf8(key).unwrap();
                    assert_eq!(text[4..8].parse::<u64>().unwrap(), value);
                }
            }
        });
        let client = tree.client(&rt);
        for round in 0..rounds {
            for number in 0..100 {
                client.upsert(&key(number, (number + round) % 7 == 0), number).unwrap();
            }
            for number in (0..100).filter(|number| number % 3 == round % 3) {
                client.remove(&key(number, (number + round) % 7 == 0)).unwrap();
            }
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        reader.join().unwrap();
    });
    sound_after(rt, &tree);
}

#[test]
fn every_type_of_key_keeps_its_order() {
    let rt = simulated(1, 3);
    let texts = Tree::<String, u64>::new(&rt);
    let client = texts.client(&rt);
    for (text, value) in [("b", 1), ("", 2), ("ä", 3), ("a", 4), ("aa", 5)] {
        assert!(client.insert(text, value).unwrap());
    }
    let keys: Vec<String> = client.scan("", 9).unwrap().into_iter().map(|entry| entry.0).collect();
    assert_eq!(keys, ["", "a", "aa", "b", "ä"]);
    assert_eq!(client.get_many(&["aa", "c"]).unwrap(), [Some(5), None]);

    let signed = Tree::<i128, u64>::new(&rt);
    let client = signed.client(&rt);
    let ascending = [i128::MIN, -1 << 70, -1, 0, 1, 1 << 64, i128::MAX];
    for key in ascending.iter().rev() {
        assert!(client.insert(*key, 7).unwrap());
    }
    let keys: Vec<i128> = client.scan(i128::MIN, 9).unwrap().into_iter().map(|entry| entry.0).collect();
    assert_eq!(keys, ascending);

    let fixed = Tree::<[u8; 20], u64, BytesNode>::new(&rt);
    let client = fixed.client(&rt);
    for byte in [9, 0, 0xff, 7] {
        assert!(client.insert([byte; 20], byte.into()).unwrap());
    }
    assert_eq!(client.scan([1; 20], 9).unwrap(), [([7; 20], 7), ([9; 20], 9), ([0xff; 20], 0xff)]);
    let wide = Tree::<u128, u64>::new(&rt);
    assert!(wide.client(&rt).insert(1 << 100, 1).unwrap());
    assert_eq!(wide.client(&rt).get(1 << 100).unwrap(), Some(1));
    drop((client, texts, signed, fixed, wide));
    rt.shutdown(Shutdown::Drain);
}
