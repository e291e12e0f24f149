//! What arenas and arrays leave: objects that are dropped, and memory that is given back, once no
//! task can be inside.
//!
//! Links do not keep their objects, and safe code may spawn tasks with them at any time. So the
//! last handle of an arena or array only begins this, and workers go on between tasks:
//!
//! ```text
//!  last handle dropped ──(epoch settles)──> mark ──(epoch settles)──> mark again ──> drop, release
//!                                                        ^                 │
//!                                                        └── one was live ─┘
//! ```
//!
//! 1. *First epoch.* Operations that began before the last handle was dropped go on as before, and
//!    find their objects.
//! 2. *Mark.* `LIVE` is cleared in each header. Tasks that come now fail with
//!    [`JoinError::Freed`](crate::JoinError::Freed). Others may be inside.
//! 3. *Second epoch.* Tasks that were inside have ended. An operation of a later epoch sees the
//!    marks, for the same reason for which it does not find an unlinked node (`memory/epoch.rs`).
//! 4. *Mark again*, which finds nothing to do, except if a mark was lost.
//! 5. Each object is dropped, and its header cleared. Pages of nodes come to `memory/typed.rs`.
//!
//! # Lost marks
//!
//! The writer of a version stores the whole latch word without an exchange, as it is the only
//! writer:
//!
//! ```text
//! writer: loads the word, with LIVE
//! worker: clears LIVE
//! writer: stores the word plus one version, with LIVE       -> the mark is lost
//! ```
//!
//! If an object is live when it is marked again, this has happened, and another epoch has to pass.
//! If it is not, then no mark was lost since the last time: `LIVE` is set by such a store only, of
//! a writer that has seen it. All writers that had seen it before the last mark have ended since.
//! So no task is inside, none has seen the object live and is still to enter, and none will.
//!
//! # Tasks by old links
//!
//! A task looks at `LIVE` and the runtime's tag, in one word ([`Header::is_of`]). If they are
//! right, the object is not freed before the task ends: its mark comes after that look, so the
//! epoch of the mark is not before the task's. If not, the task fails, and writes nothing to the
//! header. Tasks of another runtime fail by the tag, so that the epochs of one runtime suffice.
//! Objects that have no links, but handles or an array only, are dropped after the first epoch: all
//! their tasks were spawned before.
//!
//! Model: `model/remains.rs`.

use super::header::Header;
use crate::memory::{PageSource, Pages, Reclaim, Retired};
use crate::scheduler::RuntimeState;
use crate::sync::SpinMutex;
use crate::task::quietly;
use alloc::sync::Arc;
#[cfg(all(test, model = "loom"))]
use alloc::vec;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// Cells that a worker visits between two tasks.
const CELLS_PER_TURN: usize = 1 << 13;

/// The memory of an arena or array that is gone, with its objects.
pub(crate) struct Remains {
    shared: Arc<RuntimeState>,
    source: Arc<dyn PageSource>,
    stride: usize,
    /// Drops an object, and clears its header.
    unmake: unsafe fn(NonNull<u8>),
    work: SpinMutex<Work>,
}

/// What an arena or array was.
pub(super) struct Estate {
    pub shared: Arc<RuntimeState>,
    /// Where the runs came from.
    pub source: Arc<dyn PageSource>,
    /// Each run of pages, with the number of cells at its start that may have objects.
    pub runs: Vec<(Pages, usize)>,
    /// Bytes from one cell to the next.
    pub stride: usize,
    /// Drops an object, and clears its header.
    pub unmake: unsafe fn(NonNull<u8>),
    /// Links may lead to the objects.
    pub has_links: bool,
}

/// How far the work is.
struct Work {
    runs: Vec<(Pages, usize)>,
    /// Objects are being marked, and not dropped yet.
    is_marking: bool,
    /// An object was live in this pass.
    found_live: bool,
    /// The next cell: its run, and its number there.
    next: (usize, usize),
}

/// What comes after a turn.
pub(crate) enum Then {
    /// Another turn of the same pass.
    Continue,
    /// Another pass, when the epoch has settled.
    Wait,
    End,
}

impl Remains {
    /// Takes over what an arena or array was.
    ///
    /// # Safety
    ///
    /// No handle of it is left that could make objects or give out links. The runs came from the
    /// source. The first bytes of each cell that may have an object are a [`Header`], which is
    /// cleared if there is none. `unmake` suits the objects, which any thread may drop.
    pub(super) unsafe fn leave(estate: Estate) {
        let Estate { shared, source, runs, stride, unmake, has_links } = estate;
        let work = Work { runs, is_marking: has_links, found_live: false, next: (0, 0) };
        let remains = Arc::new(Self { shared, source, stride, unmake, work: SpinMutex::new(work) });
        let epoch = remains.shared.epochs.retirement();
        remains.wait_for(epoch);
    }

