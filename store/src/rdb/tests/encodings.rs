//! Encodings that older versions of Redis wrote.

use super::super::record::decode_value;
use super::super::{RdbErrorKind, RdbReader, Record, codes};
use super::contents;
use crate::rdb::{dump, restore};
use crate::value::{CompactLimits, ConsumerGroup, Stream, StreamId, StreamState, Value};

/// An entry of a ziplist without the length of the one before.
const ZIPLIST_ENTRIES: &[(&[u8], &str)] = &[
    (b"\x03abc", "abc"),
    (b"\xf1", "0"),
    (b"\xfd", "12"),
    (b"\xfe\xf3", "-13"),
    (b"\xc0\x00\x80", "-32768"),
    (b"\xf0\x00\x00\x80", "-8388608"),
    (b"\xd0\x00\x00\x00\x80", "-2147483648"),
    (b"\xe0\xff\xff\xff\xff\xff\xff\xff\x7f", "9223372036854775807"),
    (b"\x40\x05hello", "hello"),
    (b"\x80\x00\x00\x00\x02hi", "hi"),
];

const LISTPACK_ENTRIES: &[(&[u8], &str)] = &[
    (b"\x7f", "127"),
    (b"\x83abc", "abc"),
    (b"\xdf\xff", "-1"),
    (b"\xcf\xff", "4095"),
    (b"\xe0\x05hello", "hello"),
    (b"\xf1\x00\x80", "-32768"),
    (b"\xf2\xff\xff\x7f", "8388607"),
    (b"\xf3\x00\x00\x00\x80", "-2147483648"),
    (b"\xf4\x00\x00\x00\x00\x00\x00\x00\x80", "-9223372036854775808"),
    (b"\xf0\x02\x00\x00\x00hi", "hi"),
];

