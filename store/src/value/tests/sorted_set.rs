use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{limits, word};
use crate::value::limits::CompactLimits;
use crate::value::sorted_set::SortedSet;

#[derive(Clone, Debug)]
enum Change {
    Insert(Vec<u8>, f64),
    Remove(Vec<u8>),
    RemoveRange(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let score =
        prop_oneof![(-4i8..4).prop_map(f64::from), Just(f64::INFINITY), Just(f64::NEG_INFINITY), (-1e9..1e9)];
    prop_oneof![
        6 => (word(), score).prop_map(|(member, score)| Change::Insert(member, score)),
        2 => word().prop_map(Change::Remove),
        1 => (any::<usize>(), 0usize..4).prop_map(|(start, count)| Change::RemoveRange(start, count)),
    ]
}

/// Returns the model's members and scores in order.
fn sorted(model: &BTreeMap<Vec<u8>, f64>) -> Vec<(&[u8], f64)> {
    let mut all: Vec<_> = model.iter().map(|(member, score)| (member.as_slice(), *score)).collect();
    all.sort_by(|left, right| left.1.total_cmp(&right.1).then(left.0.cmp(right.0)));
    all
}

proptest! {
    #[test]
    fn sorted_set_is_as_a_sorted_vector(changes in vec(change(), 0..120), is_small in any::<bool>()) {
        let limits = if is_small { limits() } else { CompactLimits::default() };
        let mut model: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
        let mut set = SortedSet::new();
        for change in changes {
            match change {
                Change::Insert(member, score) => {
                    // The model's order tells 0 from -0; the set has them equal.
                    let score = score + 0.0;
                    prop_assert_eq!(set.insert(&member, score, &limits), model.get(&member).copied());
                    model.insert(member, score);
                }
                Change::Remove(member) => prop_assert_eq!(set.remove(&member), model.remove(&member)),
                Change::RemoveRange(start, count) => {
                    let start = start % (model.len() + 1);
                    let end = (start + count).min(model.len());
                    set.remove_range(start..end);
                    let removed: Vec<_> =
                        sorted(&model)[start..end].iter().map(|(member, _)| member.to_vec()).collect();
                    model.retain(|member, _| !removed.contains(member));
                }
            }
            let expected = sorted(&model);
            prop_assert_eq!(set.len(), expected.len());
            set.check_bytes();
            prop_assert!(set.iter().eq(expected.iter().copied()));
            prop_assert!(set.iter().rev().eq(expected.iter().rev().copied()));
            for (rank, (member, score)) in expected.iter().enumerate() {
                prop_assert_eq!(set.rank(member), Some((rank, *score)));
                prop_assert_eq!(set.score(member), Some(*score));
            }
            for bound in [f64::NEG_INFINITY, -1.0, 0.0, 2.5, f64::INFINITY] {
                let rank = expected.partition_point(|(_, score)| *score < bound);
                prop_assert_eq!(set.partition_point(|score, _| score < bound), rank);
                let range = rank..(rank + 4).min(expected.len());
                prop_assert!(set.range(range.clone()).eq(expected[range].iter().copied()));
            }
        }
    }
}

#[test]
fn many_members_keep_order_and_scan() {
    let limits = CompactLimits::default();
    let mut set = SortedSet::new();
    for number in 0..10_000u32 {
        let member = number.wrapping_mul(2_654_435_761) % 10_007;
        set.insert(member.to_string().as_bytes(), f64::from(member % 100), &limits);
    }
    let len = set.len();
    assert_eq!(set.encoding(), "skiplist");
    assert!(set.iter().is_sorted_by(|left, right| (left.1, left.0) < (right.1, right.0)));
    let mut visited = 0;
    let mut cursor = 0;
    loop {
        cursor = set.scan(cursor, 100, |_, _| visited += 1);
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(visited, len);
    set.remove_range(100..len);
    assert_eq!(set.len(), 100);
}
