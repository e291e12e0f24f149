//! A string that counts different elements, to be read or changed.

use super::dense;
use super::element::{REGISTERS, register_of};
use super::estimate::{Histogram, estimate};
use super::sparse::{self, CorruptRuns, RaiseOutcome};
use crate::command::CommandError;

const MAGIC: &[u8; 4] = b"HYLL";
/// Where the encoding is.
const ENCODING: usize = 4;
/// Where the last estimate is.
const ESTIMATE: usize = 8;
/// The bytes before the registers.
const HEADER: usize = 16;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// Set in the last byte of an estimate that is old.
const OLD: u8 = 0x80;

/// How registers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Dense,
    Sparse,
}

/// The numbers of all registers.
pub(super) type Registers = Box<[u8; REGISTERS]>;

/// Bytes that were checked: their header is right, and a dense sketch has all registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sketch<B> {
    bytes: B,
    encoding: Encoding,
}

impl From<CorruptRuns> for CommandError {
    fn from(_: CorruptRuns) -> Self {
        Self::fixed("INVALIDOBJ Corrupted HLL object detected")
    }
}

/// Returns registers that are all 0.
pub(super) fn no_registers() -> Registers {
    vec![0; REGISTERS].try_into().expect("the vector has this length")
}

impl Sketch<Vec<u8>> {
    /// Makes a sketch of no elements.
    pub(super) fn new() -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[..ENCODING].copy_from_slice(MAGIC);
        bytes[ENCODING] = SPARSE;
        bytes.extend(sparse::empty());
        Self { bytes, encoding: Encoding::Sparse }
    }

    /// Returns the bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Adds an element. A sparse sketch becomes dense if it would have more bytes than `limit`.
    /// Returns true if a register has changed.
    pub(super) fn add(&mut self, element: &[u8], limit: usize) -> Result<bool, CorruptRuns> {
        let (index, number) = register_of(element);
        self.raise(index, number, limit)
    }

    /// Sets a register to a number that is greater. Returns false if it is not.
    pub(super) fn raise(&mut self, index: usize, number: u8, limit: usize) -> Result<bool, CorruptRuns> {
        if self.encoding == Encoding::Sparse {
            match sparse::raise(&mut self.bytes, HEADER, index, number, limit)? {
                RaiseOutcome::Same => return Ok(false),
                RaiseOutcome::Changed => return Ok(true),
                RaiseOutcome::TooLarge => self.make_dense()?,
            }
        }
        Ok(dense::raise(&mut self.bytes[HEADER..], index, number))
    }

    /// Makes a sparse sketch dense.
    pub(super) fn make_dense(&mut self) -> Result<(), CorruptRuns> {
        if self.encoding == Encoding::Sparse {
            let mut bytes = self.bytes[..HEADER].to_vec();
            bytes[ENCODING] = DENSE;
            bytes.resize(HEADER + dense::BYTES, 0);
            let registers = &mut bytes[HEADER..];
            sparse::for_each(&self.bytes[HEADER..], |index, number| {
                dense::raise(registers, index, number);
            })?;
            (self.bytes, self.encoding) = (bytes, Encoding::Dense);
        }
        Ok(())
    }

    /// Says that the last estimate is old.
    pub(super) fn outdate(&mut self) {
        self.bytes[HEADER - 1] |= OLD;
    }

    /// Notes an estimate.
    pub(super) fn note_estimate(&mut self, estimate: u64) {
        self.bytes[ESTIMATE..HEADER].copy_from_slice(&estimate.to_le_bytes());
    }
}

impl<B: AsRef<[u8]>> Sketch<B> {
    /// Checks bytes.
    ///
    /// # Errors
    ///
    /// Redis' error for a string that is no sketch.
    pub(super) fn check(bytes: B) -> Result<Self, CommandError> {
        let read = bytes.as_ref();
        let encoding = match read.get(ENCODING).filter(|_| read.len() >= HEADER && read.starts_with(MAGIC)) {
            Some(&SPARSE) => Some(Encoding::Sparse),
            Some(&DENSE) if read.len() == HEADER + dense::BYTES => Some(Encoding::Dense),
            _ => None,
        };
        let wrong = CommandError::fixed("WRONGTYPE Key is not a valid HyperLogLog string value.");
        encoding.map(|encoding| Self { bytes, encoding }).ok_or(wrong)
    }

    /// Returns the encoding.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns true if all registers are there, so that it can be changed in place.
    pub(super) fn is_sound(&self) -> bool {
        self.encoding == Encoding::Dense || sparse::are_sound(self.registers())
    }

    /// Returns the registers as bytes, in the sketch's encoding.
    pub(super) fn registers(&self) -> &[u8] {
        &self.bytes.as_ref()[HEADER..]
    }

    /// Returns a copy that can be changed.
    pub(super) fn to_owned(&self) -> Sketch<Vec<u8>> {
        Sketch { bytes: self.bytes.as_ref().to_vec(), encoding: self.encoding }
    }

    /// Returns the last estimate if it is not old.
    pub(super) fn noted_estimate(&self) -> Option<u64> {
        let noted = self.bytes.as_ref()[ESTIMATE..].first_chunk().copied().map(u64::from_le_bytes);
        noted.filter(|noted| noted >> 56 & u64::from(OLD) == 0)
    }

    /// Returns about how many different elements were added.
    pub(super) fn estimate(&self) -> Result<u64, CorruptRuns> {
        let mut histogram: Histogram = [0; 64];
        match self.encoding {
            Encoding::Dense => dense::count(self.registers(), &mut histogram),
            Encoding::Sparse => {
                let mut counted = 0;
                for run in sparse::runs(self.registers()) {
                    counted += run.len;
                    histogram[usize::from(run.number)] += run.len.min(REGISTERS) as u32;
                    if counted > REGISTERS {
                        break;
                    }
                }
                if counted != REGISTERS {
                    return Err(CorruptRuns);
                }
            }
        }
        Ok(estimate(&histogram))
    }

    /// Raises each register to that of this sketch.
    pub(super) fn merge_into(&self, registers: &mut Registers) -> Result<(), CorruptRuns> {
        let mut raise = |index: usize, number: u8| registers[index] = registers[index].max(number);
        match self.encoding {
            Encoding::Sparse => sparse::for_each(self.registers(), raise),
            Encoding::Dense => {
                dense::iter(self.registers()).enumerate().for_each(|(index, number)| raise(index, number));
                Ok(())
            }
        }
    }
}

/// Returns about how many different elements were added to sketches whose registers were merged.
pub(super) fn estimate_of(registers: &Registers) -> u64 {
    let mut histogram: Histogram = [0; 64];
    registers.iter().for_each(|number| histogram[usize::from(*number)] += 1);
    estimate(&histogram)
}
