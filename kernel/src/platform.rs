//! The platform of runtimes: a worker a core.
//!
//! Other cores than the first run a worker from its start to its end. The first core has the
//! program; its worker runs while the program waits, and on the core that waits. So all cores run
//! tasks, and the program needs no core of its own. In between, that worker is as if inside a long
//! task: its tasks wait, or other workers steal them.

mod workers;

use crate::cores::{self, Core};
use crate::devices::NOWHERE;
use crate::lock::SpinLock;
use crate::memory::{NodePages, zones};
use crate::{MAX_CORES, Machine, clock};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use core::task::Waker;
use core::time::Duration;
use workers::{WakeCore, Workers};
use xtasking::events::EventQueues;
use xtasking::platform::{CpuTopology, Driver, PageSource, Platform, PlatformError, WouldBlock};

/// The worker that runs while the program waits.
const PROGRAM_WORKER: usize = 0;
/// The core that has the program.
const PROGRAM_CORE: usize = 0;
/// The time of a wait without a limit.
const NEVER: u64 = u64::MAX;
/// Probes of an idle worker's own sources before it searches elsewhere.
const OWN_QUEUE_PROBES: u32 = 256;

const _: () = assert!(MAX_CORES <= u64::BITS as usize, "a core is a bit of a word");

/// The next platform's number; 0 means none.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// The cores of this machine as a platform: a worker on each.
///
/// A machine has as many workers at a time as it has cores, all runtimes together; the program's
/// own core can have one of each runtime. Runtimes that are built later find fewer cores free, and
/// fail to build if they ask for more.
///
/// A timed wait may end late: the core that waits runs tasks meanwhile, and none is interrupted. So
/// `Runtime::shutdown_within` may take longer than its limit, as long as a task takes. Where the
/// program shares its core, it also drives the first worker to its end, for which there is no
/// limit.
///
/// Stand-ins for workers whose tasks block in place, and watchers, take a free core each.
pub struct Cores {
    number: u64,
    topology: CpuTopology,
    /// Whether the first worker runs while the program waits.
    shares_first: bool,
    /// The first worker, while no core drives it.
    program_worker: SpinLock<Option<Driver>>,
    /// The first worker has started and not stopped.
    has_program_worker: AtomicBool,
    /// The runtime was left: the first worker runs until it stops by itself.
    is_left: AtomicBool,
    /// The end of the wait in which the first worker is driven.
    limit: AtomicU64,
    workers: Arc<Workers>,
}

/// How long the first worker was driven.
enum Driven {
    /// Until the wait was over.
    ToTheWaitsEnd,
    /// Until it had to return.
    ToItsEnd,
    /// Another core drives it, or it has ended.
    NotAtAll,
}

impl Cores {
    /// Workers on all cores. That of the first core runs while the program waits for this runtime.
    pub fn new(machine: &Machine) -> Self {
        Self::with(machine.topology().clone(), true)
    }

    /// Workers on all cores but the first, which the program keeps: tasks go on even if the program
    /// does not wait for them. On a machine with one core this is [`new`](Self::new).
    pub fn beside_program(machine: &Machine) -> Self {
        let mut topology = machine.topology().clone();
        if topology.cores.len() == 1 {
            return Self::new(machine);
        }
        topology.cores.remove(0);
        Self::with(topology, false)
    }

    fn with(topology: CpuTopology, shares_first: bool) -> Self {
        Self {
            number: NEXT_NUMBER.fetch_add(1, Relaxed),
            topology,
            shares_first,
            program_worker: SpinLock::new(None),
            has_program_worker: AtomicBool::new(false),
            is_left: AtomicBool::new(false),
            limit: AtomicU64::new(NEVER),
            workers: Arc::new(Workers::new()),
        }
    }

    /// Starts a worker on a free core: on its own if that is free.
    fn start_on_core(&self, driver: Driver) -> Result<(), PlatformError> {
        let (number, worker, explicit) = (self.number, driver.worker(), driver.core());
        let own = explicit.or_else(|| self.topology.cores.get(worker).map(|core| core.os_id));
        let workers = self.workers.clone();
        let job: cores::Job = Box::new(move || {
            let core = cores::own();
            workers.devices.move_to_core(worker, core.index());
            core.work_for(number, driver.view(), || driver.run());
            workers.end_job(core);
        });
        let own = cores::all().iter().filter(|core| Some(core.index()) == own);
        let others = cores::all().iter().filter(|_| explicit.is_none());
        if self.give(own.chain(others), job) {
            return Ok(());
        }
        let free = cores::all().iter().filter(|core| core.is_free()).count();
        Err(match explicit {
            Some(core) => alloc::format!("core {core} has another worker, or the program"),
            None => alloc::format!("no core is free for worker {worker}; the machine has {free} free cores"),
        }
        .into())
    }

