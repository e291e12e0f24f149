//! The limits of a runtime, which its shutdown closes.

use super::Limit;
use super::permit::Shared;
use crate::platform::Platform;
use crate::sync::{AtomicU64, Relaxed, SpinMutex, under_model};
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;

/// Limits that are remembered before those without a handle are looked for.
const FIRST_SWEEP: usize = under_model(64, 2) as usize;

pub(crate) struct OpenLimits {
    /// The bound of the runtime.
    tasks: Option<Limit>,
    /// The number of the next limit.
    next: AtomicU64,
    /// All limits; `None` once they are closed.
    all: SpinMutex<Option<Vec<Weak<Shared>>>>,
}

impl OpenLimits {
    /// Begins with the bound of a runtime, if it has one.
    pub fn new(most_tasks: Option<usize>, platform: &Arc<dyn Platform>) -> Self {
        let mut this = Self { tasks: None, next: AtomicU64::new(0), all: SpinMutex::new(Some(Vec::new())) };
        this.tasks = most_tasks.map(|most| this.open(most, platform));
        this
    }

    /// Returns the bound of the runtime.
    pub fn tasks(&self) -> Option<&Limit> {
        self.tasks.as_ref()
    }

    /// Creates a limit.
    pub fn open(&self, most: usize, platform: &Arc<dyn Platform>) -> Limit {
        // Relaxed: only the numbers differ, and nothing is ordered by them.
        let limit = Limit::new(most, self.next.fetch_add(1, Relaxed), platform.clone());
        match &mut *self.all.lock() {
            None => limit.semaphore().close(),
            Some(all) => {
                if all.len() == all.capacity().max(FIRST_SWEEP) {
                    all.retain(|limit| limit.strong_count() != 0);
                    // At least as many limits come before the next sweep.
                    all.reserve(all.len() + 1);
                }
                all.push(limit.downgrade());
            }
        }
        limit
    }

    /// Ends all waits for room.
    pub fn close(&self) {
        let all = self.all.lock().take();
        all.iter().flatten().filter_map(Limit::upgrade).for_each(|limit| limit.semaphore().close());
    }
}
