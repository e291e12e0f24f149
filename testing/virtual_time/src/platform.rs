//! Implements the platform for the runtime.

use super::VirtualTime;
use super::baton::Baton;
use super::seat::{End, Number, State};
use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};
use xtasking::platform::{Costs, CpuTopology, Platform, PlatformError, WouldBlock};
use xtasking::platform::{Driver, GlobalPages, PageSource, Progress};

/// Stack size of the runtime's own threads.
const STACK: usize = 8 << 20;

/// Drives a worker on its core until the runtime stops it.
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
                    // Other seats have to run first. (A core never gets the report of a standstill
                    // here.)
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
    /// Returns the core of the calling thread, if it is one.
    fn own_core(&self) -> Option<Number> {
        self.baton.seat().filter(|&seat| self.baton.order().seats[seat].core.is_some())
    }
}

impl Platform for VirtualTime {
    fn topology(&self) -> CpuTopology {
        CpuTopology::uniform(self.cores, 1)
    }

    fn start(&self, driver: Driver) -> Result<(), PlatformError> {
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
        let thread = thread.map_err(|cause| {
            self.baton.order().withdraw(seat);
            PlatformError::with_cause(format!("cannot start a thread for core {worker}"), cause)
        })?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    fn park(&self, _: usize) {
        let seat = self.baton.own_seat();
        self.baton.order().seats[seat].slept = true;
        // (A core never gets the report of a standstill here.)
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
    /// If the calling thread has no seat, or a task waits for an event that cannot happen.
    fn join(&self) {
        let Some(seat) = self.baton.seat() else {
            assert!(
                std::thread::panicking(),
                "this thread has no seat in virtual time and cannot end a runtime: \
                    start it by `Clocks::submitter`"
            );
            return;
        };
        let has_cores = self.baton.order().has_cores();
        if has_cores && let Err(stuck) = self.baton.wait_as(seat, State::Awaits(End::OfCores)) {
            return stuck.report();
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // Their seats are gone, so they end without the baton.
        threads.into_iter().for_each(|thread| _ = thread.join());
    }

    fn is_simulated(&self) -> bool {
        true
    }

    /// # Panics
    ///
    /// If the calling thread has no seat and would have to wait, or at a standstill.
    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        if self.own_core().is_some() {
            return Err(WouldBlock);
        }
        let Some(seat) = self.baton.seat() else {
            if ready(Waker::noop()) {
                return Ok(());
            }
            assert!(
                std::thread::panicking(),
                "this thread has no seat in virtual time and cannot wait for a task: \
                    start it by `Clocks::submitter`"
            );
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

    fn virtual_time(&self) -> Option<&dyn xtasking::platform::VirtualTime> {
        Some(self)
    }
}

impl xtasking::platform::VirtualTime for VirtualTime {
    /// If `is_waiting`, waits for the next event; otherwise lets threads that are behind run.
    fn yield_to_others(&self, is_waiting: bool) -> bool {
        let Some(seat) = self.baton.seat() else { return false };
        if !is_waiting {
            return self.baton.run_behind(self.baton.order(), seat);
        }
        if let Err(stuck) = self.baton.look_again(seat, false) {
            stuck.report();
            return false;
        }
        true
    }

    fn record_steal(&self, _: usize) {
        if let Some(core) = self.own_core() {
            self.baton.order().charge(core, self.costs.steal);
        }
    }

    fn record_task(&self, cost: u64) {
        if let Some(core) = self.own_core() {
            let body = self.costs.unit.saturating_mul(cost);
            self.baton.spend(core, self.costs.task.saturating_add(body));
        }
    }

    fn record_push(&self, heap: usize) {
        // Threads outside have no core to charge.
        let Some(core) = self.own_core() else { return };
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        if heap >= locked.len() {
            locked.resize(heap + 1, 0);
        }
        let mut order = self.baton.order();
        // Waiting for this lock keeps the core busy.
        let now = order.time(Some(core));
        let waited = locked[heap].saturating_sub(now);
        order.charge(core, waited.saturating_add(self.costs.queue));
        locked[heap] = order.time(Some(core));
    }

    fn record_pop(&self, heap: usize) {
        self.record_push(heap);
    }
}
