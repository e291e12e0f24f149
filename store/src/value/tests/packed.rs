use proptest::collection::vec;
use proptest::prelude::*;

use super::word;
use crate::value::packed::PackedList;

#[derive(Clone, Debug)]
enum Change {
    PushBack(Vec<u8>),
    PushFront(Vec<u8>),
    Insert(usize, Vec<u8>),
    Replace(usize, Vec<u8>),
    Remove(usize, usize),
    Split(usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        word().prop_map(Change::PushBack),
        word().prop_map(Change::PushFront),
        (any::<usize>(), word()).prop_map(|(index, word)| Change::Insert(index, word)),
        (any::<usize>(), word()).prop_map(|(index, word)| Change::Replace(index, word)),
        (any::<usize>(), 0usize..4).prop_map(|(index, count)| Change::Remove(index, count)),
        any::<usize>().prop_map(Change::Split),
    ]
}

proptest! {
    #[test]
    fn packed_is_as_a_vector(changes in vec(change(), 0..60)) {
        let mut model: Vec<Vec<u8>> = Vec::new();
        let mut packed = PackedList::new();
        for change in changes {
            match change {
                Change::PushBack(word) => {
                    packed.push_back(&word);
                    model.push(word);
                }
                Change::PushFront(word) => {
                    packed.push_front(&word);
                    model.insert(0, word);
                }
                Change::Insert(index, word) => {
                    let index = index % (model.len() + 1);
                    packed.insert(index, &word);
                    model.insert(index, word);
                }
                Change::Replace(index, word) if !model.is_empty() => {
                    let index = index % model.len();
                    packed.replace(index, &word);
                    model[index] = word;
                }
                Change::Replace(..) => {}
                Change::Remove(index, count) => {
                    let index = index % (model.len() + 1);
                    let count = count.min(model.len() - index);
                    packed.remove(index, count);
                    model.drain(index..index + count);
                }
                Change::Split(index) => {
                    let rest = packed.split_off(index % (model.len() + 1));
                    packed.append(&rest);
                }
            }
            prop_assert_eq!(packed.len(), model.len());
            prop_assert!(packed.iter().eq(model.iter().map(Vec::as_slice)));
            prop_assert!(packed.iter().rev().eq(model.iter().rev().map(Vec::as_slice)));
            for index in 0..=model.len() {
                prop_assert_eq!(packed.get(index), model.get(index).map(Vec::as_slice));
                prop_assert!(packed.iter_from(index).eq(model[index..].iter().map(Vec::as_slice)));
            }
        }
    }
}

#[test]
fn lengths_of_all_widths_are_read_from_both_ends() {
    for len in [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152] {
        let mut packed = PackedList::new();
        packed.push_back(b"before");
        packed.push_back(&vec![7; len]);
        packed.push_back(b"after");
        assert_eq!(packed.iter().nth(1).map(<[u8]>::len), Some(len));
        assert_eq!(packed.iter().rev().nth(1).map(<[u8]>::len), Some(len));
        assert_eq!(packed.iter().next_back(), Some(b"after".as_slice()));
    }
}

#[test]
fn memory_is_given_back_when_entries_become_smaller() {
    let mut list: PackedList = [&[1; 10_000][..], &[2; 100]].into_iter().collect();
    list.replace(0, b"small");
    assert!(list.memory() < 500, "{}", list.memory());
    assert_eq!(list.iter().collect::<Vec<_>>(), [&b"small"[..], &[2; 100]]);
    let mut list: PackedList = [&[1; 100][..], &[2; 10_000]].into_iter().collect();
    assert_eq!(list.split_off(1).len(), 1);
    assert!(list.memory() < 500, "{}", list.memory());
}
