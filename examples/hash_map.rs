//! Where each word of a text came last: a hash map that grows while batches change it.
//!
//! `cargo run --release -p xtasking-examples --example hash_map`

#![forbid(unsafe_code)]

use std::time::Instant;
use xtasking::{JoinError, Runtime};
use xtasking_index::HashMap;

/// A text of numbers, some of which are much more frequent than others.
fn text(words: u64) -> Vec<u64> {
    let word = |index: u64| {
        let random = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        random >> (random % 24)
    };
    (0..words).map(word).collect()
}

fn main() -> Result<(), JoinError> {
    let rt = Runtime::new().expect("the machine can start a worker on each core");
    let text = text(2_000_000);

    // Each word gets the place where it came last.
    let last = HashMap::<u64, u64>::new(&rt);
    let client = last.client(&rt);
    let (begin, mut repetitions) = (Instant::now(), 0);
    for (batch, first) in text.chunks(50_000).zip((0..).step_by(50_000)) {
        let entries: Vec<_> = batch.iter().copied().zip(first..).collect();
        // The results are in the order of the entries: the old values of those that existed.
        repetitions += client.upsert_many(&entries)?.into_iter().flatten().count();
    }
    println!("read {} words in {:?}, {repetitions} of them again", text.len(), begin.elapsed());

    // Lookups in a batch, and a single one, which reads on this thread.
    let begin = Instant::now();
    let places = client.get_many(&text)?;
    println!("looked all of them up in {:?}", begin.elapsed());
    assert!(
        places
            .iter()
            .zip(&text)
            .all(|(place, word)| { place.is_some_and(|place| text[place as usize] == *word) })
    );
    assert_eq!(client.get(u64::MAX)?, None);

    // Every entry once, while other threads may go on to change the map.
    let mut words = 0;
    for entry in client.iter() {
        let (word, place) = entry?;
        assert_eq!(text[place as usize], word);
        words += 1;
    }
    let memory = last.memory();
    println!("{words} different words, {} bytes each", memory.buckets * 64 / words);
    assert_eq!(words, text.len() - repetitions);
    Ok(())
}
