//! Requests drawn at random, and what an ordered map responds to them.

use std::collections::BTreeMap;
use xtasking_index::{Request, Response, WriteMode, WriteOutcome};
use xtasking_testing::Random;

const MODES: [WriteMode; 3] = [WriteMode::Insert, WriteMode::Update, WriteMode::Upsert];

/// What an ordered map responds to a request.
pub fn respond<V: Clone>(map: &mut BTreeMap<u64, V>, request: Request<u64, V>) -> Response<V> {
    match request {
        Request::Get(key) => Response::Get(map.get(&key).cloned()),
        Request::Remove(key) => Response::Remove(map.remove(&key)),
        Request::Write(key, value, mode) => Response::Write(match (map.get(&key).cloned(), mode) {
            (Some(old), WriteMode::Insert) => WriteOutcome::Exists(old),
            (None, WriteMode::Update) => WriteOutcome::Missing,
            (old, _) => {
                map.insert(key, value);
                old.map_or(WriteOutcome::Inserted, WriteOutcome::Replaced)
            }
        }),
        _ => unreachable!("`requests` makes no others"),
    }
}

/// Makes a request for each of these keys.
pub fn requests<V>(random: &mut Random, keys: &[u64], value: impl Fn(u64, u64) -> V) -> Vec<Request<u64, V>> {
    let request = |&key: &u64| match random.below(5) {
        0 => Request::Get(key),
        1 => Request::Remove(key),
        kind => Request::Write(key, value(key, random.below(1 << 20)), MODES[kind as usize - 2]),
    };
    keys.iter().map(request).collect()
}

/// Keys in any order, each once.
pub fn shuffled(random: &mut Random, count: u64) -> Vec<u64> {
    let mut keys: Vec<u64> = (0..count).map(|key| key * 3).collect();
    for at in (1..keys.len()).rev() {
        keys.swap(at, random.below(at as u64 + 1) as usize);
    }
    keys
}
