//! The cores, and how they sleep and are woken.
//!
//! A core has a wake-up token, as a thread has: a wake-up before the sleep counts.
//!
//! | state | meaning | left by |
//! |---|---|---|
//! | [`AWAKE`] | it runs | its own `sleep`: asleep |
//! | [`ASLEEP`] | it halts, or is about to | `wake`: called, and an interrupt |
//! | [`CALLED`] | it has a token | its own `sleep`: awake, at once |

use crate::cpu::{self, apic};
use crate::lock::SpinLock;
#[cfg(feature = "unwind")]
use crate::unwind;
use crate::{MAX_CORES, clock};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use xtasking::platform::WorkerView;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const CALLED: u32 = 2;

/// What a core is given to do.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// A core.
pub(crate) struct Core {
    index: AtomicU32,
    apic_id: AtomicU32,
    node: AtomicU32,
    state: AtomicU32,
    /// It has no job. The first core, which has the program, is never free.
    is_free: AtomicBool,
    job: SpinLock<Option<Job>>,
    /// The number of the platform whose worker runs on this core now; 0 if none does.
    works_for: AtomicU64,
    /// That worker.
    worker: SpinLock<Option<WorkerView>>,
}

static CORES: [Core; MAX_CORES] = [const { Core::new() }; MAX_CORES];
static COUNT: AtomicUsize = AtomicUsize::new(1);
static HAS_STARTED: AtomicUsize = AtomicUsize::new(1);

impl Core {
    const fn new() -> Self {
        Self {
            index: AtomicU32::new(0),
            apic_id: AtomicU32::new(0),
            node: AtomicU32::new(0),
            state: AtomicU32::new(AWAKE),
            is_free: AtomicBool::new(false),
            job: SpinLock::new(None),
            works_for: AtomicU64::new(0),
            worker: SpinLock::new(None),
        }
    }

    /// Returns its index.
    pub fn index(&self) -> usize {
        self.index.load(Relaxed) as usize
    }

    /// Returns the number of its interrupt controller.
    pub fn apic_id(&self) -> u8 {
        self.apic_id.load(Relaxed) as u8
    }

    /// Returns the index of its node.
    pub fn node(&self) -> u16 {
        self.node.load(Relaxed) as u16
    }

    /// Returns the number of the platform whose worker runs on this core; 0 if none does.
    pub fn works_for(&self) -> u64 {
        self.works_for.load(Relaxed)
    }

    /// Records that a worker of this platform runs on this core from now on; 0 means none.
    pub fn set_works_for(&self, platform: u64) {
        self.works_for.store(platform, Relaxed);
    }

    /// Runs `work`, the work of a platform's worker, on this core.
    pub fn work_for<R>(&self, platform: u64, worker: WorkerView, work: impl FnOnce() -> R) -> R {
        let outer = self.works_for.swap(platform, Relaxed);
        let outer_worker = self.worker.with(|place| place.replace(worker));
        let result = work();
        let own = self.worker.with(|place| core::mem::replace(place, outer_worker));
        self.works_for.store(outer, Relaxed);
        drop(own);
        result
    }

    /// Returns the worker that runs on this core; `None` also if that cannot be said now.
    pub fn try_worker(&self) -> Option<WorkerView> {
        self.worker.try_with(1000, |worker| worker.clone()).flatten()
    }

    /// Gives a free core something to do. Returns the job if the core is not free.
    pub fn give(&self, job: Job) -> Result<(), Job> {
        if !self.is_free.swap(false, AcqRel) {
            return Err(job);
        }
        self.job.with(|place| *place = Some(job));
        self.wake();
        Ok(())
    }

    /// Lets this core be given another job. Each job calls it near its end, before it says
    /// elsewhere that it has ended, so that the next job finds a free core.
    pub fn become_free(&self) {
        self.is_free.store(true, Release);
    }

    /// Returns true if the core has nothing to do.
    pub fn is_free(&self) -> bool {
        self.is_free.load(Acquire)
    }

    /// Wakes the core, or lets its next sleep end at once.
    pub fn wake(&self) {
        // SeqCst: what the caller has written before is seen by the core when it is awake.
        if self.state.swap(CALLED, SeqCst) == ASLEEP {
            apic::wake(self.apic_id());
        }
    }

    /// Halts this core, which is the calling one, until it is woken. With a time on the clock, at
    /// most until then.
    pub fn sleep(&self, until: Option<u64>) {
        self.sleep_unless(until, || false);
    }

    /// As [`sleep`](Self::sleep), but also until `has_event` returns true: it asks before each
    /// halt, and after each interrupt.
    pub fn sleep_unless(&self, until: Option<u64>, has_event: impl Fn() -> bool) {
        if self.state.compare_exchange(AWAKE, ASLEEP, SeqCst, SeqCst).is_ok() {
            let is_over = || until.is_some_and(|until| clock::now() >= until) || has_event();
            while self.state.load(SeqCst) == ASLEEP && !is_over() {
                cpu::halt_unless(|| {
                    // Interrupts are held back until the halt: of the timer, so that it is not over
                    // before the halt begins; of a device that reports after this look.
                    until.into_iter().for_each(clock::interrupt_at);
                    self.state.load(SeqCst) != ASLEEP || has_event()
                });
            }
            if until.is_some() {
                apic::start_timer(0);
            }
        }
        // A swap, as a store would let the next look at memory pass it, and so lose a wake-up.
        self.state.swap(AWAKE, SeqCst);
    }
}

/// Sets what is known of a core before it starts.
pub(crate) fn describe(index: usize, apic_id: u8, node: u16) {
    let core = &CORES[index];
    core.index.store(index as u32, Relaxed);
    core.apic_id.store(u32::from(apic_id), Relaxed);
    core.node.store(u32::from(node), Relaxed);
    // Release pairs with the Acquire of `all`.
    COUNT.fetch_max(index + 1, Release);
}

/// Makes the calling core find itself by [`own`], with thread-local values as they are at the
/// beginning. The first core does so twice before it runs the program: for its reports, and as all
/// do.
pub(crate) fn become_core(index: usize) {
    cpu::set_own(&CORES[index].index);
    // SAFETY: the core has this index, and no reference to such a value: only a panic makes one.
    #[cfg(feature = "unwind")]
    unsafe {
        unwind::begin_core(index)
    };
}

/// Returns all cores, also those that are about to start.
pub(crate) fn all() -> &'static [Core] {
    &CORES[..COUNT.load(Acquire)]
}

/// Returns the calling core.
#[inline(always)]
pub(crate) fn own() -> &'static Core {
    &CORES[cpu::own_index()]
}

/// Returns the node of the calling core.
pub(crate) fn own_node() -> u16 {
    own().node()
}

/// Returns the number of cores that have started.
pub(crate) fn started() -> usize {
    HAS_STARTED.load(Acquire)
}

/// Runs the jobs of the calling core, for ever.
pub(crate) fn serve() -> ! {
    let core = own();
    core.become_free();
    HAS_STARTED.fetch_add(1, Release);
    loop {
        match core.job.with(Option::take) {
            Some(job) => job(),
            None => core.sleep(None),
        }
    }
}
