//! One operation of a trace: packed as it is kept, and unpacked as it is carried out.

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Looks up a record that exists.
    Read,
    /// Overwrites the value of a record that exists.
    Update,
    /// Adds a record that does not exist yet.
    Insert,
    /// Reads records in the order of keys, beginning with one that exists.
    Scan,
    /// Looks up a record, then overwrites its value; the two are not one atomic step (nor are they in YCSB).
    ReadModifyWrite,
}

impl Kind {
    /// All kinds, at the position of their code.
    const ALL: [Kind; 5] = [Kind::Read, Kind::Update, Kind::Insert, Kind::Scan, Kind::ReadModifyWrite];

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Update => "update",
            Kind::Insert => "insert",
            Kind::Scan => "scan",
            Kind::ReadModifyWrite => "read-modify-write",
        }
    }

    /// Whether the operation leaves a new value in its record.
    pub fn writes(self) -> bool {
        matches!(self, Kind::Update | Kind::Insert | Kind::ReadModifyWrite)
    }
}

/// The longest scan that a trace can ask for.
pub const MAX_SCAN_LENGTH: u64 = (1 << SCAN_BITS) - 1;
/// The number of records that a trace can name.
pub const MAX_RECORDS: u64 = 1 << RECORD_BITS;

const RECORD_BITS: u32 = 45;
const SCAN_BITS: u32 = 16;

/// An operation in eight bytes, so that a trace disturbs the caches little: the record in the low bits, then the length
/// of a scan, then the kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Operation(u64);

impl Operation {
    /// Packs an operation; the scan length matters to scans only.
    pub fn new(kind: Kind, record: u64, scan_length: u64) -> Self {
        debug_assert!(record < MAX_RECORDS && scan_length <= MAX_SCAN_LENGTH);
        Self((kind as u64) << (RECORD_BITS + SCAN_BITS) | scan_length << RECORD_BITS | record)
    }

    /// What it does.
    #[inline]
    pub fn kind(self) -> Kind {
        Kind::ALL[(self.0 >> (RECORD_BITS + SCAN_BITS)) as usize]
    }

    /// Which record it is about; for a scan, where it begins.
    #[inline]
    pub fn record(self) -> u64 {
        self.0 & (MAX_RECORDS - 1)
    }

    /// How many records a scan reads.
    #[inline]
    pub fn scan_length(self) -> usize {
        (self.0 >> RECORD_BITS & MAX_SCAN_LENGTH) as usize
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of record {}", self.kind().name(), self.record())
    }
}

/// An operation as a contender carries it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Look the key up, and check what is found with [`Plan::check_read`](super::Plan::check_read).
    Read {
        /// The key, which exists.
        key: u64,
    },
    /// Overwrite the value, and check with [`Plan::check_update`](super::Plan::check_update).
    Update {
        /// The key, which exists.
        key: u64,
        /// Its new value.
        value: u64,
    },
    /// Add the key, and check with [`Plan::check_insert`](super::Plan::check_insert).
    Insert {
        /// The key, which does not exist.
        key: u64,
        /// Its value.
        value: u64,
    },
    /// Read entries in ascending order, and check with [`Plan::scan_check`](super::Plan::scan_check).
    Scan {
        /// The first key, which exists.
        from: u64,
        /// How many entries; fewer only where the key space ends.
        length: usize,
    },
    /// Look the key up and check, then overwrite the value and check.
    ReadModifyWrite {
        /// The key, which exists.
        key: u64,
        /// Its new value.
        value: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        for (code, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, code);
            for record in [0, 1, 12_345_678, MAX_RECORDS - 1] {
                for length in [0, 1, 100, MAX_SCAN_LENGTH] {
                    let operation = Operation::new(kind, record, length);
                    assert_eq!(operation.kind(), kind);
                    assert_eq!(operation.record(), record);
                    assert_eq!(operation.scan_length() as u64, length);
                }
            }
        }
        assert_eq!(size_of::<Operation>(), 8);
    }
}
