//! The tickets that a worker has in hand.

use super::tally::Tally;
use crate::scheduler::Context;
use crate::sync::under_model;
use core::mem::replace;
use core::ptr::{NonNull, null_mut};

/// Tickets drawn at once: so many that a burst hardly ever needs more. They cost nothing.
const MANY: u64 = under_model(1 << 16, 2);

/// A worker's groups: the one whose tickets it has, and the one whose member it runs.
pub(crate) struct Groups {
    /// Whose tickets these are; it may be long over if there are none. (A pointer that may be null is compared at once.)
    stocked: *mut Tally,
    tickets: u64,
    /// The group of the running task, if it is a member and has begun.
    current: Option<NonNull<Tally>>,
}

impl Default for Groups {
    fn default() -> Self {
        Self { stocked: null_mut(), tickets: 0, current: None }
    }
}

impl Groups {
    /// Whether there are tickets to be given back.
    #[inline(always)]
    pub(crate) fn have_tickets(&self) -> bool {
        self.tickets != 0
    }

    /// The group of the running task.
    pub(crate) fn current(&self) -> Option<NonNull<Tally>> {
        self.current
    }

    /// Says whose member the running task is; returns whose the last one was.
    #[inline(always)]
    pub(crate) fn set_current(&mut self, group: Option<NonNull<Tally>>) -> Option<NonNull<Tally>> {
        replace(&mut self.current, group)
    }

    #[inline(always)]
    fn take(&mut self, tally: NonNull<Tally>) -> bool {
        if self.stocked != tally.as_ptr() || self.tickets == 0 {
            return false;
        }
        self.tickets -= 1;
        true
    }

    #[inline(always)]
    fn put(&mut self, tally: NonNull<Tally>) -> bool {
        if self.stocked != tally.as_ptr() {
            return false;
        }
        self.tickets += 1;
        true
    }

    /// Has these tickets instead, and gives the others back. If those were the last, their group is over and the caller has
    /// to end it.
    fn restock(&mut self, tally: *mut Tally, tickets: u64) -> Option<NonNull<Tally>> {
        let (stocked, count) = (replace(&mut self.stocked, tally), replace(&mut self.tickets, tickets));
        let stocked = NonNull::new(stocked)?;
        // SAFETY: the tickets keep the tally, if there are any.
        (count != 0 && unsafe { stocked.as_ref() }.give_back(count)).then_some(stocked)
    }
}

impl Context {
    /// Draws a ticket.
    ///
    /// # Safety
    ///
    /// Somebody has a ticket of the group meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn draw_ticket(&mut self, tally: NonNull<Tally>) {
        if !self.groups.take(tally) {
            // SAFETY: by the caller's promise.
            unsafe { self.fill_stock(tally) };
        }
    }

    /// # Safety
    ///
    /// As for [`draw_ticket`](Self::draw_ticket).
    #[cold]
    #[inline(never)]
    unsafe fn fill_stock(&mut self, tally: NonNull<Tally>) {
        // SAFETY: by the caller's promise.
        unsafe { tally.as_ref() }.draw(MANY - u64::from(planted!("group-ended-early")));
        self.restock(tally.as_ptr(), MANY - 1);
    }

    /// Takes the ticket of a member that is over.
    ///
    /// # Safety
    ///
    /// The caller has it, and gives it up.
    #[inline(always)]
    pub(crate) unsafe fn take_ticket(&mut self, tally: NonNull<Tally>) {
        if !self.groups.put(tally) {
            self.stock_another(tally);
        }
    }

    #[cold]
    #[inline(never)]
    fn stock_another(&mut self, tally: NonNull<Tally>) {
        self.restock(tally.as_ptr(), 1);
    }

    /// Gives back the tickets of the stock, and ends the group if they were the last. What comes after it may run at once, so
    /// that there may be others then.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_tickets_back(&mut self) {
        self.restock(null_mut(), 0);
    }

    /// The same, with others in stock when what comes after the group runs.
    fn restock(&mut self, tally: *mut Tally, tickets: u64) {
        if let Some(tally) = self.groups.restock(tally, tickets) {
            // SAFETY: given back the last one.
            let waiting = unsafe { Tally::end(tally, self.shared(), Some(self.worker())) };
            if let Some(waiting) = waiting {
                waiting.send(&mut { self });
            }
        }
    }
}
