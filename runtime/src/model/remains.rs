//! Objects of an arena that is gone are not dropped while tasks that came by old links are inside.

use super::platform::standing;
use super::{Watched, model};
use crate::memory::{Epochs, Ledger, slot};
use crate::object::{Cell, FreeWord, Remains, Then};
use loom::thread;
use std::ptr::NonNull;
use std::sync::Arc;

/// An object to which an old link leads, and the epochs of two workers.
struct Fixture {
    epochs: Epochs,
    /// Of the worker whose tasks come by the link, and of the one that frees.
    ledgers: [Ledger; 2],
    cell: NonNull<Cell<Watched>>,
    free_word: FreeWord,
}

// SAFETY: the cell is shared by reference; loom checks the accesses to its value.
unsafe impl Send for Fixture {}
// SAFETY: as for `Send`.
unsafe impl Sync for Fixture {}

impl Fixture {
    fn cell(&self) -> &Cell<Watched> {
        // SAFETY: freed at the end of the model.
        unsafe { self.cell.as_ref() }
    }

    /// As a worker: runs tasks that come by the link, each an operation of its own, and sleeps.
    fn come_by_the_link(&self, tasks: usize) {
        let mut epoch = 0;
        for _ in 0..tasks {
            epoch = self.epochs.announce(&self.ledgers[0], epoch);
            self.ledgers[0].start(slot(epoch));
            self.write();
            self.ledgers[0].finish(slot(epoch));
        }
        self.epochs.go_offline(&self.ledgers[0]);
    }

    /// As a task at the home of the object: writes its version as a sequenced writer does.
    fn write(&self) {
        let Cell { header, value } = self.cell();
        if header.is_of(self.free_word) {
            header.latch.begin_write();
            if header.failure(self.free_word).is_none() {
                assert_eq!(value.get(), 0, "the object was dropped");
            }
            header.latch.end_write();
        }
    }

    /// As a worker, between tasks: goes on until it has to wait for other workers. Returns true if
    /// the object is dropped.
    fn free(&self, remains: &Remains, retired: &mut u64) -> bool {
        for _ in 0..4 {
            self.epochs.announce(&self.ledgers[1], 0);
            self.epochs.advance(self.ledgers.iter());
            while self.epochs.settled() >= *retired {
                // SAFETY: the epoch of the last pass has settled.
                match unsafe { remains.turn(usize::MAX) } {
                    Then::Continue => {}
                    Then::Wait => *retired = self.epochs.retirement(),
                    Then::End => return true,
                }
            }
        }
        false
    }
}

/// Marks the object as dropped, which loom reports if a task may be inside.
unsafe fn unmake(cell: NonNull<u8>) {
    // SAFETY: the cell of the fixture.
    let Cell { header, value } = unsafe { cell.cast::<Cell<Watched>>().as_ref() };
    value.add(1);
    header.clear();
}

#[test]
fn an_object_is_not_dropped_while_a_writer_by_an_old_link_is_inside() {
    // With 4 preemptions a mark is lost, and the next task comes before the objects are dropped.
    model(4, || {
        let (runtime, _drivers) = standing(1);
        let free_word = runtime.shared().free_word;
        let cell = NonNull::from(Box::leak(Box::new(Cell::new(Watched::new(0), free_word))));
        let (epochs, ledgers) = (Epochs::new(), Default::default());
        let fixture = Arc::new(Fixture { epochs, ledgers, cell, free_word });
        fixture.epochs.announce(&fixture.ledgers[0], 0);
        let remains =
            Remains::of_cells(runtime.shared().clone(), cell.cast(), 1, size_of::<Cell<Watched>>(), unmake);
        let there = fixture.clone();
        let tasks = thread::spawn(move || there.come_by_the_link(2));
        let mut retired = 0;
        let mut is_dropped = fixture.free(&remains, &mut retired);
        tasks.join().unwrap();
        is_dropped = is_dropped || fixture.free(&remains, &mut retired);
        assert!(is_dropped && fixture.cell().value.get() == 1);
        assert!(!fixture.cell().header.latch.is_live());
        // SAFETY: made from a box above; the threads have ended.
        drop(unsafe { Box::from_raw(cell.as_ptr()) });
    });
}