    /// Makes the remains of cells that stay where they are, for a model.
    #[cfg(all(test, model = "loom"))]
    pub(crate) fn of_cells(
        shared: Arc<RuntimeState>,
        cells: NonNull<u8>,
        count: usize,
        stride: usize,
        unmake: unsafe fn(NonNull<u8>),
    ) -> Self {
        struct Elsewhere;
        // SAFETY: it supplies nothing.
        unsafe impl PageSource for Elsewhere {
            fn pages(&self, _: usize, _: usize, _: Option<u16>, _: bool) -> Option<Pages> {
                None
            }
            unsafe fn release(&self, _: Pages) {}
        }
        let runs = vec![(Pages { ptr: cells, bytes: count * stride, align: 64, huge: false }, count)];
        let work = Work { runs, is_marking: true, found_live: false, next: (0, 0) };
        Self { shared, source: Arc::new(Elsewhere), stride, unmake, work: SpinMutex::new(work) }
    }

    /// Goes on when that epoch has settled.
    fn wait_for(self: Arc<Self>, epoch: u64) {
        let shared = self.shared.clone();
        shared.adopt(core::iter::once(Retired { epoch, object: NonNull::dangling(), owner: self }));
        shared.wake_for_garbage(0);
    }

    /// Visits up to `cells` cells.
    ///
    /// # Safety
    ///
    /// The epoch that the pass had to wait for has settled.
    pub(crate) unsafe fn turn(&self, cells: usize) -> Then {
        let mut work = self.work.lock();
        let mut left = cells;
        while let Some(&(ref pages, count)) = work.runs.get(work.next.0) {
            let (begin, end) = (work.next.1, count.min(work.next.1.saturating_add(left)));
            let cells = pages.ptr;
            for number in begin..end {
                // SAFETY: the run has that many cells.
                let cell = unsafe { cells.byte_add(number * self.stride) };
                // SAFETY: by the contracts of this function and of `leave`.
                work.found_live |= unsafe { self.visit(cell, work.is_marking) };
            }
            left -= end - begin;
            work.next = if end == count { (work.next.0 + 1, 0) } else { (work.next.0, end) };
            if left == 0 && work.next.0 < work.runs.len() {
                return Then::Continue;
            }
        }
        work.next = (0, 0);
        if core::mem::take(&mut work.found_live) {
            if planted!("remains-marked-once") {
                work.is_marking = false;
            }
            return Then::Wait;
        }
        if core::mem::take(&mut work.is_marking) {
            return Then::Continue;
        }
        let runs = core::mem::take(&mut work.runs);
        drop(work);
        for (pages, _) in runs {
            // SAFETY: the run came from this source, and all its objects were dropped.
            unsafe { self.source.release(pages) };
        }
        Then::End
    }

    /// Marks the object in a cell, or drops it. Returns true if it was marked just now.
    ///
    /// # Safety
    ///
    /// As for [`turn`](Self::turn). If objects are dropped, no task is inside or will enter.
    unsafe fn visit(&self, cell: NonNull<u8>, is_marking: bool) -> bool {
        // SAFETY: the memory is this value's, and each cell in it begins with a header.
        let header = unsafe { cell.cast::<Header>().as_ref() };
        if !header.has_object() {
            return false;
        }
        if is_marking {
            return header.latch.is_live() && header.latch.mark_freed();
        }
        // SAFETY: there is an object, and no task uses it: see the head of this file.
        quietly(|| unsafe { (self.unmake)(cell) });
        false
    }
}

impl Reclaim for Remains {
    unsafe fn reclaim(self: Arc<Self>, _: NonNull<u8>, worker: Option<usize>) {
        // Without a worker no task is left that would have to wait.
        let cells = if worker.is_some() { CELLS_PER_TURN } else { usize::MAX };
        loop {
            // SAFETY: the epoch that was given to `wait_for` has settled, or the runtime has ended.
            match unsafe { self.turn(cells) } {
                Then::Continue if worker.is_none() => {}
                Then::Continue => return self.wait_for(0),
                Then::Wait => {
                    let epoch = self.shared.epochs.retirement();
                    return self.wait_for(epoch);
                }
                Then::End => return,
            }
        }
    }
}
