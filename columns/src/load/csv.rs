//! CSV files.

use super::{BATCH_ROWS, LoadError, Reader, Source, SourceFile};
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Format;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::fs::File;
use std::io::Seek;
use std::path::Path;
use std::sync::Arc;

/// The format of a CSV file.
///
/// An empty field is null, quoted or not. Fields with delimiters, quotes or line breaks are
/// enclosed in double quotes, and a double quote inside is doubled.
#[derive(Clone, Debug)]
pub struct Csv {
    delimiter: u8,
    has_header: bool,
    schema: Option<SchemaRef>,
    inference_rows: usize,
}

impl Default for Csv {
    /// Comma as delimiter, a header, and column types inferred from the first 1000 rows.
    fn default() -> Self {
        Self { delimiter: b',', has_header: true, schema: None, inference_rows: 1000 }
    }
}

impl Csv {
    /// Sets the character between two fields.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = delimiter;
        self
    }

    /// Sets whether the first line names the columns. Without a header or a [schema](Self::schema),
    /// columns are called `column_1` and so on.
    #[must_use]
    pub fn has_header(mut self, has_header: bool) -> Self {
        self.has_header = has_header;
        self
    }

    /// Sets the names and types of all columns, in the order of the file, instead of inferring
    /// them. A header must have the same names.
    #[must_use]
    pub fn schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Sets the number of rows from which types are inferred. A column gets the first of these
    /// types that fits all of its fields: `Boolean` (`true` and `false`), `Int64`, `Float64`,
    /// `Date32` (`2026-11-23`), `Timestamp` (`2026-11-23T08:30:00`, optionally with a fraction),
    /// `Utf8`. A column without values gets `Utf8`. All columns are nullable.
    ///
    /// A later row that does not fit is a read error; infer from more rows, or give a schema.
    #[must_use]
    pub fn inference_rows(mut self, rows: usize) -> Self {
        self.inference_rows = rows;
        self
    }

    fn format(&self) -> Format {
        let format = Format::default().with_header(self.has_header).with_delimiter(self.delimiter);
        format.with_header_validation(self.schema.is_some())
    }

    fn infer_schema(&self, file: &mut File) -> Result<SchemaRef, ArrowError> {
        let (schema, _) = self.format().infer_schema(&*file, Some(self.inference_rows))?;
        file.rewind()?;
        let nullable_type = |field: &Arc<Field>| match field.data_type() {
            DataType::Null => Field::new(field.name(), DataType::Utf8, true),
            _ => field.as_ref().clone(),
        };
        Ok(Arc::new(Schema::new(schema.fields().iter().map(nullable_type).collect::<Vec<_>>())))
    }
}

impl Source {
    /// Opens a CSV file, and infers its schema unless one is given.
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
    /// A [`LoadError`] if the file cannot be opened, or if the types of its columns cannot be
    /// inferred.
    pub fn csv(path: impl AsRef<Path>, csv: &Csv) -> Result<Self, LoadError> {
        let file = SourceFile::new(path.as_ref())?;
        let name = file.name.clone();
        let (mut file, fail) = file.split();
        let schema = match &csv.schema {
            Some(schema) => schema.clone(),
            None => csv.infer_schema(&mut file).map_err(fail)?,
        };
        let builder =
            ReaderBuilder::new(schema.clone()).with_format(csv.format()).with_batch_size(BATCH_ROWS);
        let open = move |selected: Option<Vec<usize>>| -> Result<Reader, ArrowError> {
            let builder = match selected {
                Some(columns) => builder.with_projection(columns),
                None => builder,
            };
            Ok(Box::new(builder.build(file)?))
        };
        Ok(Self { name, schema, selected: None, open: Box::new(open) })
    }
}
