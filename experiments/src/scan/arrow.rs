//! Converts bookings to Arrow's format.

use super::bookings::column::FLYER;
use super::bookings::{COLUMNS, NULL, Row};
use super::database::Digest;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// Returns the schema of the bookings.
pub fn schema() -> SchemaRef {
    let field = |(place, name)| Field::new(name, DataType::Int64, place == FLYER);
    Arc::new(Schema::new(COLUMNS.into_iter().enumerate().map(field).collect::<Vec<_>>()))
}

/// Returns the columns of some rows.
pub fn columns<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Vec<ArrayRef> {
    let column = |place: usize| -> ArrayRef {
        let values = rows.clone().map(|row| row[place]);
        Arc::new(match place {
            FLYER => values.map(|value| (value != NULL).then_some(value)).collect(),
            _ => Int64Array::from_iter_values(values),
        })
    };
    (0..COLUMNS.len()).map(column).collect()
}

/// Computes the digest of a record batch; nulls are [`NULL`].
pub fn digest(rows: &RecordBatch) -> u64 {
    let mut digest = Digest::default();
    (0..rows.num_rows()).for_each(|row| digest.add(values(rows, row)));
    digest.finish()
}

/// Returns the values of a row of a record batch of integers; nulls are [`NULL`].
pub fn values(rows: &RecordBatch, row: usize) -> impl Iterator<Item = i64> + '_ {
    let value = move |column: &ArrayRef| match column.as_primitive::<Int64Type>() {
        column if column.is_null(row) => NULL,
        column => column.value(row),
    };
    rows.columns().iter().map(value)
}
