//! Retiring objects and freeing those that nothing can reach any more.

use super::Context;
use crate::memory::{Reclaim, Retired};
use crate::sync::Relaxed;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// Objects freed between two tasks; the rest waits for the next occasion.
const AT_ONCE: usize = 64;

impl Context {
    /// Frees an object when no task can reach it any more.
    ///
    /// # Safety
    ///
    /// The object was unlinked: no task that begins an operation from now on will find it. `owner` can free it.
    pub(crate) unsafe fn retire(&mut self, object: NonNull<u8>, owner: Arc<dyn Reclaim>) {
        let epoch = if planted!("node-freed-at-once") { 0 } else { self.shared.epochs.retirement() };
        self.retired.push_back(Retired { epoch, object, owner });
        self.counters.0.retired.add(1);
    }

    /// Whether there is something to free.
    #[inline(always)]
    pub(super) fn has_garbage(&self) -> bool {
        !self.retired.is_empty() || self.shared.has_orphans.load(Relaxed)
    }

    /// Moves the epochs on and frees some of what they release. Between tasks.
    #[cold]
    pub(super) fn reclaim(&mut self) {
        let shared = self.shared.clone();
        if shared.has_orphans.swap(false, Relaxed) {
            let orphans = shared.orphans.lock().as_mut().map(core::mem::take);
            self.retired.extend(orphans.into_iter().flatten());
        }
        self.epoch = shared.epochs.announce(&self.ledger.0, self.epoch);
        shared.epochs.advance(shared.ledgers());
        self.epoch = shared.epochs.announce(&self.ledger.0, self.epoch);
        let settled = shared.epochs.settled();
        // Orphans may be older than what lies before them: they wait a little longer.
        for _ in 0..AT_ONCE.max(self.retired.len() / 2) {
            match self.retired.pop_front() {
                Some(retired) if retired.epoch <= settled => {
                    // SAFETY: its epoch is settled, and this is the worker of that index.
                    unsafe { retired.free(Some(self.index)) };
                    self.counters.0.reclaimed.add(1);
                }
                Some(retired) => {
                    self.retired.push_front(retired);
                    break;
                }
                None => break,
            }
        }
    }

    /// Before sleeping: frees what can be freed, and leaves the rest to those who are awake.
    pub(super) fn leave_garbage(&mut self) {
        // Three steps of the epoch settle everything if nobody else is awake.
        for _ in 0..3 {
            while self.has_garbage() {
                let before = self.retired.len();
                self.reclaim();
                if self.retired.len() >= before.max(1) {
                    break;
                }
            }
        }
        if !self.retired.is_empty() {
            self.shared.adopt(self.retired.drain(..));
        }
    }
}
