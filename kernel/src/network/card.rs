//! A virtio network card: its queues, and packets between them and the TCP stack.

use super::entries::{Entries, HeldBuffer, QUEUE};
use crate::Machine;
use crate::devices::{
    self, Buffers, Counters, DeviceError, DeviceKind, DeviceMemory, DeviceQueues, Doorbells, Transport,
};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{Ordering::SeqCst, fence};
use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::time::Instant;
use virtio_drivers::device::net::VirtIONetRaw;
use xtasking::events::{Registration, Source};
use xtasking::platform::PlatformError;

/// Bytes of a buffer for a packet.
const BUFFER: usize = 2048;
/// The longest packet: a header of Ethernet, and 1,500 bytes.
const LONGEST: usize = 1514;

/// The driver of the device.
type Driver = VirtIONetRaw<DeviceMemory, Transport, QUEUE>;

/// A virtio network card, and the source of its events.
///
/// [`Network::start`](super::Network::start) makes it serve TCP. Dropping it resets the device, and
/// [`take`](Self::take) returns it again.
pub struct NetworkCard {
    /// Dropped first: the device then no longer uses the buffers.
    driver: Driver,
    counters: Arc<Counters>,
    doorbells: Arc<Doorbells>,
    receiving: Lane,
    /// A buffer that takes the place of the one whose packet is being handled.
    spare: usize,
    sending: Lane,
    /// Buffers for sending that are free.
    free: Vec<usize>,
    /// It has returned what it did not have, and is not used any more.
    is_broken: bool,
}

/// The buffers of one direction.
struct Lane {
    buffers: Buffers,
    entries: Entries,
}

impl Lane {
    fn new(buffers: usize) -> Self {
        Self { buffers: Buffers::new(buffers, BUFFER), entries: Entries::new() }
    }
}

impl NetworkCard {
    /// Finds the machine's network card, and starts it.
    ///
    /// # Errors
    ///
    /// If the machine has none, it is taken already, or it does not work as it should.
    pub fn take(_: &Machine) -> Result<Self, DeviceError> {
        let transport = devices::take(DeviceKind::Network)?;
        let (counters, doorbells) = (transport.counters(), transport.doorbells());
        let mut card = Self {
            driver: Driver::new(transport)?,
            counters,
            doorbells,
            receiving: Lane::new(QUEUE + 1),
            spare: QUEUE,
            sending: Lane::new(QUEUE),
            free: (0..QUEUE).collect(),
            is_broken: false,
        };
        for buffer in 0..QUEUE {
            card.receive_into(buffer)?;
        }
        card.doorbells.ring();
        Ok(card)
    }

    /// Returns its Ethernet address.
    pub fn address(&self) -> [u8; 6] {
        self.driver.mac_address()
    }

    /// Hands a buffer to the device, for a packet to come.
    fn receive_into(&mut self, buffer: usize) -> Result<(), virtio_drivers::Error> {
        // SAFETY: the buffer is not with the device: it is the spare one, or has never been there.
        let bytes = unsafe { self.receiving.buffers.buffer(buffer) };
        // SAFETY: it is not accessed before `receive_complete` in `take_packet`.
        let entry = unsafe { self.driver.receive_begin(bytes) }?;
        self.receiving.entries.put(entry, HeldBuffer { number: buffer, bytes: bytes.len() });
        Ok(())
    }

    /// Takes the next packet, which is in the spare buffer then. Returns where it begins, and how
    /// long it is.
    fn take_packet(&mut self) -> Option<(usize, usize)> {
        let entry = self.driver.poll_receive()?;
        let Some(held) = self.receiving.entries.take(entry) else {
            self.give_up();
            return None;
        };
        // SAFETY: the device had it, and `poll_receive` says that it is done with it. Nothing else
        // uses it.
        let bytes = unsafe { self.receiving.buffers.buffer(held.number) };
        // SAFETY: it is the buffer with which `receive_begin` has returned this entry.
        let (start, length) = match unsafe { self.driver.receive_complete(entry, bytes) } {
            Ok(place) => place,
            // Shorter than its own header: handled as a packet without contents.
            Err(virtio_drivers::Error::IoError) => (0, 0),
            // The device has changed what `poll_receive` has read.
            Err(_) => {
                self.give_up();
                return None;
            }
        };
        let free = core::mem::replace(&mut self.spare, held.number);
        self.receive_into(free).expect("the entry of the packet is free");
        Some((start, length))
    }

    /// Takes back the buffers of packets that are sent.
    fn take_sent(&mut self) {
        while let Some(entry) = self.driver.poll_transmit() {
            let Some(held) = self.sending.entries.take(entry) else { return self.give_up() };
            // SAFETY: the device had it, and `poll_transmit` says that it is done with it. Nothing
            // else uses it.
            let packet = unsafe { &self.sending.buffers.buffer(held.number)[..held.bytes] };
            // SAFETY: it is the buffer with which `transmit_begin` has returned this entry.
            if unsafe { self.driver.transmit_complete(entry, packet) }.is_err() {
                return self.give_up();
            }
            self.free.push(held.number);
        }
    }

