//! Loading of rows from files, and from other readers of Arrow record batches.
//!
//! | feature | format |
//! |---|---|
//! | `parquet` | Parquet, uncompressed or with Snappy, gzip, LZ4 or Zstandard |
//! | `csv` | CSV; the types of its columns are given or inferred |
//! | `ipc` | Arrow IPC, files and streams |

#[cfg(feature = "csv")]
mod csv;
#[cfg(feature = "ipc")]
mod ipc;
#[cfg(feature = "parquet")]
mod parquet;

#[cfg(feature = "csv")]
pub use csv::Csv;

use crate::answers::Answers;
use crate::failure::Failure;
use crate::request::Batch;
use crate::table::{Table, check_may_block};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use xtasking::{Handle, Runtime};

/// Rows of a batch at most, and batches in flight at most. They bound the memory that loading
/// takes.
const BATCH_ROWS: usize = 1 << 16;
const MAX_IN_FLIGHT: usize = 4;

type Reader = Box<dyn RecordBatchReader + Send>;
/// Opens a reader of these columns, or of all.
type OpenReader = Box<dyn FnOnce(Option<Vec<usize>>) -> Result<Reader, ArrowError> + Send>;

/// A source of rows. Its schema is known, but no row has been read.
pub struct Source {
    name: String,
    schema: SchemaRef,
    /// The selected columns, as indices into the columns of the file.
    selected: Option<Vec<usize>>,
    open: OpenReader,
}

/// The error of a load that failed or remained incomplete.
#[derive(Debug)]
pub struct LoadError {
    name: String,
    rows: u64,
    cause: Cause,
}

/// The cause of a [`LoadError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// A file cannot be opened.
    Open(io::Error),
    /// The file or reader is malformed; the text says where.
    Read(ArrowError),
    /// The table rejected the rows.
    Refused(Failure),
}

impl Source {
    /// Creates a source from a reader. Errors show its name.
    pub fn new(name: impl Into<String>, reader: impl RecordBatchReader + Send + 'static) -> Self {
        let (name, schema) = (name.into(), reader.schema());
        let open = move |selected: Option<Vec<usize>>| match selected {
            None => Ok::<Reader, _>(Box::new(reader)),
            Some(columns) => projected(reader, columns),
        };
        Self { name, schema, selected: None, open: Box::new(open) }
    }

    /// Returns the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Selects columns, in this order. The others are not read, if the format allows that.
    ///
    /// # Errors
    ///
    /// [`Failure::NoColumn`] if the source has no column of this name.
    pub fn select<S: AsRef<str>>(mut self, columns: impl IntoIterator<Item = S>) -> Result<Self, LoadError> {
        let find = |name: S| {
            let found = self.schema.index_of(name.as_ref());
            found.map_err(|_| Failure::NoColumn(name.as_ref().to_string()))
        };
        let found = columns.into_iter().map(find).collect::<Result<Vec<_>, _>>();
        let found = found.map_err(|failure| self.fail(0, Cause::Refused(failure)))?;
        let schema = self.schema.project(&found).map_err(|error| self.fail(0, Cause::Read(error)))?;
        self.schema = schema.into();
        // Map through an earlier selection.
        let of = |column: usize| self.selected.as_ref().map_or(column, |selected| selected[column]);
        self.selected = Some(found.into_iter().map(of).collect());
        Ok(self)
    }

    fn fail(&self, rows: u64, cause: Cause) -> LoadError {
        LoadError { name: self.name.clone(), rows, cause }
    }
}

