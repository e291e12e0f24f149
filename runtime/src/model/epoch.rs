//! Objects that tasks have found are not freed while they may use them.

use super::{Watched, model};
use crate::memory::{Epochs, Ledger, slot};
use crate::sync::{Acquire, AtomicBool, AtomicU64, Release, yield_now};
use loom::thread;
use std::sync::Arc;

/// Three workers, and an object that tasks reach by a link.
struct Fixture {
    epochs: Epochs,
    ledgers: [Ledger; 3],
    link: AtomicU64,
    /// Read by tasks that have found it, written by the thread that frees it: loom reports if
    /// nothing orders the two.
    object: Watched,
}

const READER: usize = 0;
const WRITER: usize = 1;
/// A second reader, which sleeps unless a model says otherwise.
const OTHER_READER: usize = 2;

impl Fixture {
    fn new() -> Arc<Self> {
        let fixture = Self {
            epochs: Epochs::new(),
            ledgers: <[Ledger; 3]>::default(),
            link: AtomicU64::new(1),
            object: Watched::new(0),
        };
        // All workers sleep at first.
        fixture.ledgers.iter().for_each(|ledger| fixture.epochs.go_offline(ledger));
        Arc::new(fixture)
    }

    fn announce(&self, worker: usize, known: u64) -> u64 {
        self.epochs.announce(&self.ledgers[worker], known)
    }

    fn sleep(&self, worker: usize) {
        self.epochs.go_offline(&self.ledgers[worker]);
    }

    /// Unlinks the object. Returns the epoch in which it is retired.
    fn unlink(&self) -> u64 {
        self.link.store(0, Release);
        self.epochs.retirement()
    }

    /// Advances the epochs, and frees the object if its epoch is settled.
    fn reclaim(&self, retired: u64) -> bool {
        self.epochs.advance(self.ledgers.iter());
        let settled = self.epochs.settled() >= retired;
        if settled {
            self.object.set(1);
        }
        settled
    }

    /// As the writer's worker: retires the object, and checks a few times whether it can be freed.
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

    /// A task of the reader finds the object and waits in a run queue. Meanwhile the object is
    /// unlinked, and reader and writer go on to the next epoch. Only the ledgers keep the object
    /// then.
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

    /// A task of that slot has found the object and waits. The object is retired, and reader and
    /// writer go on: it is freed only after the task has run.
    fn keep_until_the_task_has_run(&self, slot: u8) {
        let retired = self.unlink();
        let go_on = || {
            self.announce(READER, 0);
            self.announce(WRITER, 0);
            self.reclaim(retired)
        };
        assert!(!(0..4).any(|_| go_on()), "the object was freed while a task that has found it waits");
        self.ledgers[READER].finish(slot);
        assert!((0..4).any(|_| go_on()), "an unreachable object is not freed");
    }

    fn is_found(&self) -> bool {
        self.link.load(Acquire) == 1
    }

    /// Uses the object.
    fn look(&self) {
        assert_eq!(self.object.get(), 0, "the object was freed");
    }
}

/// A waiting task, and the epoch in which the object that it has found was retired.
struct Waiting {
    slot: u8,
    retired: u64,
}

/// Whether the object was freed.
struct Retired {
    epoch: u64,
    freed: bool,
}

impl Retired {
    /// All workers sleep and no task runs: the object is freed within a few epochs.
    fn assert_freed_in_the_end(self, fixture: &Fixture) {
        let freed = self.freed || (0..3).any(|_| fixture.reclaim(self.epoch));
        assert!(freed, "an unreachable object is not freed");
    }
}

#[test]
fn an_object_found_by_a_waiting_task_is_not_freed() {
    model(4, || {
        let fixture = Fixture::new();
        let there = fixture.clone();
        let reader = thread::spawn(move || {
            let ledger = &there.ledgers[READER];
            let epoch = there.announce(READER, 0);
            let slot = slot(epoch);
            ledger.start(slot);
            let found = there.is_found();
            // The task waits in a run queue while its worker goes on.
            there.announce(READER, epoch);
            if found {
                there.look();
            }
            ledger.finish(slot);
            there.sleep(READER);
        });
        let retired = fixture.retire();
        reader.join().unwrap();
        retired.assert_freed_in_the_end(&fixture);
    });
}

#[test]
fn an_object_passed_to_a_follow_up_is_not_freed() {
    model(3, || {
        let fixture = Fixture::new();
        let waiting = fixture.let_a_task_find_the_object_and_wait();
        let (there, slot) = (fixture.clone(), waiting.slot);
        let reader = thread::spawn(move || {
            // The task runs, and has a follow-up of the same operation.
            let ledger = &there.ledgers[READER];
            ledger.start(slot);
            ledger.finish(slot);
            there.look();
            ledger.finish(slot);
            there.sleep(READER);
        });
        let freed = fixture.reclaim(waiting.retired);
        fixture.sleep(WRITER);
        reader.join().unwrap();
        Retired { epoch: waiting.retired, freed }.assert_freed_in_the_end(&fixture);
    });
}

