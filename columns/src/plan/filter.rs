//! Filters of requests, translated into conjunctions of predicates.

use super::predicate::{Conjunction, TextPredicate, WordPredicate};
use super::table_schema::TableSchema;
use crate::failure::Failure;
use crate::request::{Filter, Test};
use crate::text;
use crate::types::{ColumnType, KeyPosition};
use crate::value::{Value, WordKind};
use std::ops::Bound;
use std::sync::Arc;

/// Translates a filter. Fails if a column does not exist or a value cannot be compared with it.
pub(super) fn conjunction(table: &TableSchema, filter: &Filter) -> Result<Conjunction, Failure> {
    let mut all = Conjunction::default();
    for (name, test) in &filter.tests {
        let field = table.find(name)?;
        let (column, column_type) = table.column(field);
        match test {
            Test::IsNull => all.words.push(WordPredicate::Null { column, is_null: true }),
            Test::IsNotNull => all.words.push(WordPredicate::Null { column, is_null: false }),
            Test::Equals(value) if column_type == ColumnType::Text => {
                let text = table.text(field, value)?;
                let (hashes, kind, hash) = (column + 1, WordKind::Unsigned, text::hash(&text));
                all.words.push(WordPredicate::Keys { column: hashes, kind, low: hash, high: hash });
                all.texts.push((column, TextPredicate::Equals(text)));
            }
            Test::Between(from, to) if column_type == ColumnType::Text => {
                let text = |bound: &Bound<Value>| try_map(bound, |value| table.text(field, value));
                let (from, to) = (text(from)?, text(to)?);
                let prefix = |bound: &Bound<Arc<str>>, unbounded: u64| match bound {
                    Bound::Included(text) | Bound::Excluded(text) => text::prefix(text),
                    Bound::Unbounded => unbounded,
                };
                let (low, high) = (prefix(&from, 0), prefix(&to, u64::MAX));
                all.words.push(WordPredicate::Keys { column, kind: column_type.kind(), low, high });
                if (&from, &to) != (&Bound::Unbounded, &Bound::Unbounded) {
                    all.texts.push((column, TextPredicate::Between { from, to, low, high }));
                }
            }
            Test::Equals(value) => {
                let same = Bound::Included(value.clone());
                all.words.push(key_range(table, field, &same, &same)?);
            }
            Test::Between(from, to) => all.words.push(key_range(table, field, from, to)?),
        }
    }
    Ok(all)
}

/// Translates a range of values of a field without texts into a range of keys.
fn key_range(
    table: &TableSchema,
    field: usize,
    from: &Bound<Value>,
    to: &Bound<Value>,
) -> Result<WordPredicate, Failure> {
    let (column, column_type) = table.column(field);
    let kind = column_type.kind();
    let position =
        |value: &Value| column_type.key_position(value).ok_or_else(|| table.invalid_value(field, value));
    // `None` if the range begins above the greatest key, or ends below the least.
    let low = match try_map(from, position)? {
        Bound::Unbounded | Bound::Included(KeyPosition::Below) | Bound::Excluded(KeyPosition::Below) => {
            Some(0)
        }
        Bound::Included(KeyPosition::At(word)) => Some(kind.key(word)),
        Bound::Excluded(KeyPosition::At(word)) => kind.key(word).checked_add(1),
        Bound::Included(KeyPosition::Above) | Bound::Excluded(KeyPosition::Above) => None,
    };
    let high = match try_map(to, position)? {
        Bound::Unbounded | Bound::Included(KeyPosition::Above) | Bound::Excluded(KeyPosition::Above) => {
            Some(u64::MAX)
        }
        Bound::Included(KeyPosition::At(word)) => Some(kind.key(word)),
        Bound::Excluded(KeyPosition::At(word)) => kind.key(word).checked_sub(1),
        Bound::Included(KeyPosition::Below) | Bound::Excluded(KeyPosition::Below) => None,
    };
    // An empty range: no key is at least 1 and at most 0.
    let (low, high) = low.zip(high).unwrap_or((1, 0));
    Ok(WordPredicate::Keys { column, kind, low, high })
}

fn try_map<T>(bound: &Bound<Value>, map: impl Fn(&Value) -> Result<T, Failure>) -> Result<Bound<T>, Failure> {
    Ok(match bound {
        Bound::Included(value) => Bound::Included(map(value)?),
        Bound::Excluded(value) => Bound::Excluded(map(value)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}
