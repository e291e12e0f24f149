//! Arrow's own format.

use super::{LoadError, Opened, Source};
use arrow_array::RecordBatchReader;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

type Reader = Box<dyn RecordBatchReader + Send>;

/// What a file begins with, but not a stream.
const MAGIC: &[u8] = b"ARROW1";

impl Source {
    /// A file of Arrow (also called Feather, version 2), or a stream of it that was written to a file; which of these it is
    /// is seen from how it begins. Nothing tells a stream that ends between two record batches from a whole one.
    ///
    /// # Errors
    ///
    /// A [`LoadError`] if it cannot be opened, or is neither.
    pub fn ipc(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let opened = Opened::new(path.as_ref())?;
        let name = opened.name.clone();
        let (file, fail) = opened.split();
        Ok(Self::new(name, reader(file).map_err(fail)?))
    }
}

fn reader(mut file: File) -> Result<Reader, ArrowError> {
    let mut begins = Vec::new();
    Read::by_ref(&mut file).take(MAGIC.len() as u64).read_to_end(&mut begins)?;
    file.rewind()?;
    let file = BufReader::new(file);
    Ok(match begins == MAGIC {
        true => Box::new(FileReader::try_new(file, None)?),
        false => Box::new(StreamReader::try_new(file, None)?),
    })
}