#[test]
fn an_object_passed_to_a_follow_up_on_another_worker_is_not_freed() {
    model(3, || {
        let fixture = Fixture::new();
        let known = fixture.announce(OTHER_READER, 0);
        let waiting = fixture.let_a_task_find_the_object_and_wait();
        fixture.announce(OTHER_READER, known);
        let sent = Arc::new(AtomicBool::new(false));
        let (there, send, slot) = (fixture.clone(), sent.clone(), waiting.slot);
        let reader = thread::spawn(move || {
            let ledger = &there.ledgers[READER];
            ledger.start(slot);
            send.store(true, Release);
            ledger.finish(slot);
            there.sleep(READER);
        });
        let there = fixture.clone();
        let other = thread::spawn(move || {
            if sent.load(Acquire) {
                there.look();
                there.ledgers[OTHER_READER].finish(slot);
            }
            there.sleep(OTHER_READER);
        });
        fixture.reclaim(waiting.retired);
        reader.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn an_object_found_by_a_task_from_outside_is_not_freed() {
    model(4, || {
        let fixture = Fixture::new();
        let there = fixture.clone();
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
        let retired = fixture.retire();
        reader.join().unwrap();
        retired.assert_freed_in_the_end(&fixture);
    });
}

#[test]
fn a_worker_that_wakes_up_begins_in_no_settled_epoch() {
    model(3, || {
        let fixture = Fixture::new();
        let there = fixture.clone();
        let reader = thread::spawn(move || there.announce(READER, 0));
        fixture.announce(WRITER, 0);
        for _ in 0..2 {
            fixture.epochs.advance(fixture.ledgers.iter());
            fixture.announce(WRITER, 0);
        }
        let slot = slot(reader.join().unwrap());
        fixture.ledgers[READER].start(slot);
        fixture.keep_until_the_task_has_run(slot);
    });
}

#[test]
fn a_task_from_outside_begins_in_no_settled_epoch() {
    model(3, || {
        let fixture = Fixture::new();
        let there = fixture.clone();
        let outside = thread::spawn(move || there.epochs.start_external());
        fixture.announce(WRITER, 0);
        for _ in 0..3 {
            fixture.epochs.advance(fixture.ledgers.iter());
            fixture.announce(WRITER, 0);
        }
        let slot = outside.join().unwrap();
        fixture.announce(READER, 0);
        fixture.keep_until_the_task_has_run(slot);
    });
}

/// A task waits in its epoch while the others go on: no epoch begins in the same slot before that
/// one is settled, however often they try.
#[test]
fn no_epoch_begins_in_the_slot_of_an_unsettled_one() {
    model(2, || {
        let fixture = Fixture::new();
        let begun = fixture.announce(READER, 0);
        let slot_in_use = slot(begun);
        fixture.ledgers[READER].start(slot_in_use);
        fixture.sleep(READER);
        let next_in_slot = (begun + 1..).find(|&epoch| slot(epoch) == slot_in_use).unwrap();
        let there = fixture.clone();
        let task = thread::spawn(move || there.ledgers[READER].finish(slot_in_use));
        let mut epoch = fixture.announce(WRITER, 0);
        let mut go_on = || {
            fixture.epochs.advance(fixture.ledgers.iter());
            epoch = fixture.announce(WRITER, epoch);
            epoch
        };
        for _ in begun..=next_in_slot {
            let is_reused = go_on() >= next_in_slot;
            assert!(!is_reused || fixture.epochs.settled() >= begun, "a slot is used by two epochs");
        }
        task.join().unwrap();
        assert!((begun..=next_in_slot).any(|_| go_on() >= next_in_slot), "a slot is never free again");
    });
}

#[test]
fn a_worker_that_sleeps_does_not_delay_reclamation() {
    model(2, || {
        let fixture = Fixture::new();
        let there = fixture.clone();
        let reader = thread::spawn(move || {
            there.announce(READER, 0);
            there.sleep(READER);
        });
        reader.join().unwrap();
        fixture.announce(WRITER, 0);
        let retired = fixture.retire();
        assert!(retired.freed, "only the reclaiming worker is awake");
    });
}

#[test]
fn quiescent_ledgers_mean_that_no_task_is_left() {
    model(3, || {
        let fixture = Fixture::new();
        let outside = fixture.epochs.start_external();
        let there = fixture.clone();
        let worker = thread::spawn(move || {
            let ledger = &there.ledgers[READER];
            let epoch = there.announce(READER, 0);
            there.object.set(1);
            // A follow-up, possibly in another epoch.
            ledger.start(slot(epoch));
            ledger.finish(outside);
            there.object.set(2);
            ledger.finish(slot(epoch));
        });
        for _ in 0..2 {
            if fixture.epochs.is_quiescent(fixture.ledgers.iter()) {
                assert_eq!(fixture.object.get(), 2, "a task was left");
            }
            yield_now();
        }
        worker.join().unwrap();
        assert!(fixture.epochs.is_quiescent(fixture.ledgers.iter()), "no task is left");
    });
}
