//! Workers that wait, in the midst of a job, and found nothing to do.

use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, SeqCst},
    fence,
};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// How long a worker sleeps that was not woken. A half of a join, which it could run as well, does
/// not wake it.
const LONGEST: Duration = Duration::from_micros(500);

#[derive(Default)]
pub(crate) struct Sleepers {
    /// The length of `threads`.
    count: AtomicUsize,
    threads: Mutex<Vec<Thread>>,
}

impl Sleepers {
    fn threads(&self) -> MutexGuard<'_, Vec<Thread>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until there is a new job, the thread is woken otherwise, or some time has passed.
    /// `is_needed` is called when other threads see that this one sleeps.
    pub fn sleep(&self, is_needed: impl FnOnce() -> bool) {
        let thread = thread::current();
        let mut threads = self.threads();
        threads.push(thread.clone());
        self.count.store(threads.len(), Relaxed);
        drop(threads);
        // Pairs with the fence in `Registry::announce`: either this thread sees the new job, or the
        // one that has pushed it sees that this one sleeps.
        fence(SeqCst);
        if !is_needed() {
            thread::park_timeout(LONGEST);
        }
        let mut threads = self.threads();
        threads.retain(|other| other.id() != thread.id());
        self.count.store(threads.len(), Relaxed);
    }

    /// Wakes a worker. The caller has passed a fence since it pushed a job.
    pub fn wake_one(&self) {
        if self.count.load(Relaxed) > 0 {
            let mut threads = self.threads();
            let woken = threads.pop();
            self.count.store(threads.len(), Relaxed);
            drop(threads);
            if let Some(thread) = woken {
                thread.unpark();
            }
        }
    }

    /// Wakes all workers. The caller has passed a fence since it pushed jobs.
    pub fn wake_all(&self) {
        if self.count.load(Relaxed) > 0 {
            self.threads().iter().for_each(Thread::unpark);
        }
    }
}
