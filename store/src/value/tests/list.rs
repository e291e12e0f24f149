use proptest::collection::vec;
use proptest::prelude::*;

use super::{limits, word};
use crate::value::limits::CompactLimits;
use crate::value::list::{End, List};

#[derive(Clone, Debug)]
enum Change {
    Push(End, Vec<u8>),
    Pop(End),
    Insert(usize, Vec<u8>),
    Set(usize, Vec<u8>),
    RemoveRange(usize, usize),
    RemoveEqual(End, usize, Vec<u8>),
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Left), Just(End::Right)]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (end(), word()).prop_map(|(end, word)| Change::Push(end, word)),
        1 => end().prop_map(Change::Pop),
        3 => (any::<usize>(), word()).prop_map(|(index, word)| Change::Insert(index, word)),
        2 => (any::<usize>(), word()).prop_map(|(index, word)| Change::Set(index, word)),
        1 => (any::<usize>(), 0usize..9).prop_map(|(index, count)| Change::RemoveRange(index, count)),
        1 => (end(), 1usize..4, word())
            .prop_map(|(end, limit, word)| Change::RemoveEqual(end, limit, word)),
    ]
}

/// Removes from the model what [`List::remove_equal`] removes.
fn remove_equal(model: &mut Vec<Vec<u8>>, end: End, limit: usize, word: &[u8]) -> usize {
    let before = model.len();
    if end == End::Right {
        model.reverse();
    }
    let mut left = limit;
    model.retain(|other| {
        let is_removed = left > 0 && other == word;
        left -= usize::from(is_removed);
        !is_removed
    });
    if end == End::Right {
        model.reverse();
    }
    before - model.len()
}

proptest! {
    #[test]
    fn list_is_as_a_vector(changes in vec(change(), 0..120)) {
        let limits = limits();
        let mut model: Vec<Vec<u8>> = Vec::new();
        let mut list = List::new();
        for change in changes {
            match change {
                Change::Push(end, word) => {
                    list.push(end, &word, &limits);
                    let at = if end == End::Left { 0 } else { model.len() };
                    model.insert(at, word);
                }
                Change::Pop(end) => {
                    let popped = list.pop(end, &limits).map(Vec::from);
                    let expected = match end {
                        End::Left if model.is_empty() => None,
                        End::Left => Some(model.remove(0)),
                        End::Right => model.pop(),
                    };
                    prop_assert_eq!(popped, expected);
                }
                Change::Insert(index, word) => {
                    let index = index % (model.len() + 1);
                    list.insert(index, &word, &limits);
                    model.insert(index, word);
                }
                Change::Set(index, word) => {
                    let index = index % (model.len() + 1);
                    let is_set = list.set(index, &word, &limits);
                    prop_assert_eq!(is_set, index < model.len());
                    if is_set {
                        model[index] = word;
                    }
                }
                Change::RemoveRange(index, count) => {
                    let index = index % (model.len() + 1);
                    let end = (index + count).min(model.len());
                    list.remove_range(index..end, &limits);
                    model.drain(index..end);
                }
                Change::RemoveEqual(end, limit, word) => {
                    let removed = list.remove_equal(end, limit, &word, &limits);
                    prop_assert_eq!(removed, remove_equal(&mut model, end, limit, &word));
                }
            }
            prop_assert_eq!(list.len(), model.len());
            list.check_bytes();
            prop_assert!(list.iter().eq(model.iter().map(Vec::as_slice)));
            prop_assert!(list.iter().rev().eq(model.iter().rev().map(Vec::as_slice)));
            for index in 0..=model.len() {
                prop_assert_eq!(list.get(index), model.get(index).map(Vec::as_slice));
                let end = (index + 5).min(model.len());
                let range = list.range(index..end);
                prop_assert!(range.eq(model[index..end].iter().map(Vec::as_slice)));
            }
        }
    }
}

#[test]
fn encoding_follows_the_size() {
    let limits = CompactLimits { list_max_listpack_size: 4, ..CompactLimits::default() };
    let mut list = List::new();
    for _ in 0..4 {
        list.push(End::Right, b"x", &limits);
    }
    assert_eq!(list.encoding(), "listpack");
    list.push(End::Right, b"x", &limits);
    assert_eq!(list.encoding(), "quicklist");
    list.remove_range(3..5, &limits);
    assert_eq!((list.len(), list.encoding()), (3, "quicklist"));
    list.remove_range(0..1, &limits);
    assert_eq!((list.len(), list.encoding()), (2, "listpack"));
}

#[test]
fn chunks_are_bounded_by_bytes() {
    let limits = CompactLimits::default();
    let mut list = List::new();
    list.push(End::Left, &[1; 8000], &limits);
    assert_eq!(list.encoding(), "listpack");
    list.push(End::Left, &[2; 8000], &limits);
    assert_eq!(list.encoding(), "quicklist");
    list.set(0, &[3; 20_000], &limits);
    assert_eq!(list.get(0), Some([3; 20_000].as_slice()));
    assert_eq!(list.get(1), Some([1; 8000].as_slice()));
}
