//! Readers and writers.
//!
//! | file | what is in it |
//! |---|---|
//! | `error` | [`Error`] |
//! | `read` | [`Read`], [`BufRead`], and readers made of others |
//! | `write` | [`Write`] |

mod error;
mod read;
mod write;

pub use error::{Error, ErrorKind, Result};
pub use read::{BufRead, BufReader, Chain, Cursor, Read, Take};
pub use write::Write;

/// Writes all that is read. Returns how many bytes that were.
pub fn copy<R: Read + ?Sized, W: Write + ?Sized>(reader: &mut R, writer: &mut W) -> Result<u64> {
    let (mut piece, mut copied) = ([0; 4096], 0);
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(copied),
            Ok(count) => {
                writer.write_all(&piece[..count])?;
                copied += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
