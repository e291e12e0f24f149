//! Conditions of SQL as tests of columns.

use crate::request::Test;
use crate::types::Type;
use crate::value::{Kind, Value};
use arrow_schema::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Between, BinaryExpr, Case, Cast, Expr, Like, Operator};
use std::collections::HashSet;
use std::ops::Bound;

/// Tests of columns, all of which a row has to pass.
pub(super) type All = Vec<(String, Test)>;

/// Conditions on tables with this schema.
pub(super) struct Conditions<'a>(pub &'a Schema);

/// A condition does not become more than so many tests that are to be passed one or the other.
const MOST: usize = 4096;
const MOST_QUERIES: usize = 256;

impl Conditions<'_> {
    /// The tests of which a row passes one for which a condition is true, and no other row any: none, if it is never true.
    /// `None` if there are no such tests.
    pub fn one_of(&self, condition: &Expr) -> Option<Vec<All>> {
        let any = self.any_of(condition)?;
        if any.len() <= 1 {
            return Some(any);
        }
        // A column has one value, so different values are not there together.
        let mut seen = HashSet::new();
        let mut one = Vec::new();
        for all in any {
            let [(column, Test::Equals(value))] = &all[..] else { return None };
            let field = self.0.field_with_name(column).ok()?;
            let text = if let Value::Text(text) = value { Some(text.clone()) } else { None };
            if seen.insert((column.clone(), Type::of(field.data_type())?.place(value)?, text)) {
                one.push(all);
            }
        }
        let same_column = one.windows(2).all(|pair| pair[0][0].0 == pair[1][0].0);
        (same_column && one.len() <= MOST_QUERIES).then_some(one)
    }

    /// The same, where a row may pass several.
    pub fn any_of(&self, condition: &Expr) -> Option<Vec<All>> {
        let one = |column: &str, test: Test| Some(vec![vec![(column.to_string(), test)]]);
        let column = |expr: &Expr| self.column(expr).map(|(column, _)| column.to_string());
        let boolean = |expr: &Expr, value: bool| {
            let (column, data_type) = self.column(expr)?;
            (*data_type == DataType::Boolean).then(|| one(column, Test::Equals(value.into())))?
        };
        match condition {
            Expr::Alias(alias) => self.any_of(&alias.expr),
            // What is not known to be true is not true.
            Expr::Literal(ScalarValue::Boolean(value), _) => {
                Some(if *value == Some(true) { vec![Vec::new()] } else { Vec::new() })
            }
            Expr::Column(_) => boolean(condition, true),
            Expr::IsTrue(expr) => boolean(expr, true),
            Expr::Not(expr) | Expr::IsFalse(expr) => boolean(expr, false),
            Expr::IsNull(expr) => one(&column(expr)?, Test::IsNull),
            Expr::IsNotNull(expr) => one(&column(expr)?, Test::IsNotNull),
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                let (left, right) = (self.any_of(left)?, self.any_of(right)?);
                let both = |left: &All| {
                    let left = left.clone();
                    right.iter().map(move |right| left.iter().chain(right).cloned().collect())
                };
                (left.len() * right.len() <= MOST).then(|| left.iter().flat_map(both).collect())
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                let (mut either, right) = (self.any_of(left)?, self.any_of(right)?);
                either.extend(right);
                (either.len() <= MOST).then_some(either)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                self.compare(left, *op, right).or_else(|| self.compare(right, op.swap()?, left))
            }
            Expr::Between(Between { expr, negated: false, low, high }) => {
                let (from, to) =
                    (self.compare(expr, Operator::GtEq, low)?, self.compare(expr, Operator::LtEq, high)?);
                // A comparison has one test, or none if it is never true.
                let (from, to) = (from.into_iter().next(), to.into_iter().next());
                Some(from.zip(to).map(|(from, to)| [from, to].concat()).into_iter().collect())
            }
            Expr::InList(list) if !list.negated => {
                let equal = list.list.iter().map(|item| self.compare(&list.expr, Operator::Eq, item));
                let any: Vec<All> = equal.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
                (any.len() <= MOST).then_some(any)
            }
            Expr::Like(like) => self.begins(like),
            // What DataFusion makes of `LIKE '%'`.
            Expr::Case(Case { expr: Some(condition), when_then_expr, else_expr: None }) => {
                match &when_then_expr[..] {
                    [(when, then)] if is_true(when) && is_true(then) => self.any_of(condition),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A column of the table, or one that was widened to more bytes.
    fn column<'e>(&self, expr: &'e Expr) -> Option<(&'e str, &DataType)> {
        match expr {
            Expr::Column(column) => {
                let field = self.0.field_with_name(&column.name).ok()?;
                Some((&column.name, field.data_type()))
            }
            Expr::Cast(Cast { expr, field }) => {
                let (column, from) = self.column(expr)?;
                let to = field.data_type();
                // All whole numbers of the one type are those of the other.
                let keeps = match (Type::of(from)?, Type::of(to)?) {
                    (Type::Int(from), Type::Int(to)) | (Type::Unsigned(from), Type::Unsigned(to)) => {
                        from <= to
                    }
                    (Type::Unsigned(from), Type::Int(to)) => from < to,
                    _ => false,
                };
                (keeps && from.is_integer() && to.is_integer()).then_some((column, from))
            }
            _ => None,
        }
    }

    fn compare(&self, column: &Expr, op: Operator, literal: &Expr) -> Option<Vec<All>> {
        let (column, data_type) = self.column(column)?;
        let Expr::Literal(literal, _) = literal else { return None };
        if literal.is_null() {
            // Nothing is equal to a null, nor less.
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
        // From here to there it is equal.
        let (from, to) = match value(literal, data_type)? {
            // Other than in Arrow, a zero is equal to one with a sign.
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

    /// Texts with a given beginning lie between it and the next text of its length.
    fn begins(&self, like: &Like) -> Option<Vec<All>> {
        let (column, data_type) = self.column(&like.expr)?;
        let Expr::Literal(pattern, _) = &*like.pattern else { return None };
        let begins = pattern.try_as_str()??.strip_suffix('%')?;
        let is_plain = !begins.contains(['%', '_', '\\']) && like.escape_char.is_none();
        if like.negated || like.case_insensitive || !is_plain || Type::of(data_type) != Some(Type::Text) {
            return None;
        }
        let to = next(begins).map_or(Bound::Unbounded, |next| Bound::Excluded(next.into()));
        Some(vec![vec![(column.to_string(), Test::Between(Bound::Included(begins.into()), to))]])
    }
}

fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Float(value) if *value == 0.0)
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(true)), _))
}

