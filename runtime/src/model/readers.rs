//! Objects that a thread finds without a task are not freed while it reads them.

use super::{Watched, model};
use crate::memory::{Epochs, Ledger, ReaderToken};
use crate::sync::{Acquire, AtomicU64, Release};
use loom::thread;
use std::sync::Arc;

/// One worker, and an object that readers reach by a link.
struct Fixture {
    epochs: Epochs,
    ledger: Ledger,
    link: AtomicU64,
    /// Read by readers that have found it, written by the worker that frees it: loom reports if
    /// nothing orders the two.
    object: Watched,
}

impl Fixture {
    fn new() -> Arc<Self> {
        let fixture = Self {
            epochs: Epochs::new(),
            ledger: Ledger::default(),
            link: AtomicU64::new(1),
            object: Watched::new(0),
        };
        fixture.epochs.announce(&fixture.ledger, 0);
        Arc::new(fixture)
    }

    /// As a reader: looks for the object, and uses it if it is there.
    fn read(&self, token: ReaderToken) {
        if self.link.load(Acquire) == 1 {
            assert_eq!(self.object.get(), 0, "the object was freed");
        }
        self.epochs.leave_reader(&token);
    }

    /// As the worker: unlinks the object, and returns the epoch in which it is retired.
    fn retire(&self) -> u64 {
        self.link.store(0, Release);
        self.epochs.retirement()
    }

    /// As the worker: advances the epoch a few times, and frees the object if its epoch is settled.
    fn reclaim(&self, retired: u64) -> bool {
        for _ in 0..3 {
            self.epochs.announce(&self.ledger, 0);
            self.epochs.advance([&self.ledger].into_iter());
            if self.epochs.settled() >= retired {
                self.object.set(1);
                return true;
            }
        }
        false
    }

    /// As the worker, beside readers that leave: the object is freed in the end.
    fn free_beside(&self, readers: impl IntoIterator<Item = thread::JoinHandle<()>>) {
        let retired = self.retire();
        let freed = self.reclaim(retired);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert!(freed || self.reclaim(retired), "an unreachable object is not freed");
    }
}

#[test]
fn an_object_found_by_a_reader_is_not_freed() {
    model(3, || {
        let fixture = Fixture::new();
        let there = fixture.clone();
        let reader = thread::spawn(move || there.read(there.epochs.enter_preferring(0)));
        fixture.free_beside([reader]);
    });
}

#[test]
fn an_object_that_a_reader_has_left_is_freed_after_its_reads() {
    model(2, || {
        let fixture = Fixture::new();
        let there = fixture.clone();
        let reader = thread::spawn(move || {
            there.read(there.epochs.enter_preferring(0));
            // The same slot again, perhaps in the next epoch.
            there.read(there.epochs.enter_preferring(0));
        });
        fixture.free_beside([reader]);
    });
}

#[test]
fn two_readers_that_prefer_one_slot_both_keep_the_object() {
    model(2, || {
        let fixture = Fixture::new();
        let readers = [fixture.clone(), fixture.clone()]
            .map(|there| thread::spawn(move || there.read(there.epochs.enter_preferring(0))));
        fixture.free_beside(readers);
    });
}

#[test]
fn a_reader_that_finds_all_slots_taken_keeps_the_object() {
    model(3, || {
        let fixture = Fixture::new();
        let there = fixture.clone();
        let reader = thread::spawn(move || there.read(there.epochs.enter_counted()));
        fixture.free_beside([reader]);
    });
}

#[test]
fn an_object_is_kept_until_the_last_of_many_readers_has_left() {
    model(1, || {
        let fixture = Fixture::new();
        // One more than there are slots.
        let tokens = [0; 3].map(|slot| fixture.epochs.enter_preferring(slot));
        let retired = fixture.retire();
        for token in tokens.iter().rev() {
            assert!(!fixture.reclaim(retired), "the object was freed while a reader may use it");
            fixture.epochs.leave_reader(token);
        }
        assert!(fixture.reclaim(retired), "an unreachable object is not freed");
    });
}
