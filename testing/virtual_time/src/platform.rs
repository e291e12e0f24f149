//! Implements the platform for the runtime.

use super::VirtualTime;
use super::participant::{End, Number, State};
use super::run_token::RunToken;
use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};
use xtasking::platform::{Costs, CpuTopology, Platform, PlatformError, WouldBlock};
use xtasking::platform::{Driver, GlobalPages, PageSource, Progress};

/// Stack size of the runtime's own threads.
const STACK: usize = 8 << 20;

/// Drives a worker on its core until the runtime stops it.
fn drive(token: &RunToken, participant: Number, mut driver: Driver, costs: &Costs) {
    loop {
        token.order().participants[participant].is_in_task = true;
        let (progress, nanoseconds) = driver.step_at(costs);
        token.order().participants[participant].is_in_task = false;
        match progress {
            Progress::Ran(_) => token.spend(participant, nanoseconds),
            Progress::Stopped => return,
            Progress::Idle => {
                token.order().participants[participant].has_slept = false;
                driver.sleep();
                if !token.order().participants[participant].has_slept {
                    // Other participants have to run first. (A core never gets the report of a
                    // deadlock here.)
                    _ = token.look_again(participant, false);
                }
            }
        }
    }
}

/// Wakes a thread outside that waits for a handle.
struct Call {
    token: Arc<RunToken>,
    participant: Number,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.token.wake(self.participant);
    }
}

impl VirtualTime {
    /// Returns the core of the calling thread, if it is one.
    fn own_core(&self) -> Option<Number> {
        self.token
            .participant()
            .filter(|&participant| self.token.order().participants[participant].core.is_some())
    }
}

impl Platform for VirtualTime {
    fn topology(&self) -> CpuTopology {
        CpuTopology::uniform(self.cores, 1)
    }

    fn start(&self, driver: Driver) -> Result<(), PlatformError> {
        let (token, costs) = (self.token.clone(), self.costs);
        let worker = driver.worker();
        let participant = {
            let mut order = self.token.order();
            let now = order.time(self.token.participant());
            order.add_core(worker, now)
        };
        let body = move || {
            let _participation = token.clone().enter(participant);
            drive(&token, participant, driver, &costs);
        };
        let thread = std::thread::Builder::new().name(format!("core-{worker}")).stack_size(STACK).spawn(body);
        let thread = thread.map_err(|cause| {
            self.token.order().withdraw(participant);
            PlatformError::with_cause(format!("cannot start a thread for core {worker}"), cause)
        })?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    fn park(&self, _: usize) {
        let participant = self.token.own_participant();
        self.token.order().participants[participant].has_slept = true;
        // (A core never gets the report of a deadlock here.)
        _ = self.token.sleep(participant);
    }

    fn wake(&self, worker: usize) {
        let participant = self.token.order().core(worker);
        if let Some(participant) = participant {
            self.token.wake(participant);
        }
    }

    /// # Panics
    ///
    /// If the calling thread is no participant, or a task waits for an event that cannot happen.
    fn join(&self) {
        let Some(participant) = self.token.participant() else {
            assert!(
                std::thread::panicking(),
                "this thread is no participant in virtual time and cannot end a runtime: \
                    start it by `Clocks::submitter`"
            );
            return;
        };
        let has_cores = self.token.order().has_cores();
        if has_cores && let Err(deadlock) = self.token.wait_as(participant, State::Awaits(End::OfCores)) {
            return deadlock.report();
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // Their participants are gone, so they end without the run token.
        threads.into_iter().for_each(|thread| _ = thread.join());
    }

    fn is_simulated(&self) -> bool {
        true
    }

    /// # Panics
    ///
    /// If the calling thread is no participant and would have to wait, or in a deadlock.
    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        if self.own_core().is_some() {
            return Err(WouldBlock);
        }
        let Some(participant) = self.token.participant() else {
            if ready(Waker::noop()) {
                return Ok(());
            }
            assert!(
                std::thread::panicking(),
                "this thread is no participant in virtual time and cannot wait for a task: \
                    start it by `Clocks::submitter`"
            );
            return Err(WouldBlock);
        };
        let waker = Waker::from(Arc::new(Call { token: self.token.clone(), participant }));
        while !ready(&waker) {
            if let Err(deadlock) = self.token.sleep(participant) {
                deadlock.report();
                return Err(WouldBlock);
            }
        }
        Ok(())
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(GlobalPages)
    }

    fn now(&self) -> u64 {
        self.token.order().time(self.token.participant())
    }

    fn virtual_time(&self) -> Option<&dyn xtasking::platform::VirtualTime> {
        Some(self)
    }
}

impl xtasking::platform::VirtualTime for VirtualTime {
    /// Returns true if other threads may have run: if `is_waiting`, waits for the next event;
    /// otherwise lets threads that are behind run.
    fn yield_to_others(&self, is_waiting: bool) -> bool {
        let Some(participant) = self.token.participant() else { return false };
        if !is_waiting {
            return self.token.run_behind(self.token.order(), participant);
        }
        if let Err(deadlock) = self.token.look_again(participant, false) {
            deadlock.report();
            return false;
        }
        true
    }

    fn record_steal(&self, _: usize) {
        if let Some(core) = self.own_core() {
            self.token.order().charge(core, self.costs.steal);
        }
    }

    fn record_task(&self, cost: u64) {
        if let Some(core) = self.own_core() {
            let body = self.costs.unit.saturating_mul(cost);
            self.token.spend(core, self.costs.task.saturating_add(body));
        }
    }

    fn record_push(&self, heap: usize) {
        // Threads outside have no core to charge.
        let Some(core) = self.own_core() else { return };
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        if heap >= locked.len() {
            locked.resize(heap + 1, 0);
        }
        let mut order = self.token.order();
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
