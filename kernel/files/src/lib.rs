//! Named files on a block device.
//!
//! A [`Volume`] is a flat directory of files that are written at their ends. It goes from one
//! durable state to the next at once: after a power cut it has all names, lengths and contents of
//! the last [`commit`](Volume::commit) that has returned, or of the one that was under way.
//!
//! | place on the device | what is there |
//! |---|---|
//! | two places of 128 KiB | tables of all files; the valid one with the higher number counts |
//! | the rest, in blocks of 4 KiB | contents of files |
//!
//! A commit flushes the device, so that contents are durable before a table names them; writes the
//! table over the older of the two; and flushes again. Blocks that a durable table names are not
//! written, except behind the end of their file. A block that is given back is used again only
//! after the commit of a table that does not name it.
//!
//! The device may lose, tear and reorder what was not flushed. It must not damage other sectors, or
//! change a byte of a sector into something that is neither its old nor its new value.
//!
//! | file | what is in it |
//! |---|---|
//! | `blocks` | what is asked of a device |
//! | `commit` | how a volume is opened, and becomes durable |
//! | `contents` | reading, appending, cutting |
//! | `error` | errors |
//! | `extents` | the blocks of a file |
//! | `free` | the blocks of no file |
//! | `table` | a table in bytes |
//! | `volume` | names and handles |

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod blocks;
mod commit;
mod contents;
mod error;
mod extents;
mod free;
mod table;
mod volume;

pub use blocks::{BlockError, Blocks, SECTOR};
pub use error::Error;
pub use volume::{FileId, Volume};

/// Bytes of a block.
const BLOCK: usize = 4096;
/// Bytes of the place of a table.
const TABLE: usize = 128 << 10;
/// The first block that belongs to files.
const FIRST_BLOCK: u32 = (2 * TABLE / BLOCK) as u32;
