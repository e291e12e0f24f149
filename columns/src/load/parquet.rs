//! Parquet files.

use super::{BATCH_ROWS, LoadError, Reader, Source, SourceFile, projected};
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;

impl Source {
    /// Opens a Parquet file. Columns that are not [selected](Self::select), or that the table does
    /// not have, are not read.
    ///
    /// # Errors
    ///
    /// A [`LoadError`] if the file cannot be opened, or is not Parquet.
    pub fn parquet(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let file = SourceFile::new(path.as_ref())?;
        let name = file.name.clone();
        let (file, fail) = file.split();
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| fail(ArrowError::from(error)))?;
        let schema = builder.schema().clone();
        let open = move |selected: Option<Vec<usize>>| -> Result<Reader, ArrowError> {
            let builder = builder.with_batch_size(BATCH_ROWS);
            let Some(columns) = selected else { return Ok(Box::new(builder.build()?)) };
            // The reader returns columns in the order of the file.
            let mut order = columns.clone();
            order.sort_unstable();
            order.dedup();
            let mask = ProjectionMask::roots(builder.parquet_schema(), order.iter().copied());
            let reader = builder.with_projection(mask).build()?;
            let places = columns.iter().map(|column| order.partition_point(|other| other < column)).collect();
            projected(reader, places)
        };
        Ok(Self { name, schema, selected: None, open: Box::new(open) })
    }
}
