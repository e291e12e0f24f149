//! The fields of a table, and the columns of words that store them.

use crate::failure::Failure;
use crate::types::ColumnType;
use crate::value::{Value, WordKind};
use ahash::RandomState;
use arrow_schema::{DataType, Field, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// The schema of a table. A *field* is a column of the Arrow schema. It is stored in one column of
/// words, or, if it holds texts, in two: their prefixes, followed by their hashes.
#[derive(Clone, Debug)]
pub(crate) struct TableSchema {
    pub schema: SchemaRef,
    /// The kind of each column of words. Column numbers are indices into this list, unless a
    /// comment says "field".
    pub kinds: Arc<[WordKind]>,
    fields_by_name: Arc<HashMap<String, usize, RandomState>>,
    /// For each field, its first column of words and its type.
    fields: Arc<[(usize, ColumnType)]>,
}

impl TableSchema {
    /// Lays out the columns of words. Fails with [`Failure::Unsupported`] if a field has a type
    /// that cannot be stored.
    pub fn new(schema: SchemaRef) -> Result<Self, Failure> {
        let (mut kinds, mut fields) = (Vec::new(), Vec::new());
        for field in schema.fields() {
            let column_type = ColumnType::of(field.data_type()).ok_or_else(|| Failure::Unsupported {
                column: field.name().clone(),
                data_type: field.data_type().to_string(),
            })?;
            fields.push((kinds.len(), column_type));
            kinds.push(column_type.kind());
            if column_type == ColumnType::Text {
                kinds.push(WordKind::Unsigned);
            }
        }
        let numbers = schema.fields().iter().enumerate();
        // If several fields have the same name, the first one wins, as in Arrow.
        let by_name = numbers.rev().map(|(number, field)| (field.name().clone(), number)).collect();
        Ok(Self { schema, kinds: kinds.into(), fields_by_name: Arc::new(by_name), fields: fields.into() })
    }

    pub(super) fn field_count(&self) -> usize {
        self.fields.len()
    }

    /// Returns the field of the Arrow schema.
    pub(super) fn field(&self, field: usize) -> &Field {
        self.schema.field(field)
    }

    /// Returns the first column of words of a field, and the field's type.
    pub(super) fn column(&self, field: usize) -> (usize, ColumnType) {
        self.fields[field]
    }

    /// Finds a field by its name.
    pub(super) fn find(&self, name: &str) -> Result<usize, Failure> {
        self.fields_by_name.get(name).copied().ok_or_else(|| Failure::NoColumn(name.to_string()))
    }

    /// Checks that a field accepts arrays of a type: its own, or any type of text if it has one.
    pub fn check_type(&self, field: usize, data_type: &DataType) -> Result<(), Failure> {
        let expected = self.field(field).data_type();
        if data_type == expected || [data_type, expected].map(ColumnType::of) == [Some(ColumnType::Text); 2] {
            return Ok(());
        }
        Err(self.mismatch(field, format!("expected type {expected}, found {data_type}; cast the rows")))
    }

    pub(super) fn mismatch(&self, field: usize, why: String) -> Failure {
        Failure::Mismatch { column: self.field(field).name().clone(), why }
    }

    pub(super) fn invalid_value(&self, field: usize, value: &Value) -> Failure {
        self.mismatch(field, format!("{value:?} is not a valid {}", self.field(field).data_type()))
    }

    /// Returns the text of a value that a field of texts is compared with or set to.
    pub(super) fn text(&self, field: usize, value: &Value) -> Result<Arc<str>, Failure> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(self.invalid_value(field, value)),
        }
    }
}
