//! How to use the ordered index from plain threads: blocking calls, and batches for speed.
//!
//! `cargo run --release -p xtasking-examples --example tree_from_threads`

#![forbid(unsafe_code)]

use std::thread;
use xtasking::{JoinError, Runtime};
use xtasking_index::Tree;

const THREADS: u64 = 4;
const BATCH_SIZE: u64 = 10_000;

fn main() -> Result<(), JoinError> {
    let rt = Runtime::new().expect("the machine can start a worker on each core");
    // Keys and values are integers of up to 64 bits.
    let tree = Tree::<u64, u64>::new(&rt);

    // The client turns the tree's operations, which are chains of tasks, into blocking calls.
    // Threads can share it.
    let client = tree.client(&rt);
    thread::scope(|scope| {
        for first in 0..THREADS {
            let client = &client;
            scope.spawn(move || -> Result<(), JoinError> {
                // The simple way: each call waits for its own operation.
                for key in (first..1000).step_by(THREADS as usize) {
                    assert!(client.insert(key, key * key)?, "the key is new");
                }
                // The fast way: a batch keeps many operations in flight on every worker. While some
                // run, the runtime prefetches memory for others.
                let entries = (1000..1000 + BATCH_SIZE).map(|key| (key * THREADS + first, first));
                let entries = entries.collect::<Vec<_>>();
                let inserted = client.insert_many(&entries)?;
                assert!(inserted.into_iter().all(|new| new));
                Ok(())
            });
        }
    });

    // Lookups, one by one and in a batch, whose results are in the order of the keys.
    assert_eq!(client.get(31)?, Some(961));
    assert_eq!(client.get(1000)?, None);
    assert_eq!(client.get_many(&[2, 4001, 1000])?, [Some(4), Some(1), None]);

    // An atomic change: no other operation on this key takes effect in between.
    assert_eq!(client.modify(31, |value| value + 1)?, Some(961));
    assert_eq!(client.upsert(31, 0)?, Some(962));
    assert_eq!(client.remove(31)?, Some(0));

    // Entries in order, from a key on.
    assert_eq!(client.scan(29, 3)?, [(29, 841), (30, 900), (32, 1024)]);

    let count = client.count()?;
    assert_eq!(count, 1000 + THREADS * BATCH_SIZE - 1);
    println!("{count} entries in {} nodes", tree.memory().live);
    Ok(())
}
