//! What tasks have found is not freed under them.

use super::{Watched, model};
use crate::memory::{Epochs, Ledger, slot};
use crate::sync::{Acquire, AtomicBool, AtomicU64, Release, yield_now};
use loom::thread;
use std::sync::Arc;

/// Three workers, and an object that tasks reach by a link.
struct House {
    epochs: Epochs,
    ledgers: [Ledger; 3],
    link: AtomicU64,
    /// Read by tasks that have found it, written by who frees it: loom tells if nothing orders the two.
    object: Watched,
}

const READER: usize = 0;
const WRITER: usize = 1;
/// A second reader, who sleeps unless a model says otherwise.
const OTHER: usize = 2;

impl House {
    fn new() -> Arc<Self> {
        let house = Self {
            epochs: Epochs::new(),
            ledgers: <[Ledger; 3]>::default(),
            link: AtomicU64::new(1),
            object: Watched::new(0),
        };
        // Workers that sleep, until they say otherwise.
        house.ledgers.iter().for_each(|ledger| house.epochs.go_offline(ledger));
        Arc::new(house)
    }

    fn announce(&self, worker: usize, known: u64) -> u64 {
        self.epochs.announce(&self.ledgers[worker], known)
    }

    fn sleep(&self, worker: usize) {
        self.epochs.go_offline(&self.ledgers[worker]);
    }

    /// Unlinks the object; the epoch that it is retired in.
    fn unlink(&self) -> u64 {
        self.link.store(0, Release);
        self.epochs.retirement()
    }

    /// Moves the epochs on, and frees the object if its epoch is settled.
    fn reclaim(&self, retired: u64) -> bool {
        self.epochs.advance(self.ledgers.iter());
        let settled = self.epochs.settled() >= retired;
        if settled {
            self.object.set(1);
        }
        settled
    }

    /// As the writer's worker: retires the object, and looks a few times whether it can be freed.
    fn retire(&self) -> Retired {
        let mut epoch = self.announce(WRITER, 0);
        let retired = self.unlink();
        let mut freed = false;
        for _ in 0..3 {
            freed = freed || self.reclaim(retired);
            epoch = self.announce(WRITER, epoch);
        }
        self.sleep(WRITER);
        Retired { epoch: retired, freed }
    }

    fn is_found(&self) -> bool {
        self.link.load(Acquire) == 1
    }

    /// Looks at the object.
    fn look(&self) {
        assert_eq!(self.object.get(), 0, "the object was freed");
    }
}

/// What has become of the object.
struct Retired {
    epoch: u64,
    freed: bool,
}

impl Retired {
    /// Everybody sleeps and nothing runs: the object is freed within a few steps of the epoch.
    fn is_freed_in_the_end(self, house: &House) {
        let freed = self.freed || (0..3).any(|_| house.reclaim(self.epoch));
        assert!(freed, "nothing reaches the object, and it is not freed");
    }
}

#[test]
fn what_a_waiting_task_has_found_is_not_freed() {
    model(2, || {
        let house = House::new();
        let there = house.clone();
        let reader = thread::spawn(move || {
            let ledger = &there.ledgers[READER];
            let epoch = there.announce(READER, 0);
            let slot = slot(epoch);
            ledger.start(slot);
            let found = there.is_found();
            // The task waits in a pool, while its worker goes on.
            there.announce(READER, epoch);
            if found {
                there.look();
            }
            ledger.finish(slot);
            there.sleep(READER);
        });
        let retired = house.retire();
        reader.join().unwrap();
        retired.is_freed_in_the_end(&house);
    });
}

#[test]
fn what_a_follow_up_was_told_of_is_not_freed() {
    model(2, || {
        let house = House::new();
        let there = house.clone();
        let reader = thread::spawn(move || {
            let ledger = &there.ledgers[READER];
            let epoch = there.announce(READER, 0);
            let slot = slot(epoch);
            ledger.start(slot);
            let found = there.is_found();
            // The task waits in a pool, runs, and has a follow-up of the same operation.
            there.announce(READER, epoch);
            ledger.start(slot);
            ledger.finish(slot);
            if found {
                there.look();
            }
            ledger.finish(slot);
            there.sleep(READER);
        });
        let retired = house.retire();
        reader.join().unwrap();
        retired.is_freed_in_the_end(&house);
    });
}

#[test]
fn what_a_follow_up_on_another_worker_was_told_of_is_not_freed() {
    model(2, || {
        let house = House::new();
        let sent = Arc::new(AtomicBool::new(false));
        let (there, send) = (house.clone(), sent.clone());
        let epoch = house.announce(READER, 0);
        house.announce(OTHER, 0);
        let slot = slot(epoch);
        let reader = thread::spawn(move || {
            let ledger = &there.ledgers[READER];
            ledger.start(slot);
            if there.is_found() {
                ledger.start(slot);
                send.store(true, Release);
            }
            ledger.finish(slot);
            there.sleep(READER);
        });
        let there = house.clone();
        let other = thread::spawn(move || {
            let epoch = there.announce(OTHER, epoch);
            if sent.load(Acquire) {
                there.look();
                there.ledgers[OTHER].finish(slot);
            }
            there.announce(OTHER, epoch);
            there.sleep(OTHER);
        });
        house.retire();
        reader.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn what_a_task_from_outside_finds_is_not_freed() {
    model(2, || {
        let house = House::new();
        let there = house.clone();
        let reader = thread::spawn(move || {
            // As a thread outside the runtime, and then as the worker that it sends the task to.
            let slot = there.epochs.start_external();
            there.announce(READER, 0);
            if there.is_found() {
                there.look();
            }
            there.ledgers[READER].finish(slot);
            there.sleep(READER);
        });
        let retired = house.retire();
        reader.join().unwrap();
        retired.is_freed_in_the_end(&house);
    });
}

#[test]
fn a_worker_that_sleeps_holds_nothing_up() {
    model(2, || {
        let house = House::new();
        let there = house.clone();
        let reader = thread::spawn(move || {
            there.announce(READER, 0);
            there.sleep(READER);
        });
        reader.join().unwrap();
        house.announce(WRITER, 0);
        let retired = house.retire();
        assert!(retired.freed, "nobody is awake but who frees it");
    });
}

#[test]
fn nothing_is_left_when_the_ledgers_say_so() {
    model(3, || {
        let house = House::new();
        let outside = house.epochs.start_external();
        let there = house.clone();
        let worker = thread::spawn(move || {
            let ledger = &there.ledgers[READER];
            let epoch = there.announce(READER, 0);
            there.object.set(1);
            // A follow-up, in another epoch perhaps.
            ledger.start(slot(epoch));
            ledger.finish(outside);
            there.object.set(2);
            ledger.finish(slot(epoch));
        });
        for _ in 0..2 {
            if house.epochs.is_quiescent(house.ledgers.iter()) {
                assert_eq!(house.object.get(), 2, "a task was left");
            }
            yield_now();
        }
        worker.join().unwrap();
        assert!(house.epochs.is_quiescent(house.ledgers.iter()), "no task is left");
    });
}
