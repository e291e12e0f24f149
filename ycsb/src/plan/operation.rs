//! Operations: packed in a trace, and unpacked as requests.

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Looks up an existing record.
    Read,
    /// Overwrites the value of an existing record.
    Update,
    /// Adds a new record.
    Insert,
    /// Reads records in the order of keys, beginning with an existing one.
    Scan,
    /// Looks up a record, then overwrites its value; as in YCSB, this is not atomic.
    ReadModifyWrite,
}

impl OperationKind {
    /// All kinds, indexed by their code.
    const ALL: [OperationKind; 5] = [
        OperationKind::Read,
        OperationKind::Update,
        OperationKind::Insert,
        OperationKind::Scan,
        OperationKind::ReadModifyWrite,
    ];

    /// Returns the name in messages.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::Read => "read",
            OperationKind::Update => "update",
            OperationKind::Insert => "insert",
            OperationKind::Scan => "scan",
            OperationKind::ReadModifyWrite => "read-modify-write",
        }
    }

    /// Returns true if the operation writes the value of its record.
    pub fn writes(self) -> bool {
        matches!(self, OperationKind::Update | OperationKind::Insert | OperationKind::ReadModifyWrite)
    }
}

/// The maximum length of a scan in a trace.
pub const MAX_SCAN_LENGTH: u64 = (1 << SCAN_BITS) - 1;
/// One more than the greatest record number in a trace.
pub const MAX_RECORDS: u64 = 1 << RECORD_BITS;

const RECORD_BITS: u32 = 45;
const SCAN_BITS: u32 = 16;

/// An operation in eight bytes, so that traces take little cache: the record in the low bits, then
/// the length of a scan, then the kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Operation(u64);

impl Operation {
    /// Packs an operation; only scans use the length.
    #[inline]
    pub fn new(kind: OperationKind, record: u64, scan_length: u64) -> Self {
        debug_assert!(record < MAX_RECORDS && scan_length <= MAX_SCAN_LENGTH);
        Self((kind as u64) << (RECORD_BITS + SCAN_BITS) | scan_length << RECORD_BITS | record)
    }

    /// Returns the kind.
    #[inline]
    pub fn kind(self) -> OperationKind {
        OperationKind::ALL[(self.0 >> (RECORD_BITS + SCAN_BITS)) as usize]
    }

    /// Returns the record; for a scan, the first one.
    #[inline]
    pub fn record(self) -> u64 {
        self.0 & (MAX_RECORDS - 1)
    }

    /// Returns the number of records that a scan reads.
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
    /// Look up the key, and check the result with [`Plan::check_read`](super::Plan::check_read).
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
    /// Read entries in ascending order, and check with
    /// [`Plan::scan_check`](super::Plan::scan_check).
    Scan {
        /// The first key, which exists.
        from: u64,
        /// The number of entries; fewer are valid only if the key space ends.
        length: usize,
    },
    /// Look up the key and check the result, then overwrite the value and check that.
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
        for (code, kind) in OperationKind::ALL.into_iter().enumerate() {
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
