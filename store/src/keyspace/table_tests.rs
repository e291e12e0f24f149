//! The table of one database in one shard, beside what it has to have.

use super::table::{MOST_ENTRIES, Table};
use super::{Entry, KeyCut, Layout};
use crate::value::{StringValue, Value};
use std::collections::HashSet;

fn key(number: usize) -> Vec<u8> {
    format!("key:{number}").into_bytes()
}

fn insert(table: &mut Table, layout: &Layout, number: usize) {
    let value = Value::String(StringValue::Integer(number as i64));
    let key = key(number);
    table.insert(layout.hash(&key), Entry::new(&key, value, None, 0), 0, |key| layout.hash(key));
}

#[test]
fn entries_are_found_while_the_table_grows_and_shrinks() {
    let layout = Layout::new(1, 7);
    let mut table = Table::default();
    for number in 0..20_000 {
        insert(&mut table, &layout, number);
    }
    for number in 0..20_000 {
        let key = key(number);
        assert!(table.find(layout.hash(&key), &key).is_some(), "{number}");
        if number % 2 == 0 {
            assert!(table.remove(layout.hash(&key), &key).is_some());
            assert!(table.find(layout.hash(&key), &key).is_none());
        }
    }
    assert_eq!(table.len(), 10_000);
    assert_eq!(table.iter().count(), 10_000);
}

#[test]
fn the_few_entries_that_expire_are_found() {
    let layout = Layout::new(1, 5);
    let mut table = Table::default();
    (0..5000).for_each(|number| insert(&mut table, &layout, number));
    let expiring = |table: &Table, random| {
        let expires = |entry: &&Entry| entry.expires_at().is_some();
        let entries = table.iter_from(random, true).filter(expires);
        let mut keys: Vec<_> = entries.map(|entry| entry.key().to_vec()).collect();
        keys.sort();
        keys
    };
    assert_eq!(table.iter_from(1, true).count(), 0);
    for number in [17, 4711] {
        assert!(table.set_expiry(layout.hash(&key(number)), &key(number), Some(1), &mut Vec::new()));
    }
    // Segments are split meanwhile.
    (5000..20_000).for_each(|number| insert(&mut table, &layout, number));
    for random in (0..200).map(|number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
        assert_eq!(expiring(&table, random), [key(17), key(4711)]);
    }
    assert!(table.set_expiry(layout.hash(&key(17)), &key(17), None, &mut Vec::new()));
    table.remove(layout.hash(&key(4711)), &key(4711));
    assert_eq!(table.iter_from(1, true).count(), 0);
    assert!(table.segments.iter().all(|segment| segment.expiring == 0));
}

/// Else the memory of blocks that were replaced would stay, for their keys.
#[test]
fn an_order_has_the_blocks_of_the_entries() {
    let layout = Layout::new(1, 9);
    let mut table = Table::default();
    (0..500).for_each(|number| insert(&mut table, &layout, number));
    table.set_ordered(true);
    (500..1000).for_each(|number| insert(&mut table, &layout, number));
    for number in 0..1000 {
        let key = key(number);
        let hash = layout.hash(&key);
        match number % 4 {
            0 => _ = table.change(hash, &key, |entry| entry.set_text(b"of another length")).unwrap(),
            1 => _ = table.find_changeable(hash, &key, &mut Vec::new()).unwrap().value_mut(),
            2 => assert!(table.set_expiry(hash, &key, Some(7), &mut Vec::new())),
            _ => _ = table.remove(hash, &key).unwrap(),
        }
    }
    let mut keys: Vec<_> = table.iter().map(Entry::key).collect();
    keys.sort_unstable();
    let order = table.order().unwrap();
    assert!(order.between(KeyCut::Start, KeyCut::End, false).eq(keys));
    assert!(table.iter().all(|entry| entry.share_key().is_none()));
    table.set_ordered(false);
    assert_eq!(table.iter().filter_map(Entry::share_key).count(), 750);
}

/// A segment gets the room that the hint says with its second bucket.
#[test]
fn few_entries_take_little_room_whatever_the_hint_was() {
    let layout = Layout::new(1, 7);
    let mut table = Table::default();
    table.prepare(MOST_ENTRIES, 0);
    assert_eq!(table.segments.len(), 1);
    (0..7).for_each(|number| insert(&mut table, &layout, number));
    assert!(table.segments[0].entries.are_full());
    insert(&mut table, &layout, 7);
    (8..MOST_ENTRIES - 1).for_each(|number| insert(&mut table, &layout, number));
    assert!(!table.segments[0].entries.are_full());
}

/// A hint of the number of entries may be right, too small or too large.
#[test]
fn entries_are_found_in_a_table_that_was_prepared() {
    let layout = Layout::new(1, 7);
    for hint in [1, 50, 5000, 1 << 40] {
        let mut table = Table::default();
        table.prepare(hint, 0);
        let segments = table.segments.len();
        (0..5000).for_each(|number| insert(&mut table, &layout, number));
        if hint == 5000 {
            assert_eq!(table.segments.len(), segments, "none was split");
            assert!(segments < 5000 / 32);
        }
        // Later hints change nothing.
        table.prepare(10 * hint, 0);
        let is_there = |number| table.find(layout.hash(&key(number)), &key(number)).is_some();
        assert!((0..5000).all(is_there), "{hint}");
        let (mut scanned, mut from) = (0, Some(0));
        while let Some(start) = from {
            from = table.scan(start, 10, |_| scanned += 1);
        }
        assert_eq!((scanned, table.iter().count()), (5000, 5000), "{hint}");
        assert!(!table.has_unsaved(0));
    }
}

#[test]
fn a_scan_returns_what_was_there_throughout_though_the_table_grows() {
    let layout = Layout::new(1, 3);
    let mut table = Table::default();
    (0..1000).for_each(|number| insert(&mut table, &layout, number));
    let (mut seen, mut from, mut added) = (HashSet::new(), Some(0), 1000);
    while let Some(start) = from {
        from = table.scan(start, 10, |entry| {
            seen.insert(entry.key().to_vec());
        });
        for _ in 0..300 {
            insert(&mut table, &layout, added);
            added += 1;
        }
    }
    for number in 0..1000 {
        assert!(seen.contains(&key(number)), "{number}");
    }
}
