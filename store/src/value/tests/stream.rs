use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{limits, word};
use crate::value::limits::CompactLimits;
use crate::value::{ConsumerGroup, EntryLog, Stream, StreamEntry, StreamId, StreamState, Trim, TrimBound};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

#[derive(Clone, Debug)]
enum Change {
    /// Appends an entry whose ID is so far from the last.
    Append(u64, Fields),
    Delete(u64),
    TrimLen(u64),
    TrimId(u64),
    /// Removes whole blocks.
    TrimBlocks(u64, usize),
    Copy,
}

fn change() -> impl Strategy<Value = Change> {
    let fields = prop_oneof![
        3 => word().prop_map(|value| vec![(b"name".to_vec(), value)]),
        1 => vec((word(), word()), 1..4),
    ];
    prop_oneof![
        10 => (1u64..4, fields).prop_map(|(step, fields)| Change::Append(step, fields)),
        4 => (0u64..80).prop_map(Change::Delete),
        1 => (0u64..20).prop_map(Change::TrimLen),
        1 => (0u64..80).prop_map(Change::TrimId),
        1 => (0u64..20, 0usize..9).prop_map(|(len, limit)| Change::TrimBlocks(len, limit)),
        1 => Just(Change::Copy),
    ]
}

/// The ID of a number: two times, so that both parts differ.
fn id(number: u64) -> StreamId {
    StreamId { ms: 1 + number / 7, seq: number % 7 }
}

fn shown(entry: &StreamEntry<'_>) -> (StreamId, Fields) {
    let text = |(name, value): (crate::value::Piece<'_>, crate::value::Piece<'_>)| {
        (name.text().into_owned(), value.text().into_owned())
    };
    (entry.id, entry.fields().map(text).collect())
}

fn check(log: &EntryLog, model: &BTreeMap<StreamId, Fields>, from: StreamId, to: StreamId) {
    let range = model.iter().filter(|(id, _)| (from..=to).contains(id));
    let expected: Vec<_> = range.map(|(id, fields)| (*id, fields.clone())).collect();
    let mut back: Vec<_> = log.range_back(from, to).map(|entry| shown(&entry)).collect();
    back.reverse();
    assert_eq!(log.range(from, to).map(|entry| shown(&entry)).collect::<Vec<_>>(), expected);
    assert_eq!(back, expected);
}

proptest! {
    #[test]
    fn streams_are_as_a_sorted_map(changes in vec(change(), 0..120), is_small in any::<bool>()) {
        let limits = if is_small { limits() } else { CompactLimits::default() };
        let mut model: BTreeMap<StreamId, Fields> = BTreeMap::new();
        let (mut stream, mut last, mut added) = (Stream::default(), 0, 0);
        for change in changes {
            let log = stream.log_mut();
            match change {
                Change::Append(step, fields) => {
                    last += step;
                    added += 1;
                    let pairs: Vec<_> =
                        fields.iter().map(|(name, value)| (&name[..], &value[..])).collect();
                    prop_assert!(log.append(id(last), pairs.iter().copied(), &limits).is_ok());
                    prop_assert!(log.append(id(last), pairs.iter().copied(), &limits).is_err());
                    model.insert(id(last), fields);
                }
                Change::Delete(number) => {
                    prop_assert_eq!(log.delete(id(number)), model.remove(&id(number)).is_some());
                }
                Change::TrimLen(len) => {
                    let excess = model.len().saturating_sub(len as usize);
                    let trim = Trim { bound: TrimBound::Len(len), is_approximate: false, limit: 0 };
                    prop_assert_eq!(log.trim(&trim), excess);
                    (0..excess).for_each(|_| drop(model.pop_first()));
                }
                Change::TrimId(number) => {
                    let bound = TrimBound::MinId(id(number));
                    let trim = Trim { bound, is_approximate: false, limit: 0 };
                    let before = model.len();
                    model.retain(|own, _| *own >= id(number));
                    prop_assert_eq!(log.trim(&trim), before - model.len());
                }
                Change::TrimBlocks(len, limit) => {
                    let trim = Trim { bound: TrimBound::Len(len), is_approximate: true, limit };
                    let removed = log.trim(&trim);
                    prop_assert!(limit == 0 || removed <= limit);
                    (0..removed).for_each(|_| drop(model.pop_first()));
                    prop_assert!(removed == 0 || model.len() as u64 >= len);
                }
                Change::Copy => stream = stream.clone(),
            }
            stream.check_bytes();
            let log = stream.log();
            prop_assert_eq!(log.len(), model.len());
            prop_assert_eq!(log.last(), model.keys().next_back().copied());
            prop_assert_eq!(log.state().first_id, model.keys().next().copied().unwrap_or_default());
            prop_assert_eq!(log.state().entries_added, added);
            check(log, &model, id(last / 3), id(last / 2));
        }
        check(stream.log(), &model, StreamId::MIN, StreamId::MAX);
        check(stream.log(), &model, id(9), id(3));
    }

    #[test]
    fn pending_entries_have_one_consumer(changes in vec((0u8..5, 0u64..9, 0u8..3), 0..60)) {
        let mut stream = Stream::default();
        stream.add_group(b"group", ConsumerGroup::new(StreamId::MIN, None));
        let mut model: BTreeMap<u64, u8> = BTreeMap::new();
        for (kind, number, consumer) in changes {
            let name = [consumer];
            let changed = stream.change_group(b"group", |_, group| match kind {
                0 => group.acknowledge(id(number)) == model.remove(&number).is_some(),
                1 if number == 0 => {
                    let pending = model.values().filter(|own| **own == consumer).count();
                    let is_there = group.consumer(&name).is_some();
                    model.retain(|_, own| *own != consumer);
                    group.remove_consumer(&name) == is_there.then_some(pending)
                }
                _ => {
                    group.see_consumer(&name, 7);
                    model.insert(number, consumer);
                    group.deliver(id(number), &name, 8, 9)
                }
            });
            prop_assert_eq!(changed, Some(true));
            stream.check_bytes();
            let group = stream.group(b"group").expect("the group");
            let pending: Vec<_> =
                group.pending_from(StreamId::MIN).map(|(id, pending)| (id, pending.consumer()[0])).collect();
            let expected: Vec<_> = model.iter().map(|(number, consumer)| (id(*number), *consumer)).collect();
            prop_assert_eq!(pending, expected);
        }
    }
}

