//! The tickets that a worker caches.

use super::state::GroupState;
use crate::scheduler::{Context, Worker};
use crate::sync::under_model;
use core::mem::replace;
use core::ptr::{NonNull, null_mut};

/// Tickets drawn at once: more than a burst needs, because drawing more costs the same.
const TICKET_BATCH: u64 = under_model(1 << 16, 2);

/// What a worker knows of groups: the cached tickets, and the group of the running task.
pub(crate) struct Groups {
    /// The group of the cached tickets; dangling if there are none. (A nullable pointer compares in
    /// one instruction.)
    cached: *mut GroupState,
    tickets: u64,
    /// The group of the running task, if it is a member and has begun.
    current: Option<NonNull<GroupState>>,
}

impl Default for Groups {
    fn default() -> Self {
        Self { cached: null_mut(), tickets: 0, current: None }
    }
}

impl Groups {
    /// Returns true if tickets are cached.
    #[inline(always)]
    pub(crate) fn has_tickets(&self) -> bool {
        self.tickets != 0
    }

    /// Returns the group of the running task.
    pub(crate) fn current(&self) -> Option<NonNull<GroupState>> {
        self.current
    }

    /// Sets the group of the running task; returns the previous one.
    #[inline(always)]
    pub(crate) fn set_current(&mut self, group: Option<NonNull<GroupState>>) -> Option<NonNull<GroupState>> {
        replace(&mut self.current, group)
    }

    #[inline(always)]
    fn take(&mut self, state: NonNull<GroupState>) -> bool {
        if self.cached != state.as_ptr() || self.tickets == 0 {
            return false;
        }
        self.tickets -= 1;
        true
    }

    #[inline(always)]
    fn put(&mut self, state: NonNull<GroupState>) -> bool {
        if self.cached != state.as_ptr() {
            return false;
        }
        self.tickets += 1;
        true
    }

    /// Replaces the cached tickets, and returns the previous ones to their group. If they were the
    /// last, returns that group: it is over, and the caller must complete it.
    fn replace_tickets(&mut self, state: *mut GroupState, tickets: u64) -> Option<NonNull<GroupState>> {
        let (cached, count) = (replace(&mut self.cached, state), replace(&mut self.tickets, tickets));
        let cached = NonNull::new(cached)?;
        // SAFETY: a ticket keeps the state alive, and `count` tickets are out.
        (count != 0 && unsafe { cached.as_ref() }.give_back(count)).then_some(cached)
    }
}

impl Worker {
    /// Draws a ticket of a group.
    ///
    /// # Safety
    ///
    /// Another ticket of the group is out during the call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn draw_ticket(&mut self, state: NonNull<GroupState>) {
        if !self.groups.take(state) {
            // SAFETY: this function's contract.
            unsafe { self.refill_tickets(state) };
        }
    }

    /// Draws a batch of tickets into the cache.
    ///
    /// # Safety
    ///
    /// As for [`draw_ticket`](Self::draw_ticket).
    #[cold]
    #[inline(never)]
    unsafe fn refill_tickets(&mut self, state: NonNull<GroupState>) {
        // SAFETY: alive by this function's contract: another ticket is out.
        unsafe { state.as_ref() }.draw(TICKET_BATCH - u64::from(planted!("group-ended-early")));
        self.replace_tickets(state.as_ptr(), TICKET_BATCH - 1);
    }

    /// Takes over the ticket of a member that is over.
    ///
    /// # Safety
    ///
    /// The caller has the ticket, and gives it up.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn take_ticket(&mut self, state: NonNull<GroupState>) {
        if !self.groups.put(state) {
            self.cache_ticket_of_another(state);
        }
    }

    #[cold]
    #[inline(never)]
    fn cache_ticket_of_another(&mut self, state: NonNull<GroupState>) {
        self.replace_tickets(state.as_ptr(), 1);
    }

    /// Returns the cached tickets, and completes the group if they were the last. A stored task is
    /// sent, and may put other tickets into the cache.
    #[cold]
    #[inline(never)]
    pub(crate) fn return_tickets(&mut self) {
        self.replace_tickets(null_mut(), 0);
    }

    /// Replaces the cached tickets, and completes the previous group if its tickets were the last.
    /// When a stored task is sent, the new tickets are in the cache.
    fn replace_tickets(&mut self, state: *mut GroupState, tickets: u64) {
        if let Some(state) = self.groups.replace_tickets(state, tickets) {
            // SAFETY: the last ticket was returned, by `Groups::replace_tickets`.
            let waiting = unsafe { GroupState::complete(state, self.shared(), Some(self.index())) };
            if let Some(waiting) = waiting {
                waiting.send(&mut Context::of(self));
            }
        }
    }
}
