//! Plans of inserts, updates and deletes.

use super::filter::conjunction;
use super::predicate::Conjunction;
use super::table_schema::TableSchema;
use crate::chunk::Cell;
use crate::failure::Failure;
use crate::request::Change;
use crate::text;
use crate::types::{ColumnType, TextArray};
use crate::value::Value;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use std::sync::Arc;

/// A change, checked against the schema.
#[derive(Clone, Debug)]
pub(crate) enum ChangePlan {
    Insert(NewRows),
    /// Sets columns of the rows that match.
    Update(Conjunction, Vec<(usize, CellValue)>),
    Delete(Conjunction),
}

/// Rows to insert.
#[derive(Clone, Debug)]
pub(crate) struct NewRows {
    pub columns: Vec<NewColumn>,
    pub count: usize,
}

/// The words, nulls and texts of inserted rows for one column of words.
#[derive(Clone, Debug)]
pub(crate) struct NewColumn {
    pub words: ScalarBuffer<u64>,
    pub nulls: Option<NullBuffer>,
    pub texts: Option<TextArray>,
}

/// A new value of a cell; null without a word.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellValue {
    word: Option<u64>,
    text: Option<Arc<str>>,
}

impl ChangePlan {
    /// Plans a change. Fails if a column does not exist or does not accept a value.
    pub fn new(table: &TableSchema, change: &Change) -> Result<Self, Failure> {
        match change {
            Change::Insert(rows) => NewRows::new(table, rows).map(Self::Insert),
            Change::Delete(filter) => conjunction(table, filter).map(Self::Delete),
            Change::Update(filter, set) => {
                let mut values = Vec::new();
                for (name, value) in set {
                    push_values(table, name, value.as_ref(), &mut values)?;
                }
                Ok(Self::Update(conjunction(table, filter)?, values))
            }
        }
    }

    /// Returns the filter that selects existing rows; `None` for an insert.
    pub fn filter(&self) -> Option<&Conjunction> {
        match self {
            Self::Insert(_) => None,
            Self::Update(filter, _) | Self::Delete(filter) => Some(filter),
        }
    }
}

/// Appends the new values of the columns of words that store a field.
fn push_values(
    table: &TableSchema,
    name: &str,
    value: Option<&Value>,
    values: &mut Vec<(usize, CellValue)>,
) -> Result<(), Failure> {
    let field = table.find(name)?;
    let (column, column_type) = table.column(field);
    let data_type = table.field(field).data_type();
    if value.is_none() && !table.field(field).is_nullable() {
        return Err(Failure::NotNullable(name.to_string()));
    }
    let word = |value| column_type.word(value, data_type).ok_or_else(|| table.invalid_value(field, value));
    let word = value.map(word).transpose()?;
    if column_type == ColumnType::Text {
        let text = value.map(|value| table.text(field, value)).transpose()?;
        let hash = text.as_deref().map(text::hash);
        values.push((column, CellValue { word, text }));
        values.push((column + 1, CellValue { word: hash, text: None }));
    } else {
        values.push((column, CellValue { word, text: None }));
    }
    Ok(())
}

impl NewRows {
    fn new(table: &TableSchema, rows: &RecordBatch) -> Result<Self, Failure> {
        if rows.num_columns() != table.field_count() {
            let why = format!(
                "the rows have {} columns, the table has {}; give the rows the table's columns",
                rows.num_columns(),
                table.field_count()
            );
            return Err(Failure::Mismatch { column: String::new(), why });
        }
        let mut columns = Vec::new();
        for (index, array) in rows.columns().iter().enumerate() {
            let field = table.field(index);
            let (_, column_type) = table.column(index);
            table.check_type(index, array.data_type())?;
            if array.null_count() > 0 && !field.is_nullable() {
                return Err(Failure::NotNullable(field.name().clone()));
            }
            let nulls = array.nulls().cloned();
            let Some(texts) = TextArray::of(array) else {
                columns.push(NewColumn { words: column_type.words(array), nulls, texts: None });
                continue;
            };
            if let Some(row) = (0..texts.len())
                .find(|&row| array.is_valid(row) && texts.get(row).len() > text::MAX_TEXT_BYTES)
            {
                let bytes = texts.get(row).len();
                let why = format!("the text in row {row} has {bytes} bytes; at most 2 GiB can be stored");
                return Err(table.mismatch(index, why));
            }
            let words = |word: fn(&str) -> u64| {
                (0..texts.len())
                    .map(|row| if array.is_valid(row) { word(texts.get(row)) } else { 0 })
                    .collect()
            };
            let hashes = NewColumn { words: words(text::hash), nulls: nulls.clone(), texts: None };
            columns.push(NewColumn { words: words(text::prefix), nulls, texts: Some(texts) });
            columns.push(hashes);
        }
        Ok(Self { columns, count: rows.num_rows() })
    }

    /// Iterates over the cells of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Cell<'_>> {
        self.columns.iter().map(move |column| {
            if column.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Cell::default();
            }
            let text = column.texts.as_ref().map_or("", |texts| texts.get(row));
            Cell { word: Some(column.words[row]), text }
        })
    }
}

impl CellValue {
    pub fn cell(&self) -> Cell<'_> {
        Cell { word: self.word, text: self.text.as_deref().unwrap_or_default() }
    }
}
