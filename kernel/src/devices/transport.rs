//! A virtio device on PCI, as its driver sees it: with interrupts by messages, and with doorbells
//! that are rung once for many packets.

use super::Counters;
use super::pci::{RegisterBlock, Taken};
use alloc::sync::Arc;
use core::ptr::{NonNull, with_exposed_provenance_mut};
use core::sync::atomic::{AtomicU16, AtomicUsize, Ordering::*, fence};
use virtio_drivers::transport::pci::PciTransport;
use virtio_drivers::transport::{DeviceStatus, DeviceType, InterruptStatus, Transport as VirtioTransport};
use virtio_drivers::{PhysAddr, Result};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Features that the driver is not to use. With indices of events a driver cannot hold interrupts
/// back while it looks by itself; and each packet is one buffer.
const EVENT_INDICES: u64 = 1 << 29;
const INDIRECT_BUFFERS: u64 = 1 << 28;

/// Registers that are common to all devices, by their offsets: which queue is chosen, its entry in
/// the table of interrupts, and its doorbell.
const CHOSEN_QUEUE: usize = 0x16;
const QUEUE_INTERRUPT: usize = 0x1a;
const QUEUE_DOORBELL: usize = 0x1e;
/// The queue whose progress is an event: that of what arrives. A driver that waits for another one
/// looks at it.
const REPORTING_QUEUE: u16 = 0;
/// The entry in the table of interrupts that it uses.
const FIRST_ENTRY: u16 = 0;
/// Where driver and device count, each in the memory in which it reports to the other.
const COUNTER: usize = 2;
/// The flag, at the beginning of the memory in which a device reports, that says that it looks for
/// what is new by itself.
const LOOKS_BY_ITSELF: u16 = 1;
/// Queues of a device that is used.
const MAX_QUEUES: usize = 2;

/// The doorbells of a device, by queue. Its driver rings after it has prepared several packets.
#[derive(Default)]
pub(crate) struct Doorbells([Doorbell; MAX_QUEUES]);

#[derive(Default)]
struct Doorbell {
    /// The address of the register.
    register: AtomicUsize,
    /// The address of the driver's counter; 0 while there is no queue.
    counter: AtomicUsize,
    /// The address of the device's flags.
    flags: AtomicUsize,
    /// What the driver had counted when the device was last told.
    told: AtomicU16,
}

impl Doorbells {
    /// Tells the device of what is new in its queues, unless it looks by itself.
    pub fn ring(&self) {
        // SeqCst, as a store must come before a load: the driver counts, and then looks whether the
        // device looks by itself. A device that stops looking says so, passes a fence, and then
        // looks at the count. So one of them sees the other.
        fence(SeqCst);
        for (queue, bell) in self.0.iter().enumerate() {
            if bell.is_due() {
                let register = with_exposed_provenance_mut::<u16>(bell.register.load(Relaxed));
                // SAFETY: `queue_set` has stored the address of this register with the counter's.
                // It stays mapped.
                unsafe { register.write_volatile(queue as u16) };
            }
        }
    }
}

impl Doorbell {
    /// Returns true if the device is to be told. One task at a time drives the device, so this
    /// orders nothing.
    fn is_due(&self) -> bool {
        let (counter, flags) = (self.counter.load(Relaxed), self.flags.load(Relaxed));
        if counter == 0 {
            return false;
        }
        let read = |address| {
            // SAFETY: `queue_set` has stored the addresses of two words of the queue, and
            // `queue_unset` removes them before its memory is freed.
            unsafe { AtomicU16::from_ptr(with_exposed_provenance_mut(address)) }.load(Relaxed)
        };
        let counted = read(counter);
        let is_new = self.told.swap(counted, Relaxed) != counted;
        is_new && read(flags) & LOOKS_BY_ITSELF == 0
    }
}

/// A virtio device on PCI.
pub(crate) struct Transport {
    inner: PciTransport,
    common: NonNull<u8>,
    bells: RegisterBlock,
    doorbells: Arc<Doorbells>,
    counters: Arc<Counters>,
    _taken: Taken,
}

// SAFETY: registers of a device may be accessed by any core, and `&mut self` keeps writes apart.
unsafe impl Send for Transport {}

impl Transport {
    /// # Safety
    ///
    /// `common` and `bells` are the registers of this device, and stay mapped.
    pub(super) unsafe fn new(
        inner: PciTransport,
        common: NonNull<u8>,
        bells: RegisterBlock,
        counters: Arc<Counters>,
        taken: Taken,
    ) -> Self {
        Self { inner, common, bells, doorbells: Arc::default(), counters, _taken: taken }
    }

    /// Returns the counters by which the device reports.
    pub fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    /// Returns the doorbells.
    pub fn doorbells(&self) -> Arc<Doorbells> {
        self.doorbells.clone()
    }

