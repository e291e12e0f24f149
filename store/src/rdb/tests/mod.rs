//! Tests of files and of values.

mod encodings;
mod files;
mod robust;

use super::checksum::checksum;
use crate::value::{
    CompactLimits, ConsumerGroup, End, Hash, List, Set, SortedSet, Stream, StreamId, StringRef, StringValue,
    Value, ValueRef,
};

/// Returns values of all types, small and large.
fn values() -> Vec<Value> {
    [small_values(), collections(&[100, 5000])].concat()
}

/// Returns values of all types, with few elements.
fn small_values() -> Vec<Value> {
    let strings = [&b""[..], b"0", b"-129", b"70000", b"9223372036854775807", b"text", b"01", &[7; 20_000]];
    let strings: Vec<_> = strings.iter().map(|text| Value::String(StringValue::new(text))).collect();
    [strings, collections(&[1, 3])].concat()
}

/// Returns a collection of each type for each number of elements.
fn collections(sizes: &[usize]) -> Vec<Value> {
    let limits = CompactLimits::default();
    let mut values = Vec::new();
    for &size in sizes {
        let (mut list, mut hash, mut sorted) = (List::new(), Hash::new(), SortedSet::new());
        let (mut members, mut integers) = (Set::new(b"member", size, &limits), Set::new(b"0", size, &limits));
        for number in 0..size {
            let text = format!("element:{number}:{}", "x".repeat(number % 70));
            list.push(End::Right, text.as_bytes(), &limits);
            hash.set(text.as_bytes(), number.to_string().as_bytes(), &limits);
            members.insert(text.as_bytes(), &limits);
            integers.insert((number * 1_000_003).to_string().as_bytes(), &limits);
            sorted.insert(text.as_bytes(), number as f64 / 3.0 - 7.0, &limits);
        }
        values.push(Value::List(Box::new(list)));
        values.push(Value::Hash(Box::new(hash)));
        values.push(Value::Set(Box::new(members)));
        values.push(Value::Set(Box::new(integers)));
        values.push(Value::SortedSet(Box::new(sorted)));
        values.push(Value::Stream(Box::new(stream(size))));
    }
    values
}

/// Returns a stream of this many entries, with a group that has read some of them.
fn stream(size: usize) -> Stream {
    let (mut stream, limits) = (Stream::default(), CompactLimits::default());
    let id = |number: usize| StreamId { ms: number as u64 + 1, seq: 7 };
    for number in 0..size {
        let (name, text) = (if number % 50 < 40 { "name" } else { "other" }, number.to_string());
        let fields = [(name.as_bytes(), text.as_bytes())];
        stream.log_mut().append(id(number), fields.into_iter(), &limits).expect("IDs in order");
    }
    let mut group = ConsumerGroup::new(id(size / 2), Some(size as u64 / 2));
    for (number, consumer) in ["idle", "alice", "bob"].into_iter().enumerate() {
        group.create_consumer(consumer.as_bytes(), 1_000_000 + number as u64);
        for at in (0..if number == 0 { 0 } else { size / 2 }).filter(|at| at % 2 == number % 2) {
            group.deliver(id(at), consumer.as_bytes(), at as u64, at as u64 + 3);
        }
    }
    stream.add_group(b"group", group);
    stream.add_group(b"other", ConsumerGroup::new(StreamId::MAX, None));
    stream.log_mut().delete(id(2));
    stream
}

/// Returns what a value has, so that two can be compared.
fn contents(value: &Value) -> (&'static str, Vec<Vec<u8>>) {
    let parts = match value {
        Value::String(string) => vec![StringRef::from(string).bytes().into_owned()],
        Value::List(list) => list.iter().map(<[u8]>::to_vec).collect(),
        Value::Hash(hash) => {
            let mut pairs: Vec<_> = hash.iter().map(|(field, value)| [field, b"=", value].concat()).collect();
            pairs.sort();
            pairs
        }
        Value::Set(set) => {
            let mut members: Vec<_> = set.iter().map(|member| member.into_owned()).collect();
            members.sort();
            members
        }
        Value::SortedSet(set) => {
            set.iter().map(|(member, score)| [member, format!("={score}").as_bytes()].concat()).collect()
        }
        Value::Stream(stream) => {
            let entries = stream.log().range(StreamId::MIN, StreamId::MAX);
            let entries =
                entries.map(|entry| format!("{} {:?}", entry.id, entry.fields().collect::<Vec<_>>()));
            let groups = stream.groups().map(|group| format!("{group:?}"));
            let state = format!("{:?}", stream.log().state());
            entries.chain(groups).chain([state]).map(String::into_bytes).collect()
        }
    };
    (ValueRef::from(value).encoding(), parts)
}

#[test]
fn the_checksum_is_that_of_redis() {
    // As crc64.c of Redis has it in its own test.
    assert_eq!(checksum(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
}
