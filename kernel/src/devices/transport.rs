//! A virtio device on PCI, as its driver sees it: with interrupts by messages, and with doorbells
//! that are rung once for many packets.

use super::Counters;
use super::pci::{RegisterBlock, Taken};
use alloc::sync::Arc;
use core::ptr::{NonNull, with_exposed_provenance_mut};
use core::sync::atomic::{AtomicU16, AtomicUsize, Ordering::*};
use virtio_drivers::transport::pci::PciTransport;
use virtio_drivers::transport::{DeviceStatus, DeviceType, InterruptStatus, Transport as VirtioTransport};
use virtio_drivers::{PhysAddr, Result};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Features that the driver is not to use. With indices of events a driver cannot hold interrupts
/// back while it looks by itself; and each packet is one buffer.
const EVENT_INDICES: u64 = 1 << 29;
const INDIRECT_BUFFERS: u64 = 1 << 28;

/// Registers that are common to all devices, by their offsets: the entry in the table of interrupts
/// and the doorbell of the chosen queue.
const QUEUE_INTERRUPT: usize = 0x1a;
const QUEUE_DOORBELL: usize = 0x1e;
/// The queue whose progress is an event: that of what arrives. A driver that waits for another one
/// looks at it.
const REPORTING_QUEUE: u16 = 0;
/// The entry in the table of interrupts that it uses.
const FIRST_ENTRY: u16 = 0;
/// Where a device counts, in the memory in which it reports.
const COUNTER: usize = 2;
/// Queues of a device that is used.
const MAX_QUEUES: usize = 2;

/// The doorbells of a device, which its driver rings after it has prepared several packets.
pub(crate) struct Doorbells {
    /// The addresses of the doorbells, by queue; 0 before the queue is there.
    addresses: [AtomicUsize; MAX_QUEUES],
    /// The queues that have something new for the device, a bit each.
    waiting: AtomicU16,
}

impl Doorbells {
    /// Tells the device of what is new in its queues.
    pub fn ring(&self) {
        // One task at a time drives the device, so this orders nothing. The queue's own indices,
        // which the device reads, were written before with a fence.
        let waiting = self.waiting.swap(0, Relaxed);
        for (queue, address) in self.addresses.iter().enumerate() {
            if waiting & 1 << queue != 0 {
                let bell = with_exposed_provenance_mut::<u16>(address.load(Relaxed));
                // SAFETY: `queue_set` has stored the address of this register before the queue was
                // used. It stays mapped, and a device without a queue ignores it.
                unsafe { bell.write_volatile(queue as u16) };
            }
        }
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
        let doorbells = Arc::new(Doorbells { addresses: Default::default(), waiting: AtomicU16::new(0) });
        Self { inner, common, bells, doorbells, counters, _taken: taken }
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

    /// Notes where the doorbell of the chosen queue is.
    fn note_doorbell(&mut self, queue: u16) {
        // SAFETY: it is a register of this device, by the promise of `new`; reading changes
        // nothing.
        let number = unsafe { self.common(QUEUE_DOORBELL).read_volatile() };
        let offset = usize::from(number) * self.bells.stride;
        assert!(offset + size_of::<u16>() <= self.bells.bytes, "the device names no doorbell of its own");
        let address = self.bells.start.addr().get() + offset;
        self.doorbells.addresses[usize::from(queue)].store(address, Relaxed);
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

    fn notify(&mut self, queue: u16) {
        self.doorbells.waiting.fetch_or(1 << queue, Relaxed);
    }

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
        self.inner.queue_set(queue, size, descriptors, driver_area, device_area);
        // The queue is still the chosen one.
        self.note_doorbell(queue);
        if queue != REPORTING_QUEUE {
            return;
        }
        self.choose_interrupt();
        let counter = with_exposed_provenance_mut::<AtomicU16>(device_area as usize + COUNTER);
        let counter = NonNull::new(counter).expect("a queue is not at 0");
        // SAFETY: the device counts there. The memory is freed with the queue, after `queue_unset`.
        unsafe { self.counters.add(counter) };
    }

    fn queue_unset(&mut self, queue: u16) {
        self.counters.close();
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
