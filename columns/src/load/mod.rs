//! Rows from files, and from whatever else gives record batches of Arrow.
//!
//! | feature | what it reads |
//! |---|---|
//! | `parquet` | Parquet, with pages as they are, or compressed by Snappy, gzip, LZ4 or Zstandard |
//! | `csv` | CSV; the types of its columns are given or guessed |
//! | `ipc` | Arrow's own format, files and streams |

#[cfg(feature = "csv")]
mod csv;
#[cfg(feature = "ipc")]
mod ipc;
#[cfg(feature = "parquet")]
mod parquet;

#[cfg(feature = "csv")]
pub use csv::Csv;

use crate::answer::{Answers, Failure};
use crate::request::Batch;
use crate::table::Table;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use xtasking::{Handle, Runtime};

/// So many rows are added by one batch at most, and so many batches are on their way: what is read is not held for longer.
const ROWS: usize = 1 << 16;
const ON_THEIR_WAY: usize = 4;

type Reader = Box<dyn RecordBatchReader + Send>;
/// Begins to read these columns, or all.
type Begin = Box<dyn FnOnce(Option<Vec<usize>>) -> Result<Reader, ArrowError> + Send>;

/// Where rows come from. What there is of it is known, but nothing is read as yet.
pub struct Source {
    name: String,
    schema: SchemaRef,
    /// Columns that were selected of those that the source has.
    selected: Option<Vec<usize>>,
    begin: Begin,
}

/// Why rows were not loaded, or not all of them.
#[derive(Debug)]
pub struct LoadError {
    name: String,
    rows: u64,
    cause: Cause,
}

/// What was wrong with a source.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// A file could not be opened.
    Open(io::Error),
    /// What is read is not what it should be; the text says where.
    Read(ArrowError),
    /// The table does not take it.
    Refused(Failure),
}

impl Source {
    /// What a reader gives. Failures name it so.
    pub fn new(name: impl Into<String>, reader: impl RecordBatchReader + Send + 'static) -> Self {
        let (name, schema) = (name.into(), reader.schema());
        let begin = move |selected: Option<Vec<usize>>| match selected {
            None => Ok::<Reader, _>(Box::new(reader)),
            Some(columns) => projected(reader, columns),
        };
        Self { name, schema, selected: None, begin: Box::new(begin) }
    }

    /// Its columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Only these of its columns, in this order. Others are not read, if the format allows that.
    ///
    /// # Errors
    ///
    /// [`Failure::NoColumn`] if there is none of such a name.
    pub fn select<S: AsRef<str>>(mut self, columns: impl IntoIterator<Item = S>) -> Result<Self, LoadError> {
        let find = |name: S| {
            let found = self.schema.index_of(name.as_ref());
            found.map_err(|_| Failure::NoColumn(name.as_ref().to_string()))
        };
        let found = columns.into_iter().map(find).collect::<Result<Vec<_>, _>>();
        let found = found.map_err(|failure| self.fail(0, Cause::Refused(failure)))?;
        let schema = self.schema.project(&found).map_err(|error| self.fail(0, Cause::Read(error)))?;
        self.schema = schema.into();
        // Of those that were selected before.
        let of = |column: usize| self.selected.as_ref().map_or(column, |selected| selected[column]);
        self.selected = Some(found.into_iter().map(of).collect());
        Ok(self)
    }

    fn fail(&self, rows: u64, cause: Cause) -> LoadError {
        LoadError { name: self.name.clone(), rows, cause }
    }
}

