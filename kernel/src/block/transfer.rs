//! A transfer: its parts are with the device several at a time.

use super::BlockDevice;
use super::queue::Kind;
use alloc::collections::VecDeque;
use xkernel_files::BlockError;

/// What one request does.
pub(super) enum Part<'a> {
    /// Fills these bytes.
    Read(&'a mut [u8]),
    /// Writes these bytes.
    Write(&'a [u8]),
    /// Makes durable what was written.
    Flush,
}

impl Part<'_> {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Read(_) => Kind::Read,
            Self::Write(_) => Kind::Write,
            Self::Flush => Kind::Flush,
        }
    }

    /// Returns how many bytes of data it has.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Read(data) => data.len(),
            Self::Write(data) => data.len(),
            Self::Flush => 0,
        }
    }
}

/// A transfer under way.
pub(super) struct Transfer<'d, 'a> {
    device: &'d BlockDevice,
    /// The parts that the device has, by their slots.
    begun: VecDeque<(usize, Part<'a>)>,
    /// The first error, if there was one.
    result: Result<(), BlockError>,
}

impl<'d, 'a> Transfer<'d, 'a> {
    pub fn new(device: &'d BlockDevice) -> Self {
        Self { device, begun: VecDeque::new(), result: Ok(()) }
    }

    /// Hands a part to the device, when it has a slot.
    pub fn add(&mut self, sector: u64, part: Part<'a>) -> Result<(), BlockError> {
        let slot = self.slot()?;
        self.device.begin(slot, sector, &part);
        self.begun.push_back((slot, part));
        Ok(())
    }

    /// Returns a slot. A transfer that has slots does not wait for further ones, as all transfers
    /// might wait so: it finishes its first part instead.
    fn slot(&mut self) -> Result<usize, BlockError> {
        while !self.begun.is_empty() {
            if let Some(slot) = self.device.try_claim() {
                return Ok(slot);
            }
            self.finish_first();
        }
        self.device.claim()
    }

    fn finish_first(&mut self) {
        if let Some((slot, part)) = self.begun.pop_front() {
            let result = self.device.finish(slot, part);
            self.result = self.result.and(result);
        }
    }

    /// Waits for all parts.
    pub fn end(mut self) -> Result<(), BlockError> {
        while !self.begun.is_empty() {
            self.finish_first();
        }
        self.result
    }
}