/// The least text that is greater than all that begin so, if there is one.
fn next(begins: &str) -> Option<String> {
    let mut chars: Vec<char> = begins.chars().collect();
    while let Some(last) = chars.pop() {
        // The next number may be no letter: so are those from D800 to DFFF.
        let next = (last..=char::MAX).nth(1);
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

/// The value of a literal that a column of this type can be compared with; `None` for others, and for nulls.
pub(super) fn value(literal: &ScalarValue, data_type: &DataType) -> Option<Value> {
    let of = literal.data_type();
    let (is, column_is) = (Type::of(&of)?, Type::of(data_type)?);
    let alike =
        of == *data_type || [is, column_is] == [Type::Text; 2] || of.is_integer() && data_type.is_integer();
    if literal.is_null() || !alike {
        return None;
    }
    if is == Type::Text {
        return literal.try_as_str()?.map(Value::from);
    }
    let word = is.words(&literal.to_array().ok()?)[0];
    Some(match is.kind() {
        _ if is == Type::Bool => Value::Bool(word != 0),
        Kind::Int => Value::Int(word.cast_signed()),
        Kind::Float => Value::Float(f64::from_bits(word)),
        Kind::Unsigned | Kind::Prefix => Value::Unsigned(word),
    })
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn the_next_text_is_greater_than_all_that_begin_so() {
        let next = |begins| next(begins).unwrap_or_default();
        assert_eq!([next("a"), next("az"), next("é")], ["b", "a{", "ê"]);
        // Between these two numbers are none of letters.
        assert_eq!(next("a\u{d7ff}"), "a\u{e000}");
        assert_eq!([next("a\u{10ffff}"), next("\u{10ffff}"), next("")], ["b", "", ""]);
    }
}