    /// Gives a job to the first of these cores that is free. Returns false if none is, and drops
    /// the job then.
    fn give(&self, cores: impl Iterator<Item = &'static Core>, mut job: cores::Job) -> bool {
        self.workers.running.fetch_add(1, SeqCst);
        for core in cores {
            match core.give(job) {
                Ok(()) => return true,
                Err(back) => job = back,
            }
        }
        self.workers.running.fetch_sub(1, SeqCst);
        false
    }

    /// Waits until `ready` returns true, at most until a time. Returns whether it did.
    fn wait(&self, until: u64, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<bool, WouldBlock> {
        if !self.may_block() {
            return Err(WouldBlock);
        }
        let called = Arc::new(WakeCore { core: cores::own(), is_called: AtomicBool::new(true) });
        let waker = Waker::from(called.clone());
        let mut is_ready = false;
        self.drive_until(until, &mut || {
            is_ready = called.is_called.swap(false, SeqCst) && ready(&waker);
            is_ready || until != NEVER && clock::now() >= until
        });
        Ok(is_ready)
    }

    /// Waits until `is_over` returns true, and drives the first worker meanwhile.
    fn drive_until(&self, until: u64, is_over: &mut dyn FnMut() -> bool) {
        let core = cores::own();
        let own_bit = 1 << core.index();
        // SeqCst, with `wake_waiting`. A wait inside of another one leaves its bit.
        let was_waiting = self.workers.waiting.fetch_or(own_bit, SeqCst) & own_bit != 0;
        while !is_over() {
            match self.drive(core, until, is_over) {
                Driven::ToTheWaitsEnd => break,
                Driven::ToItsEnd => {}
                Driven::NotAtAll => core.sleep((until != NEVER).then_some(until)),
            }
        }
        if !was_waiting {
            self.workers.waiting.fetch_and(!own_bit, SeqCst);
        }
        // Another core that waits goes on with the first worker.
        self.workers.wake_waiting();
    }

    /// Drives the first worker, if there is one and no other core does, until it ends or `is_over`
    /// returns true.
    fn drive(&self, core: &'static Core, until: u64, is_over: &mut dyn FnMut() -> bool) -> Driven {
        let Some(mut driver) = self.program_worker.with(Option::take) else { return Driven::NotAtAll };
        self.limit.store(until, Relaxed);
        self.workers.devices.move_to_core(PROGRAM_WORKER, core.index());
        let was_over = core.work_for(self.number, driver.view(), || driver.run_until(is_over));
        let mut goes_on = was_over;
        while goes_on {
            if self.is_left.load(SeqCst) {
                goes_on = core.work_for(self.number, driver.view(), || driver.run_until(|| false));
                continue;
            }
            self.workers.devices.move_to_core(PROGRAM_WORKER, NOWHERE);
            self.program_worker.with(|place| *place = Some(driver));
            // `leave` may have been called since the load above, and then found no driver.
            if !self.is_left.load(SeqCst) {
                return Driven::ToTheWaitsEnd;
            }
            let Some(back) = self.program_worker.with(Option::take) else { return Driven::ToTheWaitsEnd };
            driver = back;
            self.workers.devices.move_to_core(PROGRAM_WORKER, core.index());
        }
        self.workers.devices.move_to_core(PROGRAM_WORKER, NOWHERE);
        drop(driver);
        self.has_program_worker.store(false, SeqCst);
        if was_over { Driven::ToTheWaitsEnd } else { Driven::ToItsEnd }
    }
}

impl Platform for Cores {
    fn topology(&self) -> CpuTopology {
        self.topology.clone()
    }