    /// Uses the card no more, as it has returned what it did not have.
    fn give_up(&mut self) {
        if !core::mem::replace(&mut self.is_broken, true) {
            crate::println!("network: the card works wrongly, and is not used any more");
        }
    }

    /// Returns true if no packet can be sent now. Nothing interrupts when there is room again: the
    /// caller looks.
    pub(super) fn is_full(&mut self) -> bool {
        self.make_room().is_none() && !self.is_broken
    }

    /// Holds interrupts back while packets are handled.
    pub(super) fn begin_polling(&mut self) {
        self.driver.disable_interrupts();
    }

    /// Tells the device of new packets and buffers, and lets it interrupt. Returns false if a
    /// packet has come meanwhile, perhaps without an interrupt: then the caller goes on.
    pub(super) fn end_polling(&mut self) -> bool {
        if self.is_broken {
            return true;
        }
        self.doorbells.ring();
        self.driver.enable_interrupts();
        // The device counts, passes a fence, and then looks whether it may interrupt. So either it
        // sees that it may, or the look below, or that of the worker before it halts, sees its
        // count.
        fence(SeqCst);
        self.driver.poll_receive().is_none()
    }

    /// Tells the device of new packets and buffers.
    pub(super) fn ring(&mut self) {
        self.doorbells.ring();
    }
}

impl fmt::Debug for NetworkCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkCard").field("address", &self.address()).finish_non_exhaustive()
    }
}

impl Source for NetworkCard {
    fn register(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        let queues = registration.queues::<DeviceQueues>().ok_or("devices need the platform `Cores`")?;
        queues.add(registration.worker(), registration.token(), self.counters.clone());
        Ok(())
    }

    fn deregister(&mut self, registration: &Registration<'_>) -> Result<(), PlatformError> {
        let queues = registration.queues::<DeviceQueues>().ok_or("devices need the platform `Cores`")?;
        queues.remove(registration.worker(), registration.token());
        Ok(())
    }
}

impl Device for NetworkCard {
    type RxToken<'a> = ReceivedPacket<'a>;
    type TxToken<'a> = FreeEntry<'a>;

    fn receive(&mut self, _: Instant) -> Option<(ReceivedPacket<'_>, FreeEntry<'_>)> {
        // A packet stays where it is until there is room for an answer.
        self.make_room()?;
        let (start, length) = self.take_packet()?;
        // SAFETY: the spare buffer is with no device, and is used again by the next packet only.
        let bytes = unsafe { self.receiving.buffers.buffer(self.spare) };
        let packet = ReceivedPacket(bytes.get(start..start + length).unwrap_or_default());
        let answer = FreeEntry { driver: &mut self.driver, sending: &mut self.sending, free: &mut self.free };
        Some((packet, answer))
    }

    fn transmit(&mut self, _: Instant) -> Option<FreeEntry<'_>> {
        self.make_room()?;
        Some(FreeEntry { driver: &mut self.driver, sending: &mut self.sending, free: &mut self.free })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = LONGEST;
        capabilities
    }
}

impl NetworkCard {
    /// Sees to it that another packet can be sent. Returns `None` if the queue is full, or the card
    /// broken.
    fn make_room(&mut self) -> Option<()> {
        // All at once, and not before they are needed, as each look touches the device's memory.
        if !self.is_broken && (self.free.is_empty() || !self.driver.can_send()) {
            self.take_sent();
        }
        (!self.is_broken && !self.free.is_empty() && self.driver.can_send()).then_some(())
    }
}

/// A packet that has arrived.
#[derive(Debug)]
pub struct ReceivedPacket<'a>(&'a [u8]);

impl phy::RxToken for ReceivedPacket<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, handle: F) -> R {
        handle(self.0)
    }
}

/// Room for a packet to send.
pub struct FreeEntry<'a> {
    driver: &'a mut Driver,
    sending: &'a mut Lane,
    free: &'a mut Vec<usize>,
}

impl fmt::Debug for FreeEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeEntry").finish_non_exhaustive()
    }
}

impl phy::TxToken for FreeEntry<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let buffer = self.free.pop().expect("`make_room` has seen one");
        // SAFETY: the buffer is free: no device has it.
        let bytes = unsafe { self.sending.buffers.buffer(buffer) };
        let header = self.driver.fill_buffer_header(bytes).expect("a buffer is longer than a header");
        let result = write(&mut bytes[header..header + length]);
        let packet = &bytes[..header + length];
        // SAFETY: it is not accessed before `transmit_complete` in `take_sent`.
        let entry = unsafe { self.driver.transmit_begin(packet) }.expect("`make_room` has seen an entry");
        self.sending.entries.put(entry, HeldBuffer { number: buffer, bytes: packet.len() });
        result
    }
}
