//! Filter pushdown: translation of SQL conditions into tests of columns.

use crate::request::Test;
use crate::types::ColumnType;
use crate::value::{Value, WordKind};
use arrow_schema::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Between, BinaryExpr, Case, Cast, Expr, Like, Operator};
use std::collections::HashSet;
use std::ops::Bound;

/// Tests that a row must all pass.
pub(super) type TestList = Vec<(String, Test)>;

/// Translates conditions on tables with this schema.
pub(super) struct FilterPushdown<'a>(pub &'a Schema);

/// A condition may become at most this many lists of tests.
const MAX_DISJUNCTS: usize = 4096;
/// A condition may become at most this many queries, and so may all conditions of a scan together.
pub(super) const MAX_QUERIES: usize = 256;

impl FilterPushdown<'_> {
    /// Translates a condition into lists of tests of which a row passes exactly one if the
    /// condition is true for it, and none otherwise. No list means that it is never true. `None` if
    /// the table cannot test the condition.
    pub fn disjoint_tests(&self, condition: &Expr) -> Option<Vec<TestList>> {
        let any = self.tests_for(condition)?;
        if any.len() <= 1 {
            return Some(any);
        }
        // A column has one value, so tests for different values are disjoint.
        let mut distinct = HashSet::new();
        let mut one = Vec::new();
        for all in any {
            let [(column, Test::Equals(value))] = &all[..] else { return None };
            let field = self.0.field_with_name(column).ok()?;
            let text = if let Value::Text(text) = value { Some(text.clone()) } else { None };
            if distinct.insert((
                column.clone(),
                ColumnType::of(field.data_type())?.key_position(value)?,
                text,
            )) {
                one.push(all);
            }
        }
        let same_column = one.windows(2).all(|pair| pair[0][0].0 == pair[1][0].0);
        (same_column && one.len() <= MAX_QUERIES).then_some(one)
    }

    /// Translates a condition like [`disjoint_tests`](Self::disjoint_tests), but a row may pass
    /// several lists.
    pub fn tests_for(&self, condition: &Expr) -> Option<Vec<TestList>> {
        let one = |column: &str, test: Test| Some(vec![vec![(column.to_string(), test)]]);
        let column = |expr: &Expr| self.column(expr).map(|(column, _)| column.to_string());
        let boolean = |expr: &Expr, value: bool| {
            let (column, data_type) = self.column(expr)?;
            (*data_type == DataType::Boolean).then(|| one(column, Test::Equals(value.into())))?
        };
        match condition {
            Expr::Alias(alias) => self.tests_for(&alias.expr),
            // In SQL, unknown counts as not true.
            Expr::Literal(ScalarValue::Boolean(value), _) => {
                Some(if *value == Some(true) { vec![Vec::new()] } else { Vec::new() })
            }
            Expr::Column(_) => boolean(condition, true),
            Expr::IsTrue(expr) => boolean(expr, true),
            Expr::Not(expr) | Expr::IsFalse(expr) => boolean(expr, false),
            Expr::IsNull(expr) => one(&column(expr)?, Test::IsNull),
            Expr::IsNotNull(expr) => one(&column(expr)?, Test::IsNotNull),
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                let (left, right) = (self.tests_for(left)?, self.tests_for(right)?);
                let both = |left: &TestList| {
                    let left = left.clone();
                    right.iter().map(move |right| left.iter().chain(right).cloned().collect())
                };
                (left.len() * right.len() <= MAX_DISJUNCTS).then(|| left.iter().flat_map(both).collect())
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                let (mut either, right) = (self.tests_for(left)?, self.tests_for(right)?);
                either.extend(right);
                (either.len() <= MAX_DISJUNCTS).then_some(either)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                self.compare(left, *op, right).or_else(|| self.compare(right, op.swap()?, left))
            }
            Expr::Between(Between { expr, negated: false, low, high }) => {
                let (from, to) =
                    (self.compare(expr, Operator::GtEq, low)?, self.compare(expr, Operator::LtEq, high)?);
                // A comparison yields one list of tests, or none if it is never true.
                let (from, to) = (from.into_iter().next(), to.into_iter().next());
                Some(from.zip(to).map(|(from, to)| [from, to].concat()).into_iter().collect())
            }
            Expr::InList(list) if !list.negated => {
                let equal = list.list.iter().map(|item| self.compare(&list.expr, Operator::Eq, item));
                let any: Vec<TestList> = equal.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
                (any.len() <= MAX_DISJUNCTS).then_some(any)
            }
            Expr::Like(like) => self.prefix_range(like),
            // DataFusion rewrites `LIKE '%'` to this.
            Expr::Case(Case { expr: Some(condition), when_then_expr, else_expr: None }) => {
                match &when_then_expr[..] {
                    [(when, then)] if is_true(when) && is_true(then) => self.tests_for(condition),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the column that an expression names, perhaps inside a cast to a wider type.
    fn column<'e>(&self, expr: &'e Expr) -> Option<(&'e str, &DataType)> {
        match expr {
            Expr::Column(column) => {
                let field = self.0.field_with_name(&column.name).ok()?;
                Some((&column.name, field.data_type()))
            }
            Expr::Cast(Cast { expr, field }) => {
                let (column, from) = self.column(expr)?;
                let to = field.data_type();
                // Every integer of the narrow type is one of the wide type.
                let keeps = match (ColumnType::of(from)?, ColumnType::of(to)?) {
                    (ColumnType::Int(from), ColumnType::Int(to))
                    | (ColumnType::Unsigned(from), ColumnType::Unsigned(to)) => from <= to,
                    (ColumnType::Unsigned(from), ColumnType::Int(to)) => from < to,
                    _ => false,
                };
                (keeps && from.is_integer() && to.is_integer()).then_some((column, from))
            }
            _ => None,
        }
    }

    fn compare(&self, column: &Expr, op: Operator, literal: &Expr) -> Option<Vec<TestList>> {
        let (column, data_type) = self.column(column)?;
        let Expr::Literal(literal, _) = literal else { return None };
        if literal.is_null() {
            // A comparison with null is never true.
            return matches!(
                op,
                Operator::Eq
                    | Operator::NotEq
                    | Operator::Lt
                    | Operator::LtEq
                    | Operator::Gt
                    | Operator::GtEq
            )
            .then(Vec::new);
        }
        // The range of equal values.
        let (from, to) = match value(literal, data_type)? {
            // Unlike in Arrow, -0.0 equals 0.0 in SQL.
            zero if is_zero(&zero) => (Value::Float(-0.0), Value::Float(0.0)),
            value => (value.clone(), value),
        };
        let below = |bound: Bound<Value>| Test::Between(Bound::Unbounded, bound);
        let above = |bound: Bound<Value>| Test::Between(bound, Bound::Unbounded);
        let any = match op {
            Operator::Eq if is_zero(&from) => {
                vec![Test::Between(Bound::Included(from), Bound::Included(to))]
            }
            Operator::Eq => vec![Test::Equals(from)],
            Operator::Lt => vec![below(Bound::Excluded(from))],
            Operator::LtEq => vec![below(Bound::Included(to))],
            Operator::Gt => vec![above(Bound::Excluded(to))],
            Operator::GtEq => vec![above(Bound::Included(from))],
            Operator::NotEq => vec![below(Bound::Excluded(from)), above(Bound::Excluded(to))],
            _ => return None,
        };
        Some(any.into_iter().map(|test| vec![(column.to_string(), test)]).collect())
    }

    /// Translates a prefix pattern into the range from the prefix to its successor.
    fn prefix_range(&self, like: &Like) -> Option<Vec<TestList>> {
        let (column, data_type) = self.column(&like.expr)?;
        let Expr::Literal(pattern, _) = &*like.pattern else { return None };
        let prefix = pattern.try_as_str()??.strip_suffix('%')?;
        let is_plain = !prefix.contains(['%', '_', '\\']) && like.escape_char.is_none();
        if like.negated
            || like.case_insensitive
            || !is_plain
            || ColumnType::of(data_type) != Some(ColumnType::Text)
        {
            return None;
        }
        let to = successor(prefix).map_or(Bound::Unbounded, |next| Bound::Excluded(next.into()));
        Some(vec![vec![(column.to_string(), Test::Between(Bound::Included(prefix.into()), to))]])
    }
}

fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Float(value) if *value == 0.0)
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(true)), _))
}

