//! A bad network, for tests: packets are lost, doubled, and late, so that others overtake them.

use alloc::vec;
use alloc::vec::Vec;
use smoltcp::phy::{self, Device, DeviceCapabilities};
use smoltcp::time::{Duration, Instant};

/// What happens to packets between the card and the stack, in both directions, for tests of
/// programs. A seed decides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Per cent of packets that are lost.
    pub lost: u8,
    /// Per cent of packets that come twice.
    pub doubled: u8,
    /// The milliseconds by which a packet may be late.
    pub delay: u16,
    /// Another seed chooses other packets.
    pub seed: u64,
}

/// Packets on their way in one direction.
pub(super) struct Lane {
    faults: Faults,
    random: u64,
    /// When each arrives, and what is in it.
    packets: Vec<(Instant, Vec<u8>)>,
}

impl Lane {
    pub fn new(faults: Faults, direction: u64) -> Self {
        Self { faults, random: 2 * faults.seed + direction + 1, packets: Vec::new() }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    /// Sends a packet on its way.
    pub fn send(&mut self, now: Instant, packet: Vec<u8>) {
        if self.below(100) < self.faults.lost.into() {
            return;
        }
        let copies = 1 + usize::from(self.below(100) < self.faults.doubled.into());
        for _ in 0..copies {
            let delay = Duration::from_millis(self.below(u64::from(self.faults.delay) + 1));
            self.packets.push((now + delay, packet.clone()));
        }
    }

    /// Returns the next packet that has arrived.
    pub fn receive(&mut self, now: Instant) -> Option<Vec<u8>> {
        let first = (0..self.packets.len()).min_by_key(|&at| self.packets[at].0)?;
        (self.packets[first].0 <= now).then(|| self.packets.remove(first).1)
    }

    /// Returns when the next packet arrives.
    pub fn next_time(&self) -> Option<Instant> {
        self.packets.iter().map(|packet| packet.0).min()
    }
}

/// A device behind a bad network, or the device itself.
pub(super) struct Faulty<D> {
    pub device: D,
    /// What is received, and what is sent.
    lanes: Option<(Lane, Lane)>,
}

impl<D: Device> Faulty<D> {
    pub fn new(device: D, faults: Option<Faults>) -> Self {
        Self { device, lanes: faults.map(|faults| (Lane::new(faults, 0), Lane::new(faults, 1))) }
    }

    /// Hands packets that are on their way for long enough to the device.
    pub fn flush(&mut self, now: Instant) {
        let Some((_, sent)) = &mut self.lanes else { return };
        while sent.next_time().is_some_and(|time| time <= now)
            && let Some(room) = self.device.transmit(now)
            && let Some(packet) = sent.receive(now)
        {
            phy::TxToken::consume(room, packet.len(), |bytes| bytes.copy_from_slice(&packet));
        }
    }

    /// Returns when the next late packet arrives.
    pub fn next_time(&self) -> Option<Instant> {
        let (received, sent) = self.lanes.as_ref()?;
        received.next_time().into_iter().chain(sent.next_time()).min()
    }
}

impl<D: Device> Device for Faulty<D> {
    type RxToken<'a>
        = Packet<D::RxToken<'a>>
    where
        D: 'a;
    type TxToken<'a>
        = Room<'a, D::TxToken<'a>>
    where
        D: 'a;

    fn receive(&mut self, now: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let Some((received, sent)) = &mut self.lanes else {
            let (packet, room) = self.device.receive(now)?;
            return Some((Packet::Device(packet), Room::Device(room)));
        };
        while let Some((packet, _)) = self.device.receive(now) {
            received.send(now, phy::RxToken::consume(packet, <[u8]>::to_vec));
        }
        Some((Packet::Late(received.receive(now)?), Room::Late(sent, now)))
    }

    fn transmit(&mut self, now: Instant) -> Option<Self::TxToken<'_>> {
        match &mut self.lanes {
            None => self.device.transmit(now).map(Room::Device),
            Some((_, sent)) => Some(Room::Late(sent, now)),
        }
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.device.capabilities()
    }
}

/// A packet that has arrived.
pub(super) enum Packet<R> {
    Device(R),
    Late(Vec<u8>),
}

impl<R: phy::RxToken> phy::RxToken for Packet<R> {
    fn consume<T, F: FnOnce(&[u8]) -> T>(self, handle: F) -> T {
        match self {
            Self::Device(packet) => packet.consume(handle),
            Self::Late(packet) => handle(&packet),
        }
    }
}

/// Room for a packet to send.
pub(super) enum Room<'a, R> {
    Device(R),
    Late(&'a mut Lane, Instant),
}

impl<R: phy::TxToken> phy::TxToken for Room<'_, R> {
    fn consume<T, F: FnOnce(&mut [u8]) -> T>(self, length: usize, write: F) -> T {
        match self {
            Self::Device(room) => room.consume(length, write),
            Self::Late(lane, now) => {
                let mut packet = vec![0; length];
                let result = write(&mut packet);
                lane.send(now, packet);
                result
            }
        }
    }
}
