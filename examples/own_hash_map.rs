//! A hash map of your own: an array of buckets, and a bundle of walks for each worker.
//!
//! No line locks, prefetches or pins: a walk names the bucket that it touches next, and the runtime
//! does the rest. For a map that grows, removes and iterates, take `xtasking_index::HashMap`.
//!
//! `cargo run --release -p xtasking-examples --example own_hash_map`

#![forbid(unsafe_code)]

use std::time::Instant;
use xtasking::arena::{Array, Link, Links, Written};
use xtasking::bundle::{Hop, Walk, each};
use xtasking::{Context, JoinError, Part, Runtime, Version, Word};

/// Three entries: with its header a bucket fills a cache line. A key of 0 stands for no entry.
#[derive(Default)]
struct Bucket {
    keys: [Word; 3],
    values: [Word; 3],
}

impl Version for Bucket {}

/// A table, small enough to be copied into every walk. A full bucket goes on in the next one.
#[derive(Clone, Copy)]
struct Table {
    buckets: Links<Bucket>,
    bits: u32,
}

impl Table {
    fn first(self, key: u64) -> Link<Bucket> {
        self.buckets.link((key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.bits)) as usize)
    }

    fn next(self, bucket: Link<Bucket>) -> Link<Bucket> {
        let index = self.buckets.index_of(bucket).expect("a bucket of this table") + 1;
        self.buckets.link(index & ((1 << self.bits) - 1))
    }
}

struct Lookup<'f> {
    table: Table,
    key: u64,
    found: &'f mut Option<u64>,
}

impl Walk for Lookup<'_> {
    type Target = Bucket;
    type Output = Option<u64>;

    /// Reads a bucket, perhaps beside a writer: the runtime repeats it then.
    fn read(&self, at: Link<Bucket>, bucket: &Bucket) -> Hop<Bucket, Option<u64>> {
        match bucket.keys.iter().position(|key| key.get() == self.key) {
            Some(place) => Hop::End(Some(bucket.values[place].get())),
            None if bucket.keys[2].get() == 0 => Hop::End(None),
            None => Hop::Go(self.table.next(at), Part::HEAD),
        }
    }
}

struct Insert {
    table: Table,
    key: u64,
    value: u64,
}

impl Walk for Insert {
    type Target = Bucket;
    type Output = ();

    /// Writes a bucket, which no other walk writes meanwhile.
    fn write(&mut self, at: Link<Bucket>, bucket: Written<'_, Bucket>, _: &mut Context) -> Hop<Bucket, ()> {
        match bucket.keys.iter().position(|key| [0, self.key].contains(&key.get())) {
            Some(place) => {
                bucket.keys[place].set(self.key, bucket.token());
                bucket.values[place].set(self.value, bucket.token());
                Hop::End(())
            }
            None => Hop::Write(self.table.next(at), Part::HEAD),
        }
    }
}

fn main() -> Result<(), JoinError> {
    let rt = Runtime::new().expect("the machine can start a worker on each core");
    let bits = 20;
    let buckets = Array::new(&rt, 1 << bits, |_| Bucket::default());
    let table = Table { buckets: buckets.links(), bits };
    let keys: Vec<_> = (1..=1_500_000u64).map(|number| number.wrapping_mul(0xd134_2543_de82_ef95)).collect();

    let begin = Instant::now();
    rt.task_scope(|scope| {
        for (task, keys) in scope.shares(&keys[..]) {
            let insert = |&key: &u64| (table.first(key).write(), Insert { table, key, value: key / 2 });
            let done = |_, outcome: Result<(), _>, _: &mut Context| outcome.expect("no walk panics");
            task.bundle(each(keys.iter().map(insert), done));
        }
    })?;
    println!("inserted {} entries in {:?}", keys.len(), begin.elapsed());

    let (begin, mut found) = (Instant::now(), vec![None; keys.len()]);
    rt.task_scope(|scope| {
        for ((task, keys), (_, found)) in scope.shares(&keys[..]).zip(scope.shares(&mut found[..])) {
            let lookup = |(&key, found)| (table.first(key).read(), Lookup { table, key, found });
            let lookups = keys.iter().zip(found).map(lookup);
            task.bundle(each(lookups, |lookup, value, _| {
                *lookup.found = value.expect("no walk panics");
            }));
        }
    })?;
    println!("looked them up in {:?}", begin.elapsed());
    assert!(keys.iter().zip(found).all(|(key, value)| value == Some(key / 2)));
    Ok(())
}
