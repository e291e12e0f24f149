//! Implements the run token: of all participating threads, only its holder runs.

use super::order::Order;
use super::participant::{Number, State};
use std::cell::Cell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

thread_local! {
    /// The virtual time in which this thread participates, by its number, and the participant.
    static PARTICIPANT: Cell<(u64, Number)> = const { Cell::new((0, 0)) };
}

/// The next number of a virtual time; 0 stands for none.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// No thread holds the run token.
const NO_HOLDER: usize = usize::MAX;

/// The state shared by all participants.
pub(super) struct RunToken {
    number: u64,
    /// The thread of the first participant.
    first: ThreadId,
    holder: AtomicUsize,
    order: Mutex<Order>,
}

/// A participating thread. Its drop passes the run token on, also during a panic.
pub(super) struct Participation(Arc<RunToken>, Number);

impl Drop for Participation {
    fn drop(&mut self) {
        let Self(token, participant) = self;
        let mut order = token.order();
        order.leave(*participant);
        let next = order.next();
        token.hand_over(order, next);
        PARTICIPANT.set((0, 0));
    }
}

/// Why a wait ended without its event.
#[derive(Debug)]
pub(super) struct Deadlock(String);

impl Deadlock {
    /// Panics with the reason, unless the thread is panicking already.
    pub fn report(self) {
        if !std::thread::panicking() {
            panic!("{}", self.0);
        }
    }
}

impl RunToken {
    /// Creates a run token that the calling thread holds.
    pub fn new(seed: u64) -> Self {
        Self {
            number: NEXT.fetch_add(1, Relaxed),
            first: std::thread::current().id(),
            holder: AtomicUsize::new(0),
            order: Mutex::new(Order::new(seed)),
        }
    }

    /// Returns the participant of the calling thread.
    pub fn participant(&self) -> Option<Number> {
        match PARTICIPANT.get() {
            (number, participant) if number == self.number => Some(participant),
            _ => (std::thread::current().id() == self.first).then_some(0),
        }
    }

    /// Returns the participant of the calling thread, which must be one.
    ///
    /// # Panics
    ///
    /// If it is no participant.
    pub fn own_participant(&self) -> Number {
        self.participant()
            .expect("this thread is no participant in virtual time: start it by `Clocks::submitter`")
    }

    /// Locks the order.
    pub fn order(&self) -> MutexGuard<'_, Order> {
        // A panic with this lock held is a bug of this module, and has been reported.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters the calling thread as a participant, and waits for its turn. The thread takes part
    /// until the result is dropped.
    pub fn enter(self: Arc<Self>, participant: Number) -> Participation {
        PARTICIPANT.set((self.number, participant));
        self.order().participants[participant].thread = Some(std::thread::current());
        self.wait_for_turn(participant);
        Participation(self, participant)
    }

    /// Spends time of the running thread; then threads that are behind run.
    pub fn spend(&self, participant: Number, nanoseconds: u64) {
        let mut order = self.order();
        order.announce(participant);
        order.charge(participant, nanoseconds);
        self.run_behind(order, participant);
    }

    /// Lets threads that are behind the running one run. Returns true if there were any.
    pub fn run_behind(&self, mut order: MutexGuard<'_, Order>, participant: Number) -> bool {
        let is_behind = order.is_behind(participant);
        if is_behind {
            order.line_up(participant);
            // The clock of this participant is ready as well, so some thread runs.
            _ = self.wait(order, participant);
        } else {
            order.keep(participant);
        }
        is_behind
    }

    /// Puts the running thread to sleep, unless it was woken before.
    pub fn sleep(&self, participant: Number) -> Result<(), Deadlock> {
        let mut order = self.order();
        if order.was_woken(participant) {
            return Ok(());
        }
        order.announce(participant);
        order.participants[participant].state = State::Asleep;
        self.wait(order, participant)
    }

    /// Wakes a participant, or keeps it from falling asleep. The caller need not be a participant.
    pub fn wake(&self, participant: Number) {
        let mut order = self.order();
        let time = order.time(self.participant());
        order.wake(participant, time);
        self.start_if_idle(order);
    }

    /// Calls a participant out of a queue. Returns false if it has left the queue.
    pub fn call(&self, participant: Number) -> bool {
        let mut order = self.order();
        let time = order.time(self.participant());
        let was_there = order.call(participant, time);
        self.start_if_idle(order);
        was_there
    }

    /// Lets the running thread look again after the next event. `may_fail` says whether it can
    /// handle a deadlock.
    pub fn look_again(&self, participant: Number, may_fail: bool) -> Result<(), Deadlock> {
        let mut order = self.order();
        order.participants[participant].may_fail = may_fail;
        order.look(participant);
        self.wait(order, participant)
    }

    /// Lets the running thread wait in the given state.
    pub fn wait_as(&self, participant: Number, state: State) -> Result<(), Deadlock> {
        let mut order = self.order();
        order.announce(participant);
        order.participants[participant].state = state;
        order.participants[participant].may_fail = state == State::Queued;
        self.wait(order, participant)
    }

    /// Passes the run token on, and waits until it returns. The caller has set the state in which
    /// it waits.
    fn wait(&self, mut order: MutexGuard<'_, Order>, participant: Number) -> Result<(), Deadlock> {
        order.participants[participant].thread.get_or_insert_with(std::thread::current);
        let next = order.next();
        if next == Some(participant) {
            drop(order);
        } else {
            self.hand_over(order, next);
            self.wait_for_turn(participant);
        }
        let participant = &mut self.order().participants[participant];
        participant.may_fail = false;
        participant.deadlock_report.take().map_or(Ok(()), |why| Err(Deadlock(why)))
    }

    fn hand_over(&self, order: MutexGuard<'_, Order>, next: Option<Number>) {
        let thread = next.and_then(|next| order.participants[next].thread.clone());
        // Release pairs with the Acquire of `wait_for_turn`. Stored under the lock, as a thread
        // that enters meanwhile checks the holder afterwards.
        self.holder.store(next.unwrap_or(NO_HOLDER), Release);
        drop(order);
        if let Some(thread) = thread {
            thread.unpark();
        }
    }

    /// Passes the run token on if no thread runs and one can now.
    fn start_if_idle(&self, mut order: MutexGuard<'_, Order>) {
        // Relaxed: the holder changes under the lock only.
        if self.holder.load(Relaxed) == NO_HOLDER {
            let next = order.next();
            self.hand_over(order, next);
        }
    }

    fn wait_for_turn(&self, participant: Number) {
        // Acquire pairs with the Release of `hand_over`: everything that other threads did is
        // visible.
        while self.holder.load(Acquire) != participant {
            std::thread::park();
        }
    }
}
