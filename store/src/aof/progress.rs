//! How far a file is loaded.

/// What may be at the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AofEnd {
    /// Its last command may not be whole, as a write may have been cut off. What is there of it is
    /// left out, and so is a transaction without its end.
    MayBeTorn,
    /// All commands are whole, as others follow in another file.
    Whole,
}

/// How far a file is loaded, and what it had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AofProgress {
    /// Bytes of the file that were read, without those at its end that were left out.
    pub bytes: u64,
    /// Keys of the snapshot with which it begins.
    pub keys: u64,
    /// Libraries of functions of that snapshot, which were skipped.
    pub functions: u64,
    /// Commands that were run, those in transactions included.
    pub commands: u64,
    /// Bytes at its end that were left out, as they are no whole command or transaction.
    pub torn: u64,
}