/// Returns a ziplist of entries.
pub(super) fn ziplist(entries: &[(&[u8], &str)]) -> Vec<u8> {
    let (mut body, mut before) = (Vec::new(), 0);
    for (entry, _) in entries {
        body.push(before as u8);
        body.extend_from_slice(entry);
        before = entry.len() + 1;
    }
    let last = 10 + body.len() - before;
    let mut bytes = ((body.len() + 11) as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&(last as u32).to_le_bytes());
    bytes.extend_from_slice(&(entries.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes.push(0xff);
    bytes
}

/// Returns a listpack of entries.
pub(super) fn listpack(entries: &[(&[u8], &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (entry, _) in entries {
        body.extend_from_slice(entry);
        body.push(entry.len() as u8);
    }
    let mut bytes = ((body.len() + 7) as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&(entries.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes.push(0xff);
    bytes
}

/// Returns a string of less than 64 bytes, or of more, as a file has it.
fn string(bytes: &[u8]) -> Vec<u8> {
    let mut length = vec![codes::LENGTH_32];
    length.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    [&length, bytes].concat()
}

fn parts(code: u8, bytes: &[u8]) -> Vec<String> {
    let value = decode_value(code, bytes, 0, &CompactLimits::default());
    let value = value.unwrap_or_else(|error| panic!("type {code}: {error}")).expect("it has elements");
    contents(&value).1.iter().map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

fn texts(entries: &[(&[u8], &str)]) -> Vec<String> {
    entries.iter().map(|(_, text)| (*text).to_owned()).collect()
}

#[test]
fn entries_of_ziplists_and_listpacks_are_read() {
    let (zip, pack) = (ziplist(ZIPLIST_ENTRIES), listpack(LISTPACK_ENTRIES));
    assert_eq!(parts(codes::LIST_ZIPLIST, &string(&zip)), texts(ZIPLIST_ENTRIES));
    let nodes = [&[2][..], &string(&zip), &string(&zip)].concat();
    let twice = [texts(ZIPLIST_ENTRIES), texts(ZIPLIST_ENTRIES)].concat();
    assert_eq!(parts(codes::LIST_QUICKLIST, &nodes), twice);
    let nodes = [&[2, 2][..], &string(&pack), &[1], &string(b"plain")].concat();
    let all = [texts(LISTPACK_ENTRIES), vec!["plain".to_owned()]].concat();
    assert_eq!(parts(codes::LIST_QUICKLIST_2, &nodes), all);
    let mut members = texts(LISTPACK_ENTRIES);
    members.sort();
    assert_eq!(parts(codes::SET_LISTPACK, &string(&pack)), members);
}

#[test]
fn pairs_in_one_string_are_read() {
    let zip = ziplist(&ZIPLIST_ENTRIES[..4]);
    assert_eq!(parts(codes::HASH_ZIPLIST, &string(&zip)), ["12=-13", "abc=0"]);
    assert_eq!(parts(codes::SORTED_SET_ZIPLIST, &string(&zip)), ["12=-13", "abc=0"]);
    let pack = listpack(&[(b"\x81a", ""), (b"\x84-inf", ""), (b"\x81b", ""), (b"\x832.5", "")]);
    assert_eq!(parts(codes::HASH_LISTPACK, &string(&pack)), ["a=-inf", "b=2.5"]);
    assert_eq!(parts(codes::SORTED_SET_LISTPACK, &string(&pack)), ["a=-inf", "b=2.5"]);
    let map = b"\x02\x03foo\x03\x01bar?\xfe\x05\x00\x00\x00hello\x05\x00world\xff";
    assert_eq!(parts(codes::HASH_ZIPMAP, &string(map)), ["foo=bar", "hello=world"]);
}

#[test]
fn plain_and_compressed_forms_are_read() {
    assert_eq!(parts(codes::STRING, b"\xc1\x00\x80"), ["-32768"]);
    assert_eq!(parts(codes::STRING, b"\xc2\x00\x00\x00\x80"), ["-2147483648"]);
    assert_eq!(parts(codes::STRING, b"\xc3\x06\x10\x01aa\xe0\x05\x00"), ["a".repeat(16)]);
    assert_eq!(parts(codes::LIST, b"\x02\x01a\xc0\x05"), ["a", "5"]);
    assert_eq!(
        parts(codes::SORTED_SET_TEXT, b"\x03\x01a\x031.5\x01b\xfe\x01c\xff"),
        ["c=-inf", "a=1.5", "b=inf"]
    );
    let integers = b"\x04\x00\x00\x00\x02\x00\x00\x00\xff\xff\xff\xff\x00\x00\x01\x00";
    assert_eq!(parts(codes::SET_INTSET, &string(integers)), ["-1", "65536"]);
}

#[test]
fn collections_without_elements_are_skipped() {
    let limits = CompactLimits::default();
    for code in [codes::LIST, codes::SET, codes::HASH, codes::SORTED_SET, codes::LIST_QUICKLIST] {
        assert!(decode_value(code, &[0], 0, &limits).unwrap().is_none());
    }
    let empty = string(&listpack(&[]));
    assert!(decode_value(codes::HASH_LISTPACK, &empty, 0, &limits).unwrap().is_none());
}

#[test]
fn malformed_values_are_refused() {
    let odd = string(&listpack(&LISTPACK_ENTRIES[..3]));
    let twice = string(&listpack(&[(b"\x81a", ""), (b"\x81b", ""), (b"\x81a", ""), (b"\x81b", "")]));
    for (code, bytes) in [
        (codes::HASH_LISTPACK, &odd[..]),
        (codes::HASH_LISTPACK, &twice),
        (codes::SORTED_SET_LISTPACK, &twice),
        (codes::SET_LISTPACK, &twice),
        (codes::HASH, b"\x02\x01a\x01b\x01a\x01b"),
        (codes::SET, b"\x02\x01a\x01a"),
        (codes::SET, b"\xc0\x02"),
        (codes::SORTED_SET_TEXT, b"\x01\x01a\xfd"),
        (codes::SORTED_SET, b"\x01\x01a\x00\x00\x00\x00\x00\x00\xf8\x7f"),
        (codes::LIST_QUICKLIST_2, b"\x01\x03\x01a"),
        (codes::STRING, b"\xc9"),
        (codes::STRING, b"\x01ab"),
    ] {
        let value = decode_value(code, bytes, 100, &CompactLimits::default());
        let error = value.expect_err("it is malformed");
        assert!(matches!(error.kind, RdbErrorKind::Malformed(_)), "{error}");
        assert!((100..=100 + bytes.len() as u64).contains(&error.offset), "{error}");
    }
}

#[test]
fn what_the_store_does_not_have_is_refused_by_name() {
    let error = |rest: &[u8]| {
        let file = [b"REDIS0010", rest].concat();
        let mut reader = RdbReader::new(&file[..]).unwrap();
        reader.next(&mut Record::default()).unwrap_err().to_string()
    };
    let module = "at byte 12: the key 'm' has a value of a module, which cannot be loaded";
    assert_eq!(error(b"\x07\x01m"), module);
    assert_eq!(error(b"\xf7"), "at byte 10: data of a module cannot be loaded");
    assert_eq!(error(b"\x16\x01k"), "at byte 12: type 22 is not known");
    let version = RdbReader::new(&b"REDIS0012"[..]).unwrap_err();
    assert_eq!(version.to_string(), "at byte 9: version 12 of the format is not supported");
    let other = RdbReader::new(&b"#!/bin/sh"[..]).unwrap_err();
    assert!(matches!(other.kind, RdbErrorKind::NoSignature));
}

#[test]
fn functions_are_skipped_and_counted_and_idle_times_are_told() {
    let file = b"REDIS0009\xf5\x04code\xfe\x02\xfd\x01\x00\x00\x00\xf9\x07\xf8\x40\x64\x00\x01k\x01v\xff";
    let file = [&file[..], &[0; 8]].concat();
    let mut reader = RdbReader::new(&file[..]).unwrap();
    let mut record = Record::default();
    assert!(reader.next(&mut record).unwrap());
    assert_eq!((record.database, record.expires_at, record.idle_seconds), (2, Some(1000), Some(100)));
    assert!(!reader.next(&mut record).unwrap());
    assert_eq!(reader.skipped_functions(), 1);
}

/// The parts of a stream of one entry after its blocks, as a type has them.
fn parts_of_stream(code: u8) -> Vec<u8> {
    let (first, time, more) = ([0; 16], [5, 0, 0, 0, 0, 0, 0, 0], code != codes::STREAM);
    // One entry; the last ID.
    let mut bytes = vec![1, 9, 7];
    if more {
        // The first ID, the greatest deleted one, and the number that were added.
        bytes.extend([9, 7, 0, 0, 4]);
    }
    // A group, which has read up to an entry, the third.
    bytes.extend(b"\x01\x01g\x09\x07");
    bytes.extend(more.then_some(3));
    // An entry is pending, and was delivered twice.
    bytes.push(1);
    bytes.extend(first);
    bytes.extend(time);
    bytes.extend([2, 1, 1, b'c']);
    // The consumer was seen, and in newer files active.
    bytes.extend(time);
    bytes.extend((code == codes::STREAM_3).then_some([9; 8]).into_iter().flatten());
    bytes.push(1);
    bytes.extend(first);
    bytes
}

#[test]
fn streams_of_all_versions_are_read() {
    let mut stream = Stream::default();
    let id = StreamId { ms: 9, seq: 7 };
    let fields = [(&b"name"[..], &b"value"[..])];
    stream.log_mut().append(id, fields.into_iter(), &CompactLimits::default()).expect("an ID");
    let blocks: Vec<Vec<u8>> = stream.log().blocks().map(|(_, block)| block.to_vec()).collect();
    for (code, added, read) in [(codes::STREAM, 1, 1), (codes::STREAM_2, 4, 3), (codes::STREAM_3, 4, 3)] {
        let block = &blocks[0];
        let bytes =
            [&[1, 16][..], &id.to_bytes(), &[block.len() as u8], block, &parts_of_stream(code)].concat();
        let value = decode_value(code, &bytes, 0, &CompactLimits::default()).expect("a stream");
        let Some(Value::Stream(read_stream)) = value else { panic!("it is a stream") };
        let (log, group) = (read_stream.log(), read_stream.group(b"g").expect("a group"));
        assert_eq!((log.len(), log.state().first_id, log.state().entries_added), (1, id, added));
        assert_eq!((group.last_id, group.entries_read), (id, Some(read)));
        let pending = group.pending(StreamId::MIN).expect("an entry");
        assert_eq!((pending.consumer(), pending.delivered_at, pending.deliveries), (&b"c"[..], 5, 2));
        assert_eq!(group.consumer(b"c").expect("a consumer").seen_at, 5);
        // In a file the bytes are found to end where they do.
        let file = [b"REDIS0011", &[code][..], b"\x01k", &bytes, &[0xff], &[0; 8]].concat();
        let mut reader = RdbReader::new(&file[..]).unwrap();
        let mut record = Record::default();
        assert!(reader.next(&mut record).unwrap());
        assert_eq!(record.bytes, bytes);
        assert!(!reader.next(&mut record).unwrap());
        for cut in 0..bytes.len() {
            assert!(decode_value(code, &bytes[..cut], 0, &CompactLimits::default()).is_err(), "{cut}");
        }
    }
}

/// Returns a stream of an entry and this state, with a group that has read this many entries.
fn stream_with(state: StreamState, count: u64) -> Value {
    let (mut stream, id) = (Stream::default(), StreamId { ms: 9, seq: 7 });
    let fields = [(&b"name"[..], &b"value"[..])];
    stream.log_mut().append(id, fields.into_iter(), &CompactLimits::default()).expect("an ID");
    stream.log_mut().set_state(state);
    let mut group = ConsumerGroup::new(id, Some(count));
    group.create_consumer(b"c", 5);
    group.deliver(id, b"c", 5, count);
    stream.add_group(b"g", group);
    Value::Stream(Box::new(stream))
}

#[test]
fn counts_of_streams_stay_within_those_of_commands() {
    let (last_id, greatest) = (StreamId { ms: 9, seq: 7 }, i64::MAX as u64);
    for count in [greatest, greatest + 1, u64::MAX - 1] {
        let state =
            StreamState { last_id, first_id: last_id, entries_added: count, ..StreamState::default() };
        let restored = restore(&dump(&stream_with(state, count)), &CompactLimits::default());
        let Ok(Value::Stream(stream)) = restored else { panic!("{restored:?}") };
        let group = stream.group(b"g").expect("a group");
        let deliveries = group.pending(last_id).expect("an entry").deliveries;
        assert_eq!((stream.log().state().entries_added, group.entries_read), (greatest, Some(greatest)));
        assert_eq!(deliveries, greatest);
    }
}

#[test]
fn a_stream_does_not_end_before_its_last_entry() {
    for (seq, is_right) in [(6, false), (7, true), (8, true)] {
        let state = StreamState { last_id: StreamId { ms: 9, seq }, ..StreamState::default() };
        let restored = restore(&dump(&stream_with(state, 1)), &CompactLimits::default());
        assert_eq!(restored.is_ok(), is_right, "{seq}");
    }
}
