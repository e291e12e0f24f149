//! The baton: of all threads that take part, the one that has it runs.

use super::order::Order;
use super::seat::{Number, State};
use std::cell::Cell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

thread_local! {
    /// The virtual time in which this thread has a seat, by its number, and which.
    static SEAT: Cell<(u64, Number)> = const { Cell::new((0, 0)) };
}

/// Numbers for virtual times; 0 is "none".
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Nobody has the baton.
const NOBODY: usize = usize::MAX;

/// What all that take part share.
pub(super) struct Baton {
    number: u64,
    /// The thread that has the first seat.
    first: ThreadId,
    holder: AtomicUsize,
    order: Mutex<Order>,
}

/// A thread that takes part: also one that unwinds gives the baton on in the end.
pub(super) struct Seated(Arc<Baton>, Number);

impl Drop for Seated {
    fn drop(&mut self) {
        let Self(baton, seat) = self;
        let mut order = baton.order();
        order.leave(*seat);
        let next = order.next();
        baton.hand_over(order, next);
        SEAT.set((0, 0));
    }
}

/// Why a wait is over without what was waited for.
#[derive(Debug)]
pub(super) struct Stuck(String);

impl Stuck {
    /// Panics with it, unless the thread does so already: then it only goes on.
    pub fn report(self) {
        if !std::thread::panicking() {
            panic!("{}", self.0);
        }
    }
}

impl Baton {
    /// The calling thread has it.
    pub fn new(seed: u64) -> Self {
        Self {
            number: NEXT.fetch_add(1, Relaxed),
            first: std::thread::current().id(),
            holder: AtomicUsize::new(0),
            order: Mutex::new(Order::new(seed)),
        }
    }

    /// The seat of the calling thread.
    pub fn seat(&self) -> Option<Number> {
        match SEAT.get() {
            (number, seat) if number == self.number => Some(seat),
            _ => (std::thread::current().id() == self.first).then_some(0),
        }
    }

    /// The same, of a thread that cannot do without.
    ///
    /// # Panics
    ///
    /// If it has none.
    pub fn own_seat(&self) -> Number {
        self.seat()
            .expect("this thread has no seat in virtual time: only its first thread and its submitters do")
    }

    /// The order, to look at or to change.
    pub fn order(&self) -> MutexGuard<'_, Order> {
        // Whoever panicked here has found a fault of this module's, and said so.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calling thread takes a seat, and waits for its turn. It takes part until that is dropped.
    pub fn enter(self: Arc<Self>, seat: Number) -> Seated {
        SEAT.set((self.number, seat));
        self.order().seats[seat].thread = Some(std::thread::current());
        self.wait_for_turn(seat);
        Seated(self, seat)
    }

    /// The one who runs does so for so long; then others go on that are behind.
    pub fn spend(&self, seat: Number, nanoseconds: u64) {
        let mut order = self.order();
        order.tell(seat);
        order.charge(seat, nanoseconds);
        self.let_others_go_on(order, seat);
    }

    /// Lets those go on that are behind the one who runs. Whether there are any.
    pub fn let_others_go_on(&self, mut order: MutexGuard<'_, Order>, seat: Number) -> bool {
        let is_behind = order.is_behind(seat);
        if is_behind {
            order.line_up(seat);
            // Its clock is one of those in line, so that somebody goes on.
            _ = self.wait(order, seat);
        } else {
            order.keep(seat);
        }
        is_behind
    }

    /// The one who runs goes to sleep, unless it was woken before.
    pub fn sleep(&self, seat: Number) -> Result<(), Stuck> {
        let mut order = self.order();
        if order.was_woken(seat) {
            return Ok(());
        }
        order.tell(seat);
        order.seats[seat].state = State::Asleep;
        self.wait(order, seat)
    }

    /// Wakes somebody, or keeps him from falling asleep. The caller need not have a seat.
    pub fn wake(&self, seat: Number) {
        let mut order = self.order();
        let time = order.time(self.seat());
        order.wake(seat, time);
        self.set_going(order);
    }

    /// Calls somebody out of a queue; `false` if he has left it.
    pub fn call(&self, seat: Number) -> bool {
        let mut order = self.order();
        let time = order.time(self.seat());
        let was_there = order.call(seat, time);
        self.set_going(order);
        was_there
    }

    /// The one who runs looks again when something has happened. Tasks say whether they can cope with a failure of that.
    pub fn look_again(&self, seat: Number, may_fail: bool) -> Result<(), Stuck> {
        let mut order = self.order();
        order.seats[seat].may_fail = may_fail;
        order.look(seat);
        self.wait(order, seat)
    }

    /// The one who runs waits in that state.
    pub fn wait_as(&self, seat: Number, state: State) -> Result<(), Stuck> {
        let mut order = self.order();
        order.tell(seat);
        order.seats[seat].state = state;
        order.seats[seat].may_fail = state == State::Queued;
        self.wait(order, seat)
    }

    /// Gives the baton on, and waits until it comes back. The caller's seat is wherever it waits.
    fn wait(&self, mut order: MutexGuard<'_, Order>, seat: Number) -> Result<(), Stuck> {
        order.seats[seat].thread.get_or_insert_with(std::thread::current);
        let next = order.next();
        if next == Some(seat) {
            drop(order);
        } else {
            self.hand_over(order, next);
            self.wait_for_turn(seat);
        }
        let seat = &mut self.order().seats[seat];
        seat.may_fail = false;
        seat.stuck.take().map_or(Ok(()), |why| Err(Stuck(why)))
    }

    fn hand_over(&self, order: MutexGuard<'_, Order>, next: Option<Number>) {
        let thread = next.and_then(|next| order.seats[next].thread.clone());
        // Release pairs with the Acquire of `wait_for_turn`. Under the lock, as a thread that takes its seat meanwhile looks
        // afterwards.
        self.holder.store(next.unwrap_or(NOBODY), Release);
        drop(order);
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    /// If nobody runs, somebody may now be able to.
    fn set_going(&self, mut order: MutexGuard<'_, Order>) {
        // Relaxed: it changes under the lock.
        if self.holder.load(Relaxed) == NOBODY {
            let next = order.next();
            self.hand_over(order, next);
        }
    }

    fn wait_for_turn(&self, seat: Number) {
        // Acquire pairs with the Release of `hand_over`: all that others did is seen.
        while self.holder.load(Acquire) != seat {
            std::thread::park();
        }
    }
}