/// Returns the least text greater than all texts with this prefix, if there is one.
fn successor(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The range skips the surrogates, D800 to DFFF, which are not characters.
        let next = (last..=char::MAX).nth(1);
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

/// Returns the value of a literal that a column of this type can be compared with; `None` for
/// others, and for nulls.
pub(super) fn value(literal: &ScalarValue, data_type: &DataType) -> Option<Value> {
    let of = literal.data_type();
    let (literal_type, column_type) = (ColumnType::of(&of)?, ColumnType::of(data_type)?);
    let alike = of == *data_type
        || [literal_type, column_type] == [ColumnType::Text; 2]
        || of.is_integer() && data_type.is_integer();
    if literal.is_null() || !alike {
        return None;
    }
    if literal_type == ColumnType::Text {
        return literal.try_as_str()?.map(Value::from);
    }
    let word = literal_type.words(&literal.to_array().ok()?)[0];
    Some(match literal_type.kind() {
        _ if literal_type == ColumnType::Bool => Value::Bool(word != 0),
        WordKind::Int => Value::Int(word.cast_signed()),
        WordKind::Float => Value::Float(f64::from_bits(word)),
        WordKind::Unsigned | WordKind::Prefix => Value::Unsigned(word),
    })
}

#[cfg(test)]
mod tests {
    use super::successor;

    #[test]
    fn the_successor_is_greater_than_all_texts_with_the_prefix() {
        let text_after = |prefix| successor(prefix).unwrap_or_default();
        assert_eq!([text_after("a"), text_after("az"), text_after("é")], ["b", "a{", "ê"]);
        // The code points between them are surrogates.
        assert_eq!(text_after("a\u{d7ff}"), "a\u{e000}");
        assert_eq!([text_after("a\u{10ffff}"), text_after("\u{10ffff}"), text_after("")], ["b", "", ""]);
    }
}