impl Table {
    /// Adds all rows of a source, and waits until they are in; returns how many there were. Columns are found by their
    /// names; what the source has besides those of the table is left out.
    ///
    /// Rows are added while further ones are read, so the memory that this takes does not depend on how many there are, and
    /// batches that are sent meanwhile see some of them. If something is wrong with a row, those before it, by some tens of
    /// thousands, are in, and [`LoadError::rows`] tells how many; whoever wants all or none loads a new table.
    ///
    /// # Errors
    ///
    /// A [`LoadError`] if the source cannot be read, or if a column of the table is not there, or is of another type.
    pub fn load(&self, rt: &Runtime, source: Source) -> Result<u64, LoadError> {
        let names = self.schema().fields().iter().map(|field| field.name().clone());
        let Source { name, schema, selected, begin } = source.select(names)?;
        let mut loading = Loading { rows: 0, sent: VecDeque::new() };
        let fail = |rows: u64, cause: Cause| LoadError { name: name.clone(), rows, cause };
        for (column, field) in schema.fields().iter().enumerate() {
            let takes = self.columns.takes(column, field.data_type());
            takes.map_err(|failure| fail(0, Cause::Refused(failure)))?;
        }
        let mut add = |rows: Result<RecordBatch, ArrowError>| {
            let rows = rows.map_err(Cause::Read)?;
            for first in (0..rows.num_rows()).step_by(ROWS) {
                let part = rows.slice(first, ROWS.min(rows.num_rows() - first));
                loading.send(self, rt, part).map_err(Cause::Refused)?;
            }
            Ok(())
        };
        let begun = begin(selected).map_err(Cause::Read);
        let read = begun.and_then(|mut reader| reader.try_for_each(&mut add));
        // Those that are on their way come in all the same, and are counted.
        let come = loading.wait(0).map_err(Cause::Refused);
        read.and(come).map(|()| loading.rows).map_err(|cause| fail(loading.rows, cause))
    }
}

/// These columns of what a reader gives, in this order.
fn projected(
    reader: impl RecordBatchReader + Send + 'static,
    columns: Vec<usize>,
) -> Result<Reader, ArrowError> {
    let schema = reader.schema().project(&columns)?.into();
    let rows = reader.map(move |rows| rows?.project(&columns));
    Ok(Box::new(RecordBatchIterator::new(rows, schema)))
}

/// Rows that are on their way, and how many have come in.
struct Loading {
    rows: u64,
    sent: VecDeque<Handle<Answers>>,
}

impl Loading {
    fn send(&mut self, table: &Table, rt: &Runtime, rows: RecordBatch) -> Result<(), Failure> {
        self.wait(ON_THEIR_WAY - 1)?;
        let mut batch = Batch::new();
        batch.insert(rows);
        self.sent.push_back(table.send(rt, batch));
        Ok(())
    }

    /// Waits until so many are left. If some fail, the first failure is told.
    fn wait(&mut self, left: usize) -> Result<(), Failure> {
        let mut failed = Ok(());
        while self.sent.len() > left {
            let Some(handle) = self.sent.pop_front() else { break };
            let answers = handle.join().map_err(|error| Failure::Lost(error.to_string()));
            match answers.and_then(|answers| answers.changed(0)) {
                Ok(rows) => self.rows += rows,
                Err(failure) => failed = failed.and(Err(failure)),
            }
        }
        failed
    }
}

impl LoadError {
    /// What could not be read: the name of a file, as a rule.
    pub fn source_name(&self) -> &str {
        &self.name
    }

    /// How many rows are in the table nevertheless.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What was wrong.
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
            rows => write!(f, " ({rows} rows before it are in the table)"),
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

/// A file, which failures name.
#[cfg(any(feature = "csv", feature = "ipc", feature = "parquet"))]
struct Opened {
    name: String,
    file: std::fs::File,
}

#[cfg(any(feature = "csv", feature = "ipc", feature = "parquet"))]
impl Opened {
    fn new(path: &std::path::Path) -> Result<Self, LoadError> {
        let name = path.display().to_string();
        match std::fs::File::open(path) {
            Ok(file) => Ok(Self { name, file }),
            Err(error) => Err(LoadError { name, rows: 0, cause: Cause::Open(error) }),
        }
    }

    /// The file, from its beginning, and what a failure to read it becomes.
    fn split(self) -> (std::fs::File, impl Fn(ArrowError) -> LoadError) {
        let Self { name, file } = self;
        (file, move |error| LoadError { name: name.clone(), rows: 0, cause: Cause::Read(error) })
    }
}
