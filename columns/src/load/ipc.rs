//! Arrow IPC files and streams.

use super::{LoadError, Source, SourceFile};
use arrow_array::RecordBatchReader;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

type Reader = Box<dyn RecordBatchReader + Send>;

/// The beginning of an IPC file. A stream begins differently.
const MAGIC: &[u8] = b"ARROW1";

impl Source {
    /// Opens an Arrow IPC file (Feather version 2), or an IPC stream stored in a file; the first
    /// bytes tell which. A stream that was cut off between two record batches cannot be told from a
    /// complete one.
    ///
    /// # Errors
    ///
    /// A [`LoadError`] if the file cannot be opened, or is neither.
    pub fn ipc(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let file = SourceFile::new(path.as_ref())?;
        let name = file.name.clone();
        let (file, fail) = file.split();
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
