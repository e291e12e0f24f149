//! Optimistic readers accept no mix of versions, under every kind of writer.

use super::platform::standing;
use super::{Watched, model};
use crate::sync::{AtomicU64, Backoff, LatchWord, LiveWord, Relaxed};
use crate::{
    Version, Word,
    arena::{Arena, Array, LinkCell, WriteToken},
};
use loom::thread;
use std::sync::Arc;

const LIVE: LiveWord = LiveWord::of_tag(1);

/// An object of two words, which are equal between writes.
struct Pair {
    latch: LatchWord,
    words: [Word; 2],
}

impl Pair {
    fn new() -> Arc<Self> {
        Arc::new(Self { latch: LatchWord::new(LIVE), words: [Word::new(0), Word::new(0)] })
    }

    /// Writes as a task that has entered, by its latch or at its home.
    fn write(&self) {
        self.latch.begin_write();
        // SAFETY: models keep writers apart as objects do, and readers check the version.
        let token = unsafe { WriteToken::assume() };
        let next = self.words[0].get() + 1;
        self.words.iter().for_each(|word| word.set(next, &token));
        self.latch.end_write();
    }

    fn write_latched(&self) {
        self.latch.lock(Backoff::wait);
        self.write();
    }

    /// Makes one optimistic attempt.
    fn read(&self) -> Option<u64> {
        let stamp = self.latch.begin_read(LIVE)?;
        let seen = [self.words[0].get(), self.words[1].get()];
        self.latch.validate(stamp).then(|| {
            assert_eq!(seen[0], seen[1], "a torn pair was accepted");
            seen[0]
        })
    }

    /// Reads as a reader that excludes writers.
    fn read_latched(&self) -> u64 {
        self.latch.lock(Backoff::wait);
        let seen = [self.words[0].get(), self.words[1].get()];
        self.latch.unlock();
        assert_eq!(seen[0], seen[1], "a writer was at work beside a reader that excludes writers");
        seen[0]
    }
}

#[test]
fn a_reader_beside_a_sequenced_writer_accepts_no_torn_pair() {
    model(3, || {
        let pair = Pair::new();
        let there = pair.clone();
        let writer = thread::spawn(move || (0..2).for_each(|_| there.write()));
        let first = pair.read();
        let second = pair.read();
        assert!(first.is_none() || second.is_none() || first <= second, "a later read saw an older state");
        writer.join().unwrap();
        assert_eq!(pair.read(), Some(2), "a read after a write sees it");
    });
}

#[test]
fn a_reader_beside_latched_writers_accepts_no_torn_pair() {
    model(2, || {
        let pair = Pair::new();
        let writers = [pair.clone(), pair.clone()].map(|there| thread::spawn(move || there.write_latched()));
        pair.read();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(pair.read(), Some(2), "no write was lost");
    });
}

#[test]
fn a_reader_that_locks_excludes_writers_and_leaves_the_version_alone() {
    model(2, || {
        let pair = Pair::new();
        let (there, here) = (pair.clone(), pair.clone());
        let writer = thread::spawn(move || there.write_latched());
        let reader = thread::spawn(move || here.read_latched());
        pair.read();
        writer.join().unwrap();
        let before = pair.latch.begin_read(LIVE);
        reader.join().unwrap();
        // The writer was done before: whatever the locking reader did since, the version is the
        // same.
        if let Some(before) = before {
            assert!(pair.latch.validate(before));
        }
        assert_eq!(pair.read(), Some(1));
    });
}

#[test]
fn a_validated_read_sees_all_that_its_writer_did_before() {
    model(3, || {
        let pair = Pair::new();
        let told = Arc::new(AtomicU64::new(0));
        let (there, tell) = (pair.clone(), told.clone());
        let writer = thread::spawn(move || {
            tell.store(1, Relaxed);
            there.write_latched();
        });
        if pair.read() == Some(1) {
            assert_eq!(told.load(Relaxed), 1, "a version was seen without the writes before it");
        }
        writer.join().unwrap();
    });
}

struct Node(Watched);

impl Version for Node {}

#[test]
fn a_link_is_found_with_its_node() {
    model(3, || {
        let (runtime, _drivers) = standing(1);
        let arena = Arena::new(&runtime);
        let root = Arc::new(LinkCell::new(arena.alloc_outside(Node(Watched::new(0)))));
        let (there, nodes) = (root.clone(), arena.clone());
        let writer = thread::spawn(move || there.set(nodes.alloc_outside(Node(Watched::new(1)))));
        // SAFETY: nodes stay as long as the arena.
        assert!(unsafe { root.get().follow() }.0.get() <= 1);
        writer.join().unwrap();
        // SAFETY: nodes stay as long as the arena.
        assert_eq!(unsafe { root.get().follow() }.0.get(), 1);
        drop(arena);
    });
}

#[test]
fn an_appended_element_is_found_whole() {
    model(3, || {
        let (runtime, _drivers) = standing(1);
        let array = Array::new(&runtime, 1, |_| Node(Watched::new(0)));
        let there = array.clone();
        // The reader is the spawned thread: loom overlooks a load that the storing thread's own
        // load of the same atomic follows.
        let reader = thread::spawn(move || {
            for index in 0..there.len() {
                assert_eq!(there.peek(index).0.get(), index as u64);
            }
        });
        let mut grower = array.grower().unwrap();
        grower.push(Node(Watched::new(1)));
        grower.push(Node(Watched::new(2)));
        reader.join().unwrap();
        drop(grower);
        assert_eq!(array.peek(2).0.get(), 2);
        assert_eq!(array.index_of(array.link(2)), Some(2));
        drop(array);
    });
}