    fn common(&self, offset: usize) -> *mut u16 {
        self.common.as_ptr().wrapping_byte_add(offset).cast()
    }

    /// Chooses the queue that the registers of a queue mean.
    fn choose(&mut self, queue: u16) {
        // SAFETY: it is a register of this device, by the promise of `new`; the inner transport
        // chooses a queue before it uses one.
        unsafe { self.common(CHOSEN_QUEUE).write_volatile(queue) };
    }

    /// Makes the chosen queue interrupt by the first entry of the table.
    fn choose_interrupt(&mut self) {
        let register = self.common(QUEUE_INTERRUPT);
        // SAFETY: it is a register of this device, by the promise of `new`, that the inner
        // transport does not use.
        let accepted = unsafe {
            register.write_volatile(FIRST_ENTRY);
            register.read_volatile()
        };
        assert_eq!(accepted, FIRST_ENTRY, "the device has no interrupt for its queue");
    }

    /// Returns the address of the chosen queue's doorbell.
    fn doorbell(&self) -> usize {
        // SAFETY: it is a register of this device, by the promise of `new`; reading changes
        // nothing.
        let number = unsafe { self.common(QUEUE_DOORBELL).read_volatile() };
        let offset = usize::from(number) * self.bells.stride;
        assert!(offset + size_of::<u16>() <= self.bells.bytes, "the device names no doorbell of its own");
        self.bells.start.addr().get() + offset
    }

    /// Counts the progress of a queue as events.
    fn report(&mut self, device_area: PhysAddr) {
        let counter = with_exposed_provenance_mut::<AtomicU16>(device_area as usize + COUNTER);
        let counter = NonNull::new(counter).expect("a queue is not at 0");
        // SAFETY: the device counts there. The memory is freed with the queue, after `queue_unset`.
        unsafe { self.counters.add(counter) };
    }
}

impl VirtioTransport for Transport {
    fn device_type(&self) -> DeviceType {
        self.inner.device_type()
    }

    fn read_device_features(&mut self) -> u64 {
        self.inner.read_device_features() & !(EVENT_INDICES | INDIRECT_BUFFERS)
    }

    fn write_driver_features(&mut self, features: u64) {
        self.inner.write_driver_features(features);
    }

    fn max_queue_size(&mut self, queue: u16) -> u32 {
        self.inner.max_queue_size(queue)
    }

    /// Does nothing: a driver asks for it after each packet. [`Doorbells::ring`] finds what is new.
    fn notify(&mut self, _: u16) {}

    fn get_status(&self) -> DeviceStatus {
        self.inner.get_status()
    }

    fn set_status(&mut self, status: DeviceStatus) {
        self.inner.set_status(status);
    }

    fn set_guest_page_size(&mut self, bytes: u32) {
        self.inner.set_guest_page_size(bytes);
    }

    fn requires_legacy_layout(&self) -> bool {
        self.inner.requires_legacy_layout()
    }

    fn queue_set(
        &mut self,
        queue: u16,
        size: u32,
        descriptors: PhysAddr,
        driver_area: PhysAddr,
        device_area: PhysAddr,
    ) {
        self.choose(queue);
        // Before the queue is in use: devices need not look at this later.
        if queue == REPORTING_QUEUE {
            self.choose_interrupt();
            self.report(device_area);
        }
        let bell = &self.doorbells.0[usize::from(queue)];
        bell.register.store(self.doorbell(), Relaxed);
        bell.flags.store(device_area as usize, Relaxed);
        bell.told.store(0, Relaxed);
        bell.counter.store(driver_area as usize + COUNTER, Relaxed);
        self.inner.queue_set(queue, size, descriptors, driver_area, device_area);
    }

    fn queue_unset(&mut self, queue: u16) {
        self.counters.close();
        self.doorbells.0.iter().for_each(|bell| bell.counter.store(0, Relaxed));
        // The device reads and writes nothing from now on, as all queues are about to be freed.
        self.inner.set_status(DeviceStatus::empty());
        while self.inner.get_status() != DeviceStatus::empty() {
            core::hint::spin_loop();
        }
        self.inner.queue_unset(queue);
    }

    fn queue_used(&mut self, queue: u16) -> bool {
        self.inner.queue_used(queue)
    }

    fn ack_interrupt(&mut self) -> InterruptStatus {
        self.inner.ack_interrupt()
    }

    fn read_config_generation(&self) -> u32 {
        self.inner.read_config_generation()
    }

    fn read_config_space<T: FromBytes + IntoBytes>(&self, offset: usize) -> Result<T> {
        self.inner.read_config_space(offset)
    }

    fn write_config_space<T: IntoBytes + Immutable>(&mut self, offset: usize, value: T) -> Result<()> {
        self.inner.write_config_space(offset, value)
    }
}
