//! How a device reports: it advances counters in memory, and then interrupts a core.

use super::msix::Entry;
use crate::cores;
use crate::cpu::apic::vector;
use crate::lock::SpinLock;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU16, Ordering::*};

/// The counters of a device, shared by its driver and the queue of events of its worker.
pub(crate) struct Counters(SpinLock<State>);

struct State {
    /// In the memory of the device's queues; empty once that memory is to be freed.
    counters: Vec<NonNull<AtomicU16>>,
    interrupt: Entry,
    /// The core that the device interrupts.
    core: Option<usize>,
}

// SAFETY: the counters are atomic words, which any core may read.
unsafe impl Send for State {}

impl Counters {
    /// The counters of a device without queues, whose interrupts are held back.
    pub(super) fn new(mut interrupt: Entry) -> Arc<Self> {
        interrupt.mask();
        Arc::new(Self(SpinLock::new(State { counters: Vec::new(), interrupt, core: None })))
    }

    /// Adds a counter.
    ///
    /// # Safety
    ///
    /// It may be read until [`close`](Self::close).
    pub(super) unsafe fn add(&self, counter: NonNull<AtomicU16>) {
        self.0.with(|state| state.counters.push(counter));
    }

    /// Forgets all counters, as their memory is about to be freed.
    pub(super) fn close(&self) {
        self.0.with(|state| {
            state.interrupt_none();
            state.counters.clear();
        });
    }

    /// Returns true if a counter has advanced since this was last called with the same `sum`.
    ///
    /// Each counter grows by less than 2^16 between two calls: a worker looks after some hundred
    /// tasks, and a task moves some hundred packets. So the sum differs if one of them does.
    pub fn have_advanced(&self, sum: &mut u32) -> bool {
        self.0.with(|state| {
            // SAFETY: the counters may be read, by the promise of `add`. Acquire pairs with the
            // device, which writes what it reports first.
            let read = |counter: &NonNull<AtomicU16>| u32::from(unsafe { counter.as_ref() }.load(Acquire));
            let now = state.counters.iter().map(read).sum();
            core::mem::replace(sum, now) != now
        })
    }

    /// Makes the device interrupt a core, by its index. If there is no such core, all stays as it
    /// is: the worker is not driven.
    pub fn interrupt_core(&self, core: usize) {
        let Some(target) = cores::all().get(core) else { return };
        self.0.with(|state| {
            if state.core.replace(core) != Some(core) {
                state.interrupt.send_to(target.apic_id(), vector::DEVICE);
            }
        });
    }

    /// Makes the device interrupt no core.
    pub fn interrupt_none(&self) {
        self.0.with(State::interrupt_none);
    }
}

impl State {
    fn interrupt_none(&mut self) {
        self.core = None;
        self.interrupt.mask();
    }
}