    fn start(&self, worker: Driver) -> Result<(), PlatformError> {
        if worker.worker() >= self.topology.cores.len() {
            let cores = self.topology.cores.len();
            return Err(alloc::format!("the platform has {cores} cores, and a worker a core").into());
        }
        if self.shares_first && worker.worker() == PROGRAM_WORKER {
            if let Some(core) = worker.core().filter(|&core| core != PROGRAM_CORE) {
                return Err(alloc::format!(
                    "worker 0 runs on core {PROGRAM_CORE} while the program waits, not on core {core}; \
                     place it on core {PROGRAM_CORE}, or use `Cores::beside_program`"
                )
                .into());
            }
            self.has_program_worker.store(true, SeqCst);
            self.program_worker.with(|place| *place = Some(worker));
            return Ok(());
        }
        self.start_on_core(worker)
    }

    /// On a core that is free. The first worker gets none if it runs while the program waits.
    fn stand_in(&self, worker: usize, body: Box<dyn FnOnce() + Send>) -> Result<(), PlatformError> {
        if self.shares_first && worker == PROGRAM_WORKER {
            return Err("the first worker runs on the core that waits".into());
        }
        let workers = self.workers.clone();
        let job = Box::new(move || {
            body();
            let core = cores::own();
            core.set_works_for(0);
            workers.end_job(core);
        });
        if self.give(cores::all().iter(), job) { Ok(()) } else { Err("no core is free".into()) }
    }

    fn suspend(&self) {
        cores::own().set_works_for(0);
    }

    fn resume(&self, worker: usize, ready: &mut dyn FnMut(&Waker) -> bool) {
        let core = cores::own();
        let called = Arc::new(WakeCore { core, is_called: AtomicBool::new(true) });
        let waker = Waker::from(called.clone());
        while !(called.is_called.swap(false, SeqCst) && ready(&waker)) {
            core.sleep(None);
        }
        core.set_works_for(self.number);
        self.workers.devices.move_to_core(worker, core.index());
    }

    fn park(&self, worker: usize) {
        self.park_until(worker, NEVER);
    }

    fn park_until(&self, worker: usize, until: u64) {
        let is_program = self.shares_first && worker == PROGRAM_WORKER;
        let limit = if is_program { self.limit.load(Relaxed) } else { NEVER };
        let until = until.min(limit);
        // An event that was found before, and that a task is to take later, is no reason to return.
        let has_event = Cell::new(false);
        let look = || {
            has_event.set(has_event.get() || self.workers.devices.look(worker));
            has_event.get()
        };
        cores::own().sleep_unless((until != NEVER).then_some(until), look);
    }

    fn events(&self) -> Option<&dyn EventQueues> {
        Some(&self.workers.devices)
    }

    fn wake(&self, worker: usize) {
        if let Some(core) = cores::all().get(self.workers.devices.core_of(worker)) {
            core.wake();
        }
    }

    fn join(&self) {
        self.workers.end_watchers();
        self.drive_until(NEVER, &mut || {
            !self.has_program_worker.load(SeqCst) && self.workers.running.load(SeqCst) == 0
        });
    }

    /// On a core that is free, which the watcher keeps to its end.
    fn watch(&self, every: Duration, look: Box<dyn FnMut() -> bool + Send>) -> Result<(), PlatformError> {
        let workers = self.workers.clone();
        let job = Box::new(move || {
            workers.watch(every, look);
            workers.end_job(cores::own());
        });
        if self.give(cores::all().iter(), job) { Ok(()) } else { Err("no core is free to watch".into()) }
    }

    fn leave(&self) {
        self.is_left.store(true, SeqCst);
        // Other workers end by themselves. Inside one of its tasks, the core that drives the first
        // worker goes on with that.
        if self.may_block() {
            self.drive_until(NEVER, &mut || !self.has_program_worker.load(SeqCst));
        }
    }

    fn block(&self, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<(), WouldBlock> {
        self.wait(NEVER, ready).map(drop)
    }

    fn block_until(&self, until: u64, ready: &mut dyn FnMut(&Waker) -> bool) -> Result<bool, WouldBlock> {
        self.wait(until, ready)
    }

    fn may_block(&self) -> bool {
        cores::own().works_for() != self.number
    }

    fn pages(&self) -> Arc<dyn PageSource> {
        Arc::new(NodePages)
    }

    fn memory(&self) -> Option<u64> {
        Some(zones::all_bytes() as u64)
    }

    fn now(&self) -> u64 {
        clock::now()
    }

    fn has_steady_counter(&self) -> bool {
        true
    }

    fn spin_limit(&self) -> u32 {
        OWN_QUEUE_PROBES
    }

    fn current_cpu(&self) -> Option<u32> {
        Some(cores::own().index() as u32)
    }
}
