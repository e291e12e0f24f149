//! Each primitive upholds its guarantee at one object: no lost update, no torn read.

use crate::common::Quad;
use crate::platform::{on_threads, pause, runtime};
use crate::schedules::explore;
use std::sync::Arc;
use xtasking::{
    Word,
    arena::Written,
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
};

const THREADS: usize = 2;
const EACH: usize = 3;
const ALL: u64 = (THREADS * EACH) as u64;

/// Adds one in two steps, with a switch point between them.
fn add_one(sum: &mut u64) {
    let seen = *sum;
    pause();
    *sum = seen + 1;
}

/// Like [`add_one`] for a writer without `&mut`. The four words are equal before and after.
fn add_one_to_each(quad: &Written<'_, Quad>) {
    let words = quad.0.each_ref().map(Word::get);
    assert_eq!(words, [words[0]; 4]);
    quad.0.iter().for_each(|word| word.set(words[0] + 1, quad.token()));
}

/// Reads an object that no writer may change meanwhile.
fn look_twice(sum: &u64) -> [u64; 2] {
    let first = *sum;
    pause();
    [first, *sum]
}

fn look_at_each(quad: &Quad) -> [u64; 4] {
    quad.0.each_ref().map(Word::get)
}

/// Objects of one class and primitive. Each of `THREADS` threads writes and reads them `EACH`
/// times.
macro_rules! at_one_object {
    ($($name:ident: $class:ident $value:expr, $primitive:ident, write $write:expr, read $read:expr;)+) => {$(
        #[test]
        fn $name() {
            explore(|_| {
                let rt = Arc::new(runtime(2));
                let object = rt.$class($value).pin($primitive).build();
                let (spawner, shared) = (rt.clone(), object.clone());
                on_threads(THREADS, move |thread| {
                    let mut written = Vec::new();
                    for number in 0..EACH {
                        let core = (thread + number) as u16;
                        written.push(spawner.task(shared.write()).core(core).submit($write));
                        let read = spawner.task(shared.read()).core(core + 1).submit($read);
                        let seen = read.join().unwrap();
                        assert!(seen.iter().all(|word| *word == seen[0]), "torn: {seen:?}");
                    }
                    written.into_iter().for_each(|written| written.join().unwrap());
                });
                let last = rt.task(object.read()).submit($read).join().unwrap();
                assert!(last.iter().all(|word| *word == ALL), "{last:?}");
            });
        }
    )+};
}

at_one_object! {
    a_plain_object_in_sequence: plain 0, Sequencing,
        write |sum, _| add_one(sum), read |sum, _| look_twice(sum);
    a_plain_object_behind_a_spin_latch: plain 0, SpinLatch,
        write |sum, _| add_one(sum), read |sum, _| look_twice(sum);
    a_shared_object_in_sequence: shared_reads 0, Sequencing,
        write |sum, _| add_one(sum), read |sum, _| look_twice(sum);
    a_shared_object_behind_a_spin_latch: shared_reads 0, SpinLatch,
        write |sum, _| add_one(sum), read |sum, _| look_twice(sum);
    a_shared_object_behind_a_reader_writer_latch: shared_reads 0, ReaderWriterLatch,
        write |sum, _| add_one(sum), read |sum, _| look_twice(sum);
    a_snapshot_written_in_sequence: snapshot [0; 4], OptimisticSequenced,
        write |words: &mut [u64; 4], _| words.iter_mut().for_each(add_one), read |words, _| *words;
    a_snapshot_written_behind_a_latch: snapshot [0; 4], OptimisticLatched,
        write |words: &mut [u64; 4], _| words.iter_mut().for_each(add_one), read |words, _| *words;
    a_versioned_object_in_sequence: versioned Quad::default(), Sequencing,
        write |quad, _| add_one_to_each(&quad), read |quad, _| look_at_each(quad);
    a_versioned_object_behind_a_spin_latch: versioned Quad::default(), SpinLatch,
        write |quad, _| add_one_to_each(&quad), read |quad, _| look_at_each(quad);
    a_versioned_object_behind_a_reader_writer_latch: versioned Quad::default(), ReaderWriterLatch,
        write |quad, _| add_one_to_each(&quad), read |quad, _| look_at_each(quad);
    a_versioned_object_written_in_sequence: versioned Quad::default(), OptimisticSequenced,
        write |quad, _| add_one_to_each(&quad), read |quad, _| look_at_each(quad);
    a_versioned_object_written_behind_a_latch: versioned Quad::default(), OptimisticLatched,
        write |quad, _| add_one_to_each(&quad), read |quad, _| look_at_each(quad);
}

/// Optimistic readers and a concurrent writer; each reader continues once.
macro_rules! optimistic {
    ($($name:ident: $primitive:ident;)+) => {$(
        #[test]
        fn $name() {
            explore(|_| {
                let rt = Arc::new(runtime(2));
                let object = rt.versioned(Quad::default()).pin($primitive).build();
                let passed = rt.plain(0u64).pin(Sequencing).build();
                let (spawner, shared, counted) = (rt.clone(), object.clone(), passed.clone());
                on_threads(THREADS, move |thread| {
                    let mut reads = Vec::new();
                    for number in 0..EACH {
                        let core = (thread + number) as u16;
                        spawner.task(shared.write()).core(core).spawn(|quad, _| add_one_to_each(&quad));
                        let passed = counted.clone();
                        let read = spawner.task(shared.read()).core(core + 1);
                        reads.push(read.submit_read(look_at_each, move |seen, cx| {
                            cx.task(passed.write()).spawn(|passed, _| *passed += 1);
                            seen
                        }));
                    }
                    for read in reads {
                        let seen = read.join().unwrap();
                        assert_eq!(seen, [seen[0]; 4]);
                    }
                });
                let passed = rt.task(passed.read()).submit(|passed, _| *passed).join().unwrap();
                assert_eq!(passed, ALL);
            });
        }
    )+};
}

optimistic! {
    optimistic_readers_beside_sequenced_writers: OptimisticSequenced;
    optimistic_readers_beside_latched_writers: OptimisticLatched;
}