impl Table {
    /// Inserts all rows of a source, waits until they are visible, and returns their number.
    /// Columns are matched by name; further columns of the source are ignored.
    ///
    /// Inserts overlap with reading, in batches of bounded size, so the memory that a load takes
    /// does not depend on the number of rows. Batches sent meanwhile see some of the rows. If a row
    /// cannot be read or inserted, earlier rows remain in the table, and [`LoadError::rows`]
    /// returns their number. To get all rows or none, load into a new table.
    ///
    /// # Errors
    ///
    /// A [`LoadError`] if the source cannot be read, or if it lacks a column of the table or has it
    /// with another type. On a worker of the runtime, which must not block, with
    /// [`Failure::Lost`]; nothing is inserted then.
    pub fn load(&self, rt: &Runtime, source: Source) -> Result<u64, LoadError> {
        check_may_block(rt).map_err(|failure| source.fail(0, Cause::Refused(failure)))?;
        let names = self.schema().fields().iter().map(|field| field.name().clone());
        let Source { name, schema, selected, open } = source.select(names)?;
        let mut loader = Loader { rows: 0, in_flight: VecDeque::new() };
        let fail = |rows: u64, cause: Cause| LoadError { name: name.clone(), rows, cause };
        for (column, field) in schema.fields().iter().enumerate() {
            let check = self.columns.check_type(column, field.data_type());
            check.map_err(|failure| fail(0, Cause::Refused(failure)))?;
        }
        let mut add = |rows: Result<RecordBatch, ArrowError>| {
            let rows = rows.map_err(Cause::Read)?;
            for first in (0..rows.num_rows()).step_by(BATCH_ROWS) {
                let part = rows.slice(first, BATCH_ROWS.min(rows.num_rows() - first));
                loader.send(self, rt, part).map_err(Cause::Refused)?;
            }
            Ok(())
        };
        let reader = open(selected).map_err(Cause::Read);
        let read = reader.and_then(|mut reader| reader.try_for_each(&mut add));
        // Batches in flight complete even after an error, and count.
        let finished = loader.drain_to(0).map_err(Cause::Refused);
        read.and(finished).map(|()| loader.rows).map_err(|cause| fail(loader.rows, cause))
    }
}

/// Selects columns of a reader, in this order.
fn projected(
    reader: impl RecordBatchReader + Send + 'static,
    columns: Vec<usize>,
) -> Result<Reader, ArrowError> {
    let schema = reader.schema().project(&columns)?.into();
    let rows = reader.map(move |rows| rows?.project(&columns));
    Ok(Box::new(RecordBatchIterator::new(rows, schema)))
}

/// The batches in flight, and the number of rows inserted.
struct Loader {
    rows: u64,
    in_flight: VecDeque<Handle<Answers>>,
}

impl Loader {
    fn send(&mut self, table: &Table, rt: &Runtime, rows: RecordBatch) -> Result<(), Failure> {
        self.drain_to(MAX_IN_FLIGHT - 1)?;
        let mut batch = Batch::new();
        batch.insert(rows);
        self.in_flight.push_back(table.send(rt, batch));
        Ok(())
    }

    /// Waits until at most `left` batches are in flight. Returns the first failure.
    fn drain_to(&mut self, left: usize) -> Result<(), Failure> {
        let mut failed = Ok(());
        while self.in_flight.len() > left {
            let Some(handle) = self.in_flight.pop_front() else { break };
            let answers = handle.join().map_err(|error| Failure::Lost(error.to_string()));
            match answers.and_then(|answers| answers.rows_affected(0)) {
                Ok(rows) => self.rows += rows,
                Err(failure) => failed = failed.and(Err(failure)),
            }
        }
        failed
    }
}

impl LoadError {
    /// Returns the name of the source; for a file, its path.
    pub fn source_name(&self) -> &str {
        &self.name
    }

    /// Returns the number of rows that are in the table despite the error.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the cause.
    pub fn cause(&self) -> &Cause {
        &self.cause
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match &self.cause {
            Cause::Open(error) => write!(f, "cannot be opened: {error}")?,
            Cause::Read(error) => write!(f, "cannot be read: {error}")?,
            Cause::Refused(failure) => failure.fmt(f)?,
        }
        match self.rows {
            0 => Ok(()),
            rows => write!(f, " ({rows} earlier rows are in the table)"),
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match &self.cause {
            Cause::Open(error) => error,
            Cause::Read(error) => error,
            Cause::Refused(failure) => failure,
        })
    }
}

/// An open file, with its name for errors.
#[cfg(any(feature = "csv", feature = "ipc", feature = "parquet"))]
struct SourceFile {
    name: String,
    file: std::fs::File,
}

#[cfg(any(feature = "csv", feature = "ipc", feature = "parquet"))]
impl SourceFile {
    fn new(path: &std::path::Path) -> Result<Self, LoadError> {
        let name = path.display().to_string();
        match std::fs::File::open(path) {
            Ok(file) => Ok(Self { name, file }),
            Err(error) => Err(LoadError { name, rows: 0, cause: Cause::Open(error) }),
        }
    }

    /// Returns the file, and a function that turns a read error into a [`LoadError`].
    fn split(self) -> (std::fs::File, impl Fn(ArrowError) -> LoadError) {
        let Self { name, file } = self;
        (file, move |error| LoadError { name: name.clone(), rows: 0, cause: Cause::Read(error) })
    }
}
