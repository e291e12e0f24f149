//! Implements the baton: of all participating threads, only its holder runs.

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
    /// The virtual time in which this thread has a seat, by its number, and the seat.
    static SEAT: Cell<(u64, Number)> = const { Cell::new((0, 0)) };
}

/// The next number of a virtual time; 0 stands for none.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// No thread holds the baton.
const NO_HOLDER: usize = usize::MAX;

/// The state shared by all participants.
pub(super) struct Baton {
    number: u64,
    /// The thread with the first seat.
    first: ThreadId,
    holder: AtomicUsize,
    order: Mutex<Order>,
}

/// A participating thread. Its drop passes the baton on, also during a panic.
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

/// Why a wait ended without its event.
#[derive(Debug)]
pub(super) struct Stuck(String);

impl Stuck {
    /// Panics with the reason, unless the thread is panicking already.
    pub fn report(self) {
        if !std::thread::panicking() {
            panic!("{}", self.0);
        }
    }
}

impl Baton {
    /// Creates a baton that the calling thread holds.
    pub fn new(seed: u64) -> Self {
        Self {
            number: NEXT.fetch_add(1, Relaxed),
            first: std::thread::current().id(),
            holder: AtomicUsize::new(0),
            order: Mutex::new(Order::new(seed)),
        }
    }

    /// Returns the seat of the calling thread.
    pub fn seat(&self) -> Option<Number> {
        match SEAT.get() {
            (number, seat) if number == self.number => Some(seat),
            _ => (std::thread::current().id() == self.first).then_some(0),
        }
    }

    /// Returns the seat of a thread that must have one.
    ///
    /// # Panics
    ///
    /// If it has none.
    pub fn own_seat(&self) -> Number {
        self.seat().expect("this thread has no seat in virtual time: start it by `Clocks::submitter`")
    }

    /// Locks the order.
    pub fn order(&self) -> MutexGuard<'_, Order> {
        // A panic with this lock held is a bug of this module, and has been reported.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a seat for the calling thread, and waits for its turn. The thread takes part until the
    /// result is dropped.
    pub fn enter(self: Arc<Self>, seat: Number) -> Seated {
        SEAT.set((self.number, seat));
        self.order().seats[seat].thread = Some(std::thread::current());
        self.wait_for_turn(seat);
        Seated(self, seat)
    }

    /// Spends time of the running thread; then threads that are behind run.
    pub fn spend(&self, seat: Number, nanoseconds: u64) {
        let mut order = self.order();
        order.announce(seat);
        order.charge(seat, nanoseconds);
        self.run_behind(order, seat);
    }

    /// Lets threads that are behind the running one run. Returns true if there were any.
    pub fn run_behind(&self, mut order: MutexGuard<'_, Order>, seat: Number) -> bool {
        let is_behind = order.is_behind(seat);
        if is_behind {
            order.line_up(seat);
            // The clock of this seat is ready as well, so some thread runs.
            _ = self.wait(order, seat);
        } else {
            order.keep(seat);
        }
        is_behind
    }

    /// Puts the running thread to sleep, unless it was woken before.
    pub fn sleep(&self, seat: Number) -> Result<(), Stuck> {
        let mut order = self.order();
        if order.was_woken(seat) {
            return Ok(());
        }
        order.announce(seat);
        order.seats[seat].state = State::Asleep;
        self.wait(order, seat)
    }

    /// Wakes a seat, or keeps it from falling asleep. The caller need not have a seat.
    pub fn wake(&self, seat: Number) {
        let mut order = self.order();
        let time = order.time(self.seat());
        order.wake(seat, time);
        self.start_if_idle(order);
    }

    /// Calls a seat out of a queue. Returns false if it has left the queue.
    pub fn call(&self, seat: Number) -> bool {
        let mut order = self.order();
        let time = order.time(self.seat());
        let was_there = order.call(seat, time);
        self.start_if_idle(order);
        was_there
    }

    /// Lets the running thread look again after the next event. `may_fail` says whether it can
    /// handle a standstill.
    pub fn look_again(&self, seat: Number, may_fail: bool) -> Result<(), Stuck> {
        let mut order = self.order();
        order.seats[seat].may_fail = may_fail;
        order.look(seat);
        self.wait(order, seat)
    }

    /// Lets the running thread wait in the given state.
    pub fn wait_as(&self, seat: Number, state: State) -> Result<(), Stuck> {
        let mut order = self.order();
        order.announce(seat);
        order.seats[seat].state = state;
        order.seats[seat].may_fail = state == State::Queued;
        self.wait(order, seat)
    }

    /// Passes the baton on, and waits until it returns. The caller has put its seat where it waits.
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
        // Release pairs with the Acquire of `wait_for_turn`. Stored under the lock, as a thread
        // that takes a seat meanwhile checks the holder afterwards.
        self.holder.store(next.unwrap_or(NO_HOLDER), Release);
        drop(order);
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    /// Passes the baton on if no thread runs and one can now.
    fn start_if_idle(&self, mut order: MutexGuard<'_, Order>) {
        // Relaxed: the holder changes under the lock only.
        if self.holder.load(Relaxed) == NO_HOLDER {
            let next = order.next();
            self.hand_over(order, next);
        }
    }

    fn wait_for_turn(&self, seat: Number) {
        // Acquire pairs with the Release of `hand_over`: everything that other threads did is
        // visible.
        while self.holder.load(Acquire) != seat {
            std::thread::park();
        }
    }
}
