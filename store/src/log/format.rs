//! The bytes of a segment: see the page `docs/explanation/log.md`.
//!
//! All numbers are little-endian. A *segment* is a header and batches. A *batch* has the units of
//! one epoch: all of them are replayed, or none.

/// The bytes with which a segment begins.
const SEGMENT_MAGIC: [u8; 8] = *b"XTLOG\0\0\x01";
/// The bytes with which a batch begins.
const BATCH_MAGIC: [u8; 4] = *b"XTB1";

/// The length of a segment's header.
pub(super) const SEGMENT_HEADER: usize = 36;
/// The length of a batch's header.
pub(super) const BATCH_HEADER: usize = 40;

/// What the header of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    /// Goes into the checksums of the batches: what a client sends cannot look like a batch, nor
    /// can a batch of another segment.
    pub salt: u64,
    /// The epochs of the segment are not below.
    pub first: u64,
    /// The last epoch of the segments before; 0 if there was none.
    pub previous: u64,
}

/// What the header of a batch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchHeader {
    /// The epoch of its units.
    pub epoch: u64,
    /// The bytes of the segment, from its start, that were durable when the batch was written.
    pub durable: u64,
    /// The length of the units.
    pub len: u64,
    /// The checksum of the units.
    pub checksum: u32,
}

/// The checksum of bytes, after those of `start`.
fn checksum(start: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(start, bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

impl SegmentHeader {
    /// Returns the header as bytes.
    pub fn encode(self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(&SEGMENT_MAGIC);
        bytes[8..16].copy_from_slice(&self.salt.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.previous.to_le_bytes());
        let sum = checksum(0, &bytes[..32]);
        bytes[32..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the header at the start of a segment. Returns `None` if it is not whole.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let is_whole = bytes.starts_with(&SEGMENT_MAGIC) && half(bytes, 32)? == checksum(0, &bytes[..32]);
        is_whole.then_some(())?;
        Some(Self { salt: word(bytes, 8)?, first: word(bytes, 16)?, previous: word(bytes, 24)? })
    }
}

impl BatchHeader {
    /// Makes the header of a batch of these units.
    pub fn new(epoch: u64, durable: u64, units: &[u8], salt: u64) -> Self {
        let checksum = checksum(checksum(0, &salt.to_le_bytes()), units);
        Self { epoch, durable, len: units.len() as u64, checksum }
    }

    /// Returns the header as bytes.
    pub fn encode(self, salt: u64) -> [u8; BATCH_HEADER] {
        let mut bytes = [0; BATCH_HEADER];
        bytes[..4].copy_from_slice(&BATCH_MAGIC);
        bytes[8..16].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.durable.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.len.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.checksum.to_le_bytes());
        let sum = Self::checksum_of_header(&bytes, salt);
        bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The checksum of a header: of all but its magic and the checksum itself.
    fn checksum_of_header(bytes: &[u8], salt: u64) -> u32 {
        checksum(checksum(0, &salt.to_le_bytes()), &bytes[8..BATCH_HEADER])
    }

    /// Reads a header. Returns `None` if it is not whole.
    pub fn decode(bytes: &[u8], salt: u64) -> Option<Self> {
        let bytes = bytes.get(..BATCH_HEADER)?;
        let is_whole =
            bytes.starts_with(&BATCH_MAGIC) && half(bytes, 4)? == Self::checksum_of_header(bytes, salt);
        is_whole.then_some(())?;
        let (epoch, durable, len) = (word(bytes, 8)?, word(bytes, 16)?, word(bytes, 24)?);
        Some(Self { epoch, durable, len, checksum: half(bytes, 32)? })
    }

    /// Returns true if these are the units of the batch.
    pub fn is_of(&self, units: &[u8], salt: u64) -> bool {
        self.checksum == checksum(checksum(0, &salt.to_le_bytes()), units)
    }
}

/// Splits the first batch off: its header, its units and what follows. Returns `None` if it is not
/// whole.
pub(super) fn split_batch(bytes: &[u8], salt: u64) -> Option<(BatchHeader, &[u8], &[u8])> {
    let header = BatchHeader::decode(bytes, salt)?;
    let end = usize::try_from(header.len).ok()?.checked_add(BATCH_HEADER)?;
    let units = bytes.get(BATCH_HEADER..end)?;
    header.is_of(units, salt).then(|| (header, units, &bytes[end..]))
}

/// Returns true if a batch somewhere in these bytes says that more than `len` bytes of the segment
/// were durable when it was written.
pub(super) fn claims_durable(bytes: &[u8], salt: u64, len: u64) -> bool {
    memchr::memmem::find_iter(bytes, &BATCH_MAGIC)
        .filter_map(|at| BatchHeader::decode(&bytes[at..], salt))
        .any(|header| header.durable > len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_written_and_no_changed_byte_passes() {
        let segment = SegmentHeader { salt: 7, first: 3, previous: 2 };
        let units = b"units of a batch";
        let header = BatchHeader::new(9, 100, units, 7);
        let bytes = [&header.encode(7)[..], units, b"more"].concat();
        assert_eq!(split_batch(&bytes, 7), Some((header, &units[..], &b"more"[..])));
        assert_eq!(split_batch(&bytes, 8), None, "of another segment");
        assert_eq!(SegmentHeader::decode(&segment.encode()), Some(segment));
        for bit in 0..8 * SEGMENT_HEADER {
            let mut changed = segment.encode();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(SegmentHeader::decode(&changed), None, "bit {bit}");
        }
        let unused = 8 * 36..8 * 40;
        for bit in (0..8 * (bytes.len() - 4)).filter(|bit| !unused.contains(bit)) {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(split_batch(&changed, 7), None, "bit {bit}");
        }
        (0..bytes.len() - 4).for_each(|len| assert_eq!(split_batch(&bytes[..len], 7), None));
    }

    #[test]
    fn a_later_batch_tells_that_a_broken_one_was_durable() {
        let later = [&b"junk"[..], &BatchHeader::new(5, 80, b"", 1).encode(1)].concat();
        assert!(claims_durable(&later, 1, 79));
        assert!(!claims_durable(&later, 1, 80));
        assert!(!claims_durable(&later, 2, 0));
    }
}
