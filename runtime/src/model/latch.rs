//! Latches keep their holders apart, pass on what was written under them, and let every waiter in
//! at last.

use super::{Watched, model};
use crate::sync::global::AtomicU64;
use crate::sync::{Backoff, LatchWord, LiveWord, Relaxed, SpinMutex};
use loom::thread;
use std::sync::Arc;

const LIVE: LiveWord = LiveWord::of_tag(1);

/// A latch and what it protects.
struct Latched {
    latch: LatchWord,
    data: Watched,
}

fn latched() -> Arc<Latched> {
    Arc::new(Latched { latch: LatchWord::new(LIVE), data: Watched::new(0) })
}

#[test]
fn a_spin_latch_lets_one_in_at_a_time() {
    let enter = |here: &Latched| {
        here.latch.lock(Backoff::wait);
        here.data.add(1);
        here.latch.unlock();
    };
    model(3, move || {
        let here = latched();
        let there = here.clone();
        let other = thread::spawn(move || (0..2).for_each(|_| enter(&there)));
        (0..2).for_each(|_| enter(&here));
        other.join().unwrap();
        assert_eq!(here.data.get(), 4);
    });
    model(1, move || {
        let here = latched();
        let others = [here.clone(), here.clone()].map(|there| thread::spawn(move || enter(&there)));
        enter(&here);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(here.data.get(), 3);
    });
}

#[test]
fn a_poisoned_latch_still_lets_one_in_at_a_time() {
    model(3, || {
        let here = latched();
        let there = here.clone();
        let other = thread::spawn(move || {
            there.latch.lock(Backoff::wait);
            there.latch.poison();
            there.data.add(1);
            there.latch.unlock();
        });
        here.latch.lock(Backoff::wait);
        here.data.add(1);
        here.latch.unlock();
        here.latch.clear_poison();
        other.join().unwrap();
        assert_eq!(here.data.get(), 2);
    });
}

#[test]
fn a_reader_and_a_writer_take_turns_at_a_reader_writer_latch() {
    model(3, || {
        let here = latched();
        let there = here.clone();
        let writer = thread::spawn(move || {
            for _ in 0..2 {
                there.latch.lock_exclusive(Backoff::wait);
                there.data.add(1);
                there.latch.unlock_exclusive();
            }
        });
        let mut before = 0;
        for _ in 0..2 {
            here.latch.lock_shared(Backoff::wait);
            let seen = here.data.get();
            here.latch.unlock_shared();
            assert!(before <= seen);
            before = seen;
        }
        writer.join().unwrap();
        // The writer has cleared WAITING, or no reader could enter any more.
        here.latch.lock_shared(Backoff::wait);
        assert_eq!(here.data.get(), 2);
    });
}

#[test]
fn readers_and_writers_of_a_reader_writer_latch_exclude_each_other() {
    model(1, || {
        let here = latched();
        let there = here.clone();
        let writer = thread::spawn(move || {
            there.latch.lock_exclusive(Backoff::wait);
            there.data.add(1);
            there.latch.unlock_exclusive();
        });
        let there = here.clone();
        let reader = thread::spawn(move || {
            there.latch.lock_shared(Backoff::wait);
            let seen = there.data.get();
            there.latch.unlock_shared();
            assert!(seen <= 1);
        });
        here.latch.lock_shared(Backoff::wait);
        let seen = here.data.get();
        here.latch.unlock_shared();
        assert!(seen <= 1);
        writer.join().unwrap();
        reader.join().unwrap();
        assert_eq!(here.data.get(), 1);
    });
}

#[test]
fn two_writers_and_a_reader_all_get_into_a_reader_writer_latch() {
    model(1, || {
        let here = latched();
        let writers = [here.clone(), here.clone()].map(|there| {
            thread::spawn(move || {
                there.latch.lock_exclusive(Backoff::wait);
                there.data.add(1);
                there.latch.unlock_exclusive();
            })
        });
        here.latch.lock_shared(Backoff::wait);
        assert!(here.data.get() <= 2);
        here.latch.unlock_shared();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(here.data.get(), 2);
        // The last writer has cleared WAITING, or no reader could enter any more.
        here.latch.lock_shared(Backoff::wait);
    });
}

#[test]
fn readers_share_a_reader_writer_latch() {
    let together = Arc::new(AtomicU64::new(0));
    let seen = together.clone();
    model(2, move || {
        let here = latched();
        let inside = Arc::new(AtomicU64::new(0));
        let (there, also_inside) = (here.clone(), inside.clone());
        let other = thread::spawn(move || {
            there.latch.lock_shared(Backoff::wait);
            also_inside.fetch_add(1, Relaxed);
            there.latch.unlock_shared();
            also_inside.fetch_sub(1, Relaxed);
        });
        here.latch.lock_shared(Backoff::wait);
        seen.fetch_max(1 + inside.load(Relaxed), Relaxed);
        here.latch.unlock_shared();
        other.join().unwrap();
    });
    assert_eq!(together.load(Relaxed), 2, "in some execution both readers are inside");
}

#[test]
fn a_spin_mutex_hands_its_value_on() {
    model(3, || {
        let mutex = Arc::new(SpinMutex::new(0));
        let there = mutex.clone();
        let other = thread::spawn(move || (0..2).for_each(|_| *there.lock() += 1));
        (0..2).for_each(|_| *mutex.lock() += 1);
        other.join().unwrap();
        assert_eq!(*mutex.lock(), 4);
    });
}
