//! What the runtime sees of it.

use super::VirtualTime;
use super::baton::Baton;
use super::seat::{End, Number, State};
use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};
use xtasking::platform::{Costs, Platform, Topology, WouldBlock};
use xtasking::{Driver, GlobalPages, PageSource, Progress};

/// As much stack as threads of the runtime have.
const STACK: usize = 8 << 20;

/// Drives a worker on its core until the runtime has no use for it any more.
fn drive(baton: &Baton, seat: Number, mut driver: Driver, costs: &Costs) {
    loop {
        baton.order().seats[seat].in_task = true;
        let (progress, nanoseconds) = driver.step_at(costs);
        baton.order().seats[seat].in_task = false;
        match progress {
            Progress::Ran(_) => baton.spend(seat, nanoseconds),
            Progress::Stopped => return,
            Progress::Idle => {
                baton.order().seats[seat].slept = false;
                driver.sleep();
                if !baton.order().seats[seat].slept {
                    // Others have to go on first. (Cores are not told here that they are stuck.)
                    _ = baton.look_again(seat, false);
                }
            }
        }
    }
}

/// Wakes a thread outside that waits for a handle.
struct Call {
    baton: Arc<Baton>,
    seat: Number,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.baton.wake(self.seat);
    }
}

impl VirtualTime {
    /// The core that the calling thread is, if it is one.
    fn own_core(&self) -> Option<Number> {
        self.baton.seat().filter(|&seat| self.baton.order().seats[seat].core.is_some())
    }
}

impl Platform for VirtualTime {
    fn topology(&self) -> Topology {
        Topology::uniform(self.cores, 1)
    }

    fn start(&self, driver: Driver) -> Result<(), &'static str> {
        let (baton, costs) = (self.baton.clone(), self.costs);
        let worker = driver.worker();
        let seat = {
            let mut order = self.baton.order();
            let now = order.time(self.baton.seat());
            order.add_core(worker, now)
        };
        let body = move || {
            let _seated = baton.clone().enter(seat);
            drive(&baton, seat, driver, &costs);
        };
        let thread = std::thread::Builder::new().name(format!("core-{worker}")).stack_size(STACK).spawn(body);
        let thread = thread.map_err(|_| {
            self.baton.order().withdraw(seat);
            "the operating system refuses to start another thread"
        })?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    fn park(&self, _: usize) {
        let seat = self.baton.own_seat();
        self.baton.order().seats[seat].slept = true;
        // (Cores are not told here that they are stuck.)
        _ = self.baton.sleep(seat);
    }

    fn wake(&self, worker: usize) {
        let seat = self.baton.order().core(worker);
        if let Some(seat) = seat {
            self.baton.wake(seat);
        }
    }

    /// # Panics
    ///
    /// If the calling thread has no seat, or a task waits for something that no other one will do.
    fn join(&self) {
        let Some(seat) = self.baton.seat() else {
            assert!(std::thread::panicking(), "a thread without a seat in virtual time ends a runtime");
            return;
        };
        let has_cores = self.baton.order().has_cores();
        if has_cores && let Err(stuck) = self.baton.wait_as(seat, State::Awaits(End::OfCores)) {
            return stuck.report();
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // Their seats are gone, so that they need no baton to come to their end.
        threads.into_iter().for_each(|thread| _ = thread.join());
    }

    fn is_simulated(&self) -> bool {
        true
    }

    /// # Panics
    ///
    /// If the calling thread has no seat and would have to wait, or nothing is left that could happen.
    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        if self.own_core().is_some() {
            return Err(WouldBlock);
        }
        let Some(seat) = self.baton.seat() else {
            if ready(Waker::noop()) {
                return Ok(());
            }
            assert!(std::thread::panicking(), "a thread without a seat in virtual time waits for a task");
            return Err(WouldBlock);
        };
        let waker = Waker::from(Arc::new(Call { baton: self.baton.clone(), seat }));
        while !ready(&waker) {
            if let Err(stuck) = self.baton.sleep(seat) {
                stuck.report();
                return Err(WouldBlock);
            }
        }
        Ok(())
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(GlobalPages)
    }

    fn now(&self) -> u64 {
        self.baton.order().time(self.baton.seat())
    }

    /// Waits until somebody else has done something, if `waiting`; else lets those go on that are behind.
    fn interleave(&self, waiting: bool) -> bool {
        let Some(seat) = self.baton.seat() else { return false };
        if !waiting {
            return self.baton.let_others_go_on(self.baton.order(), seat);
        }
        if let Err(stuck) = self.baton.look_again(seat, false) {
            stuck.report();
            return false;
        }
        true
    }

    fn ran_for_another(&self, _: usize) {
        if let Some(core) = self.own_core() {
            self.baton.order().charge(core, self.costs.steal);
        }
    }

    fn ran_within(&self, cost: u64) {
        if let Some(core) = self.own_core() {
            let body = self.costs.unit.saturating_mul(cost);
            self.baton.spend(core, self.costs.task.saturating_add(body));
        }
    }

    fn put_into_queue(&self, heap: usize) {
        // Threads outside have no core that would take the time.
        let Some(core) = self.own_core() else { return };
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        if heap >= locked.len() {
            locked.resize(heap + 1, 0);
        }
        let mut order = self.baton.order();
        // Who waits for this lock does so busily.
        let now = order.time(Some(core));
        let waited = locked[heap].saturating_sub(now);
        order.charge(core, waited.saturating_add(self.costs.queue));
        locked[heap] = order.time(Some(core));
    }

    fn took_from_queue(&self, heap: usize) {
        self.put_into_queue(heap);
    }
}
