//! What the cores of a platform share: where its workers are, and which cores wait for it.

use crate::clock;
use crate::cores::{self, Core};
use crate::devices::DeviceQueues;
use alloc::sync::Arc;
use alloc::task::Wake;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use core::time::Duration;

/// What the cores of a platform share.
pub(super) struct Workers {
    /// The core that drives each worker, and its devices.
    pub devices: DeviceQueues,
    /// Workers on other cores that have not ended.
    pub running: AtomicUsize,
    /// The cores that wait for this runtime, a bit each.
    pub waiting: AtomicU64,
    /// The cores that watch it, a bit each.
    watching: AtomicU64,
    /// No watcher is to look again.
    is_watched_no_more: AtomicBool,
}

impl Workers {
    pub const fn new() -> Self {
        Self {
            devices: DeviceQueues::new(),
            running: AtomicUsize::new(0),
            waiting: AtomicU64::new(0),
            watching: AtomicU64::new(0),
            is_watched_no_more: AtomicBool::new(false),
        }
    }

    /// Lets a core be given another job, and says that one less is running.
    pub fn end_job(&self, core: &Core) {
        core.become_free();
        self.running.fetch_sub(1, SeqCst);
        self.wake_waiting();
    }

    /// Lets each core that waits look again.
    pub fn wake_waiting(&self) {
        // SeqCst: a core sets its bit before it looks, so it sees the change or is woken.
        wake_all(self.waiting.load(SeqCst));
    }

    /// Calls `look` from time to time, until it returns false or all watchers are to end.
    pub fn watch(&self, every: Duration, mut look: impl FnMut() -> bool) {
        let core = cores::own();
        let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        // SeqCst: before it looks whether it is to end, so it sees that or is woken.
        self.watching.fetch_or(1 << core.index(), SeqCst);
        let mut next = clock::now().saturating_add(every);
        while !self.is_watched_no_more.load(SeqCst) {
            if clock::now() < next {
                core.sleep(Some(next));
            } else if look() {
                next = clock::now().saturating_add(every);
            } else {
                break;
            }
        }
        self.watching.fetch_and(!(1 << core.index()), SeqCst);
    }

    /// Lets all watchers end.
    pub fn end_watchers(&self) {
        // SeqCst, with the load of each watcher behind the setting of its bit.
        self.is_watched_no_more.store(true, SeqCst);
        wake_all(self.watching.load(SeqCst));
    }
}

/// Wakes cores, a bit each.
fn wake_all(cores: u64) {
    cores::all().iter().filter(|core| cores & 1 << core.index() != 0).for_each(Core::wake);
}

/// Wakes a core, and lets it ask whether its wait is over.
pub(super) struct WakeCore {
    pub core: &'static Core,
    pub is_called: AtomicBool,
}

impl Wake for WakeCore {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // SeqCst: before the core is woken.
        self.is_called.store(true, SeqCst);
        self.core.wake();
    }
}
