//! CSV.

use super::{LoadError, Opened, ROWS, Reader, Source};
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Format;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::sync::Arc;

/// How a file of CSV is to be read.
///
/// A field is a null if there is nothing in it, quoted or not. Fields with commas, quotes or ends of lines are in double
/// quotes, and a double quote in them is written twice.
#[derive(Clone, Debug)]
pub struct Csv {
    delimiter: u8,
    header: bool,
    schema: Option<SchemaRef>,
    rows: usize,
}

impl Default for Csv {
    /// Fields have commas between them, the first line names the columns, and their types are guessed from the first 1000
    /// rows.
    fn default() -> Self {
        Self { delimiter: b',', header: true, schema: None, rows: 1000 }
    }
}

impl Csv {
    /// What is between two fields.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = delimiter;
        self
    }

    /// Whether the first line names the columns. If it does not, and no [schema](Self::schema) is given, they are called
    /// `column_1` and so on.
    #[must_use]
    pub fn header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// Gives the names and types of all columns, in the order of the file, instead of guessing them. A header has to have
    /// the same names.
    #[must_use]
    pub fn schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    /// How many rows types are guessed from. A type is the first of these that all their fields are of: `Boolean` (`true` and
    /// `false`), `Int64`, `Float64`, `Date32` (`2026-11-23`), `Timestamp` (`2026-11-23T08:30:00`, to a fraction of a second),
    /// `Utf8`. A column without any value is one of `Utf8`; and every column may be null.
    ///
    /// If a later row does not fit, it cannot be read: so say more rows, or give a schema.
    #[must_use]
    pub fn guess_from(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    fn format(&self) -> Format {
        let format = Format::default().with_header(self.header).with_delimiter(self.delimiter);
        format.with_header_validation(self.schema.is_some())
    }

    fn guess(&self, file: &mut File) -> Result<SchemaRef, ArrowError> {
        let (schema, _) = self.format().infer_schema(&*file, Some(self.rows))?;
        file.rewind()?;
        let known = |field: &Arc<Field>| match field.data_type() {
            DataType::Null => Field::new(field.name(), DataType::Utf8, true),
            _ => field.as_ref().clone(),
        };
        Ok(Arc::new(Schema::new(schema.fields().iter().map(known).collect::<Vec<_>>())))
    }
}

impl Source {
    /// A file of CSV.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_columns::Table;
    /// use xtasking_columns::load::{Csv, Source};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("fares.csv");
    /// std::fs::write(&path, "carrier,fare\nLX,120.5\nTK,99\n")?;
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let source = Source::csv(&path, &Csv::default())?;
    /// let table = Table::new(&rt, source.schema().clone(), 2)?;
    /// assert_eq!(table.load(&rt, source)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A [`LoadError`] if it cannot be opened, or if the types of its columns cannot be guessed.
    pub fn csv(path: impl AsRef<Path>, csv: &Csv) -> Result<Self, LoadError> {
        let opened = Opened::new(path.as_ref())?;
        let name = opened.name.clone();
        let (mut file, fail) = opened.split();
        let schema = match &csv.schema {
            Some(schema) => schema.clone(),
            None => csv.guess(&mut file).map_err(fail)?,
        };
        let builder = ReaderBuilder::new(schema.clone()).with_format(csv.format()).with_batch_size(ROWS);
        let begin = move |selected: Option<Vec<usize>>| -> Result<Reader, ArrowError> {
            let builder = match selected {
                Some(columns) => builder.with_projection(columns),
                None => builder,
            };
            Ok(Box::new(builder.build(file)?))
        };
        Ok(Self { name, schema, selected: None, begin: Box::new(begin) })
    }
}
