//! Parquet.

use super::{LoadError, Opened, ROWS, Reader, Source, projected};
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;

impl Source {
    /// A file of Parquet. Columns that are not [selected](Self::select), or that the table does not have, are not read.
    ///
    /// # Errors
    ///
    /// A [`LoadError`] if it cannot be opened, or is no such file.
    pub fn parquet(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let opened = Opened::new(path.as_ref())?;
        let name = opened.name.clone();
        let (file, fail) = opened.split();
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| fail(ArrowError::from(error)))?;
        let schema = builder.schema().clone();
        let begin = move |selected: Option<Vec<usize>>| -> Result<Reader, ArrowError> {
            let builder = builder.with_batch_size(ROWS);
            let Some(columns) = selected else { return Ok(Box::new(builder.build()?)) };
            // They come in the order of the file.
            let mut order = columns.clone();
            order.sort_unstable();
            order.dedup();
            let mask = ProjectionMask::roots(builder.parquet_schema(), order.iter().copied());
            let reader = builder.with_projection(mask).build()?;
            let places = columns.iter().map(|column| order.partition_point(|other| other < column)).collect();
            projected(reader, places)
        };
        Ok(Self { name, schema, selected: None, begin: Box::new(begin) })
    }
}
