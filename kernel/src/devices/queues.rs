//! The queue of events of each worker: its core, and the devices that belong to it.

use super::Counters;
use crate::MAX_CORES;
use crate::lock::SpinLock;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use xtasking::events::{EventQueues, Ready, Token};

/// The core of a worker that no core drives.
pub(crate) const NOWHERE: usize = usize::MAX;

/// The queues of the workers of a platform.
pub(crate) struct DeviceQueues {
    queues: [Queue; MAX_CORES],
}

/// The devices of one worker.
struct Queue {
    /// The core that drives the worker.
    core: AtomicUsize,
    /// How many there are, for workers that have none.
    count: AtomicUsize,
    devices: SpinLock<Vec<Device>>,
}

impl Queue {
    const fn new() -> Self {
        Self {
            core: AtomicUsize::new(NOWHERE),
            count: AtomicUsize::new(0),
            devices: SpinLock::new(Vec::new()),
        }
    }
}

/// A device that is registered.
struct Device {
    token: Token,
    counters: Arc<Counters>,
    /// The sum of its counters when they were last read.
    sum: u32,
    /// They have advanced, and the event has not been taken.
    has_event: bool,
}

impl DeviceQueues {
    pub const fn new() -> Self {
        Self { queues: [const { Queue::new() }; MAX_CORES] }
    }

    fn devices(&self, worker: usize) -> Option<&SpinLock<Vec<Device>>> {
        let queue = self.queues.get(worker)?;
        // SeqCst, with `add`: see `move_to_core`.
        (queue.count.load(SeqCst) > 0).then_some(&queue.devices)
    }

    /// Adds a device. It interrupts the core of the worker from now on.
    pub fn add(&self, worker: usize, token: Token, counters: Arc<Counters>) {
        let Some(queue) = self.queues.get(worker) else { return };
        // The first look finds what the device has reported before.
        let device = Device { token, counters, sum: 0, has_event: true };
        queue.count.fetch_add(1, SeqCst);
        queue.devices.with(|devices| {
            device.counters.interrupt_core(queue.core.load(SeqCst));
            devices.push(device);
        });
    }

    /// Removes a device. It interrupts no core from now on.
    pub fn remove(&self, worker: usize, token: Token) {
        let Some(queue) = self.queues.get(worker) else { return };
        let removed = queue.devices.with(|devices| {
            let at = devices.iter().position(|device| device.token == token)?;
            Some(devices.swap_remove(at))
        });
        if let Some(device) = removed {
            queue.count.fetch_sub(1, SeqCst);
            device.counters.interrupt_none();
        }
    }

    /// Returns the core that drives a worker, or [`NOWHERE`].
    pub fn core_of(&self, worker: usize) -> usize {
        // SeqCst, with `move_to_core`: a core that drives another worker looks before it halts.
        self.queues.get(worker).map_or(NOWHERE, |queue| queue.core.load(SeqCst))
    }

    /// Records the core that drives a worker, and makes its devices interrupt that core. It must
    /// look before it halts.
    ///
    /// `add` counts, and then loads the core within the lock. This stores the core, and then loads
    /// the count. All four are sequentially consistent. So either `add` sees the core, or this sees
    /// the count; then it takes the lock before `add`, which sees the core, or finds the device.
    pub fn move_to_core(&self, worker: usize, core: usize) {
        self.queues.get(worker).into_iter().for_each(|queue| queue.core.store(core, SeqCst));
        let move_all = |devices: &mut Vec<Device>| {
            devices.iter().for_each(|device| device.counters.interrupt_core(core));
        };
        self.devices(worker).into_iter().for_each(|devices| devices.with(move_all));
    }

    /// Looks for events of a worker. Returns true if there are new ones.
    pub fn look(&self, worker: usize) -> bool {
        let look = |device: &mut Device| {
            let has_advanced = device.counters.have_advanced(&mut device.sum);
            device.has_event |= has_advanced;
            has_advanced
        };
        // Each of them, also if the first has something.
        let look_at_all = |devices: &mut Vec<Device>| devices.iter_mut().map(look).fold(false, |a, b| a | b);
        self.devices(worker).is_some_and(|devices| devices.with(look_at_all))
    }
}

impl EventQueues for DeviceQueues {
    fn poll(&self, worker: usize) -> bool {
        self.look(worker) || self.has_events(worker)
    }

    fn has_events(&self, worker: usize) -> bool {
        let has_events = |devices: &mut Vec<Device>| devices.iter().any(|device| device.has_event);
        self.devices(worker).is_some_and(|devices| devices.with(has_events))
    }

    fn take(&self, worker: usize, each: &mut dyn FnMut(Token, Ready)) {
        // One at a time, as the lock must be free while `each` runs; there are few devices.
        let take_one = || {
            self.devices(worker)?.with(|devices| {
                let device = devices.iter_mut().find(|device| device.has_event)?;
                device.has_event = false;
                Some(device.token)
            })
        };
        while let Some(token) = take_one() {
            each(token, Ready::READABLE);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