/// Appends entries with these numbers, whatever their order.
fn log_of(numbers: &[u64]) -> EntryLog {
    let mut log = EntryLog::default();
    for &number in numbers {
        let state = *log.state();
        log.set_state(StreamState { last_id: StreamId::MIN, ..state });
        let fields = [(&b"name"[..], &b"value"[..])];
        log.append(id(number), fields.into_iter(), &CompactLimits::default()).expect("an ID");
    }
    log
}

#[test]
fn entries_after_a_deleted_one_with_a_greater_id_are_found() {
    let mut log = log_of(&[1, 5]);
    assert!(log.delete(id(5)));
    let state = *log.state();
    log.set_state(StreamState { last_id: id(2), ..state });
    let fields = [(&b"name"[..], &b"value"[..])];
    log.append(id(3), fields.into_iter(), &CompactLimits::default()).expect("an ID");
    let ids = |from, to| log.range(id(from), id(to)).map(|entry| entry.id).collect::<Vec<_>>();
    let back = |from, to| log.range_back(id(from), id(to)).map(|entry| entry.id).collect::<Vec<_>>();
    assert_eq!((ids(0, 4), back(0, 4)), (vec![id(1), id(3)], vec![id(3), id(1)]));
    assert_eq!((log.last(), log.get(id(3)).is_some()), (Some(id(3)), true));
}

#[test]
fn a_new_entry_is_not_before_the_block_that_has_it() {
    let mut log = log_of(&[10, 15]);
    assert!(log.delete(id(15)));
    // The block has no entry then, but is not known to be before this ID as a whole.
    let trim = Trim { bound: TrimBound::MinId(id(12)), is_approximate: false, limit: 0 };
    assert_eq!((log.trim(&trim), log.len(), log.blocks().len()), (1, 0, 1));
    let state = *log.state();
    log.set_state(StreamState { last_id: StreamId::MIN, ..state });
    for number in [3, 4] {
        let fields = [(&b"name"[..], &b"value"[..])];
        log.append(id(number), fields.into_iter(), &CompactLimits::default()).expect("an ID");
    }
    assert_eq!((log.get(id(4)).is_some(), log.blocks().len()), (true, 1));
    log.check();
}

#[test]
fn blocks_out_of_order_are_refused() {
    let blocks = |log: &EntryLog| -> Vec<(StreamId, Vec<u8>)> {
        log.blocks().map(|(id, block)| (id, block.to_vec())).collect()
    };
    let is_accepted = |blocks: Vec<_>| EntryLog::from_blocks(blocks.into_iter()).is_some();
    let [first, second] = [[1, 3], [4, 6]].map(|numbers| blocks(&log_of(&numbers)).remove(0));
    let overlapping = blocks(&log_of(&[2, 4])).remove(0);
    assert!(is_accepted(vec![first.clone(), second.clone()]));
    assert!(!is_accepted(vec![second.clone(), first.clone()]));
    assert!(!is_accepted(vec![first.clone(), overlapping]));
    assert!(!is_accepted(vec![first.clone(), first.clone()]));
    // The ID of a block is that of its first entry, which says how far it is from that: in the
    // byte after the header, four integers, the name, and the flags.
    let (block_id, mut bytes) = second;
    assert_eq!(bytes[6 + 4 * 2 + 6 + 2], 0);
    bytes[6 + 4 * 2 + 6 + 2] = 1;
    assert!(!is_accepted(vec![(block_id, bytes)]));
    // Only a deleted entry may be after later ones.
    let mut disordered = log_of(&[1, 5, 3]);
    assert!(!is_accepted(blocks(&disordered)));
    assert!(disordered.delete(id(5)));
    assert!(is_accepted(blocks(&disordered)));
    assert!(!is_accepted(blocks(&log_of(&[1, 3, 3]))));
}

#[test]
fn counts_stay_within_those_of_commands() {
    let (mut log, greatest) = (log_of(&[1, 2, 3]), i64::MAX as u64);
    let mut state = *log.state();
    // Fewer than there are, as a file may say.
    state.entries_added = 1;
    log.set_state(state);
    assert_eq!((log.entries_up_to(id(1)), log.entries_up_to(StreamId::MIN)), (Some(1), Some(0)));
    assert_eq!(log.count_read(id(1), Some(greatest)), Some(greatest));
    log.set_state(StreamState { entries_added: greatest, ..state });
    let fields = [(&b"name"[..], &b"value"[..])];
    log.append(id(4), fields.into_iter(), &CompactLimits::default()).expect("an ID");
    assert_eq!(log.state().entries_added, greatest);
}
