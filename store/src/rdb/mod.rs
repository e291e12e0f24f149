//! Redis' format of files and of DUMP: RDB.
//!
//! Files are written in version 10, that of Redis 7.0. Every encoding is read that Redis 2 to 7.2
//! wrote for strings, lists, sets, hashes, sorted sets and streams.
//!
//! | file | contents |
//! |---|---|
//! | `writer` | [`RdbWriter`]: writes a file, in pieces |
//! | `reader` | [`RdbReader`]: reads a file, record by record |
//! | `in_place` | finds a record that need not be copied |
//! | `record` | [`Record`]: a key with its value as bytes |
//! | `dump` | [`dump`] and [`restore`]: single values |
//! | `error` | [`RdbError`]: what is wrong with a file, and where |
//! | `codes` | the numbers of types and of other parts |
//! | `encode`, `decode` | values to bytes, and back |
//! | `input` | reads lengths and strings from bytes in memory |
//! | `file_input` | reads them from a file, and computes its checksum |
//! | `extent` | finds where a value in a file ends |
//! | `listpack`, `ziplist`, `zipmap`, `intset` | collections in one string |
//! | `parts` | records of large values, in parts |
//! | `streams` | streams |
//! | `lzf` | strings that Redis has compressed |
//! | `checksum` | the checksum of files and of DUMP |

mod checksum;
mod codes;
mod decode;
mod dump;
mod encode;
mod error;
mod extent;
mod file_input;
mod in_place;
mod input;
mod intset;
mod listpack;
mod lzf;
mod parts;
mod reader;
mod record;
mod streams;
#[cfg(test)]
mod tests;
mod writer;
mod ziplist;
mod zipmap;

pub(crate) use dump::FOOTER;
pub use dump::{dump, restore};
pub(crate) use encode::put_record;
pub use error::{RdbError, RdbErrorKind};
pub(crate) use parts::{PartialRecord, takes_parts};
pub use reader::RdbReader;
pub(crate) use reader::SizeHint;
pub use record::Record;
pub(crate) use record::{RecordView, decode_value, plain_text};
pub use writer::RdbWriter;
