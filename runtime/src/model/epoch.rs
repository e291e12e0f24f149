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

    /// A task of the reader's finds the object and waits in a pool. Meanwhile the object is unlinked, and reader and
    /// writer go on to the next epoch: another one, and only the ledgers keep the object.
    fn let_a_task_find_the_object_and_wait(&self) -> Waiting {
        let begun = self.announce(READER, 0);
        let slot = slot(begun);
        self.ledgers[READER].start(slot);
        assert!(self.is_found());
        let epoch = self.announce(WRITER, 0);
        let retired = self.unlink();
        assert!(!self.reclaim(retired));
        self.announce(READER, begun);
        self.announce(WRITER, epoch);
        Waiting { slot, retired }
    }

    /// A task of that slot has found the object and waits. The object is retired, and reader and writer go on: it is
    /// freed only when the task has run.
    fn keep_until_the_task_has_run(&self, slot: u8) {
        let retired = self.unlink();
        let go_on = || {
            self.announce(READER, 0);
            self.announce(WRITER, 0);
            self.reclaim(retired)
        };
        assert!(!(0..4).any(|_| go_on()), "the object was freed while a task that has found it waits");
        self.ledgers[READER].finish(slot);
        assert!((0..4).any(|_| go_on()), "nothing reaches the object, and it is not freed");
    }

    fn is_found(&self) -> bool {
        self.link.load(Acquire) == 1
    }

    /// Looks at the object.
    fn look(&self) {
        assert_eq!(self.object.get(), 0, "the object was freed");
    }
}

/// A task that waits, and the epoch in which what it has found was retired.
struct Waiting {
    slot: u8,
    retired: u64,
}

/// What has become of the object.
struct Retired {
    epoch: u64,
    freed: bool,
}

impl Retired {
    /// Everybody sleeps and nothing runs: the object is freed within a few steps of the epoch.
    fn assert_freed_in_the_end(self, house: &House) {
        let freed = self.freed || (0..3).any(|_| house.reclaim(self.epoch));
        assert!(freed, "nothing reaches the object, and it is not freed");
    }
}

#[test]
fn what_a_waiting_task_has_found_is_not_freed() {
    model(4, || {
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
        retired.assert_freed_in_the_end(&house);
    });
}

#[test]
fn what_a_follow_up_was_told_of_is_not_freed() {
    model(3, || {
        let house = House::new();
        let waiting = house.let_a_task_find_the_object_and_wait();
        let (there, slot) = (house.clone(), waiting.slot);
        let reader = thread::spawn(move || {
            // The task runs, and has a follow-up of the same operation.
            let ledger = &there.ledgers[READER];
            ledger.start(slot);
            ledger.finish(slot);
            there.look();
            ledger.finish(slot);
            there.sleep(READER);
        });
        let freed = house.reclaim(waiting.retired);
        house.sleep(WRITER);
        reader.join().unwrap();
        Retired { epoch: waiting.retired, freed }.assert_freed_in_the_end(&house);
    });
}

#[test]
fn what_a_follow_up_on_another_worker_was_told_of_is_not_freed() {
    model(3, || {
        let house = House::new();
        let known = house.announce(OTHER, 0);
        let waiting = house.let_a_task_find_the_object_and_wait();
        house.announce(OTHER, known);
        let sent = Arc::new(AtomicBool::new(false));
        let (there, send, slot) = (house.clone(), sent.clone(), waiting.slot);
        let reader = thread::spawn(move || {
            let ledger = &there.ledgers[READER];
            ledger.start(slot);
            send.store(true, Release);
            ledger.finish(slot);
            there.sleep(READER);
        });
        let there = house.clone();
        let other = thread::spawn(move || {
            if sent.load(Acquire) {
                there.look();
                there.ledgers[OTHER].finish(slot);
            }
            there.sleep(OTHER);
        });
        house.reclaim(waiting.retired);
        reader.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn what_a_task_from_outside_finds_is_not_freed() {
    model(4, || {
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
        retired.assert_freed_in_the_end(&house);
    });
}

#[test]
fn a_worker_that_wakes_up_begins_in_no_settled_epoch() {
    model(3, || {
        let house = House::new();
        let there = house.clone();
        let reader = thread::spawn(move || there.announce(READER, 0));
        house.announce(WRITER, 0);
        for _ in 0..2 {
            house.epochs.advance(house.ledgers.iter());
            house.announce(WRITER, 0);
        }
        let slot = slot(reader.join().unwrap());
        house.ledgers[READER].start(slot);
        house.keep_until_the_task_has_run(slot);
    });
}

#[test]
fn a_task_from_outside_begins_in_no_settled_epoch() {
    model(3, || {
        let house = House::new();
        let there = house.clone();
        let outside = thread::spawn(move || there.epochs.start_external());
        house.announce(WRITER, 0);
        for _ in 0..3 {
            house.epochs.advance(house.ledgers.iter());
            house.announce(WRITER, 0);
        }
        let slot = outside.join().unwrap();
        house.announce(READER, 0);
        house.keep_until_the_task_has_run(slot);
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
