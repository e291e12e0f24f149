use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{limits, word};
use crate::value::hash::Hash;

proptest! {
    #[test]
    fn hash_is_as_a_map(changes in vec((word(), proptest::option::weighted(0.7, word())), 0..100)) {
        let limits = limits();
        let mut model = BTreeMap::new();
        let mut hash = Hash::new();
        let mut was_large = false;
        for (field, value) in changes {
            match value {
                Some(value) => {
                    let is_long = field.len().max(value.len()) > limits.hash_max_listpack_value;
                    prop_assert_eq!(hash.set(&field, &value, &limits), !model.contains_key(&field));
                    model.insert(field, value);
                    was_large |= is_long || model.len() > limits.hash_max_listpack_entries;
                }
                None => prop_assert_eq!(hash.remove(&field), model.remove(&field).is_some()),
            }
            prop_assert_eq!(hash.len(), model.len());
            hash.check_bytes();
            prop_assert_eq!(hash.encoding(), if was_large { "hashtable" } else { "listpack" });
            for (field, value) in &model {
                prop_assert_eq!(hash.get(field), Some(value.as_slice()));
            }
            let all: BTreeMap<_, _> = hash.iter().map(|(f, v)| (f.to_vec(), v.to_vec())).collect();
            prop_assert_eq!(&all, &model);
            let indexed = (0..model.len()).filter_map(|index| hash.get_index(index));
            prop_assert!(indexed.eq(hash.iter()));
        }
    }

    /// What stays during a scan is returned, and nothing that never was.
    #[test]
    fn scan_returns_what_stays(
        stays in 0u32..60,
        changes in vec(vec((any::<bool>(), 60u32..120), 0..20), 30),
        count in 1usize..12,
    ) {
        let limits = limits();
        let mut hash = Hash::new();
        let name = |number: u32| number.to_string().into_bytes();
        for number in (0..stays).chain(60..90) {
            hash.set(&name(number), b"", &limits);
        }
        let mut returned = std::collections::BTreeSet::new();
        let mut cursor = 0;
        let mut changes = changes.into_iter();
        loop {
            cursor = hash.scan(cursor, count, |field, _| {
                returned.insert(field.to_vec());
            });
            if cursor == 0 {
                break;
            }
            for (adds, number) in changes.next().unwrap_or_default() {
                if adds {
                    hash.set(&name(number), b"", &limits);
                } else {
                    hash.remove(&name(number));
                }
            }
        }
        for number in 0..stays {
            prop_assert!(returned.contains(&name(number)), "{number} is missing");
        }
    }
}
