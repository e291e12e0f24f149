//! The numbers of types and of other parts of a file.

/// The version that is written: that of Redis 7.0.
pub(super) const VERSION: u16 = 10;
/// The newest version that is read: that of Redis 7.2.
pub(super) const NEWEST_VERSION: u16 = 11;

pub(super) const STRING: u8 = 0;
pub(super) const LIST: u8 = 1;
pub(super) const SET: u8 = 2;
/// Scores are texts.
pub(super) const SORTED_SET_TEXT: u8 = 3;
pub(super) const HASH: u8 = 4;
/// Scores are binary.
pub(super) const SORTED_SET: u8 = 5;
pub(super) const MODULE: u8 = 6;
pub(super) const MODULE_2: u8 = 7;
pub(super) const HASH_ZIPMAP: u8 = 9;
pub(super) const LIST_ZIPLIST: u8 = 10;
pub(super) const SET_INTSET: u8 = 11;
pub(super) const SORTED_SET_ZIPLIST: u8 = 12;
pub(super) const HASH_ZIPLIST: u8 = 13;
/// Nodes are ziplists.
pub(super) const LIST_QUICKLIST: u8 = 14;
pub(super) const STREAM: u8 = 15;
pub(super) const HASH_LISTPACK: u8 = 16;
pub(super) const SORTED_SET_LISTPACK: u8 = 17;
/// Nodes are listpacks, or single elements.
pub(super) const LIST_QUICKLIST_2: u8 = 18;
pub(super) const STREAM_2: u8 = 19;
pub(super) const SET_LISTPACK: u8 = 20;
pub(super) const STREAM_3: u8 = 21;

/// The source of a library of functions.
pub(super) const FUNCTION: u8 = 245;
/// As a candidate of Redis 7.0 wrote it.
pub(super) const FUNCTION_OLD: u8 = 246;
pub(super) const MODULE_AUX: u8 = 247;
pub(super) const IDLE: u8 = 248;
pub(super) const FREQUENCY: u8 = 249;
pub(super) const AUX: u8 = 250;
pub(super) const RESIZE: u8 = 251;
pub(super) const EXPIRY_MS: u8 = 252;
pub(super) const EXPIRY_SECONDS: u8 = 253;
pub(super) const SELECT: u8 = 254;
pub(super) const END: u8 = 255;

/// The first byte of a length of 32 bits.
pub(super) const LENGTH_32: u8 = 0x80;
/// The first byte of a length of 64 bits.
pub(super) const LENGTH_64: u8 = 0x81;
/// In place of a length: an integer of one byte; two and four bytes have the next numbers.
pub(super) const INTEGER_8: u8 = 0;
pub(super) const INTEGER_16: u8 = 1;
pub(super) const INTEGER_32: u8 = 2;
/// In place of a length: a compressed string.
pub(super) const COMPRESSED: u8 = 3;

/// A node of a list that is one element.
pub(super) const NODE_PLAIN: u64 = 1;
/// A node of a list that is a listpack.
pub(super) const NODE_PACKED: u64 = 2;
