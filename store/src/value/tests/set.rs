use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{limits, word};
use crate::value::intset::IntSet;
use crate::value::set::Set;

proptest! {
    #[test]
    fn set_is_as_a_tree(first in word(), changes in vec((word(), any::<bool>()), 0..100)) {
        let limits = limits();
        let mut model = BTreeSet::new();
        let mut set = Set::new(&first, 1, &limits);
        for (member, adds) in changes {
            if adds {
                prop_assert_eq!(set.insert(&member, &limits), model.insert(member));
            } else {
                prop_assert_eq!(set.remove(&member), model.remove(&member));
            }
            prop_assert_eq!(set.len(), model.len());
            set.check_bytes();
            prop_assert!(model.iter().all(|member| set.contains(member)));
            let all: BTreeSet<_> = set.iter().map(|member| member.into_owned()).collect();
            prop_assert_eq!(&all, &model);
            let indexed = (0..model.len()).filter_map(|index| set.get_index(index));
            prop_assert!(indexed.eq(set.iter()));
            let mut visited = Vec::new();
            let mut cursor = 0;
            loop {
                cursor = set.scan(cursor, 3, |member| visited.push(member.into_owned()));
                if cursor == 0 {
                    break;
                }
            }
            visited.sort();
            prop_assert!(visited.iter().eq(&model));
        }
    }

    #[test]
    fn integers_are_as_in_a_tree(changes in vec((any::<i64>(), 0u32..63, any::<bool>()), 0..100)) {
        let mut model = BTreeSet::new();
        let mut set = IntSet::default();
        for (number, shift, adds) in changes {
            let number = number >> shift;
            if adds {
                prop_assert_eq!(set.insert(number), model.insert(number));
            } else {
                prop_assert_eq!(set.remove(number), model.remove(&number));
            }
            prop_assert!(set.iter().eq(model.iter().copied()));
            prop_assert_eq!(set.contains(number), model.contains(&number));
        }
    }
}

#[test]
fn encoding_follows_the_members() {
    let limits = limits();
    let mut set = Set::new(b"1", 1, &limits);
    set.insert(b"1", &limits);
    assert_eq!(set.encoding(), "intset");
    set.insert(b"word", &limits);
    assert_eq!(set.encoding(), "listpack");
    set.insert(b"longer than 8", &limits);
    assert_eq!(set.encoding(), "hashtable");
    let mut integers = Set::new(b"0", 1, &limits);
    (0..6).for_each(|number| assert!(integers.insert(number.to_string().as_bytes(), &limits)));
    assert_eq!(integers.encoding(), "hashtable");
    assert_eq!(Set::new(b"1", 6, &limits).encoding(), "listpack");
    assert_eq!(Set::new(b"1", 8, &limits).encoding(), "hashtable");
}
