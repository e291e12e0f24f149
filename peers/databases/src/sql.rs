//! Requests as statements and as tables.

use xtasking_experiments::scan::bookings::column::FLYER;
use xtasking_experiments::scan::bookings::{COLUMNS, NULL};
use xtasking_experiments::scan::database::Digest;
use xtasking_experiments::scan::requests::{Batch, Gives, Kind, Query};

/// The statement that makes the table.
pub fn create() -> String {
    let column = |(place, name)| format!("{name} BIGINT{}", if place == FLYER { "" } else { " NOT NULL" });
    let columns: Vec<_> = COLUMNS.into_iter().enumerate().map(column).collect();
    format!("CREATE TABLE bookings ({})", columns.join(", "))
}

/// The statement that tells how many rows there are, and the sum of each column. Rows without a locator are none.
pub fn sums() -> String {
    let sums = COLUMNS.map(|name| format!("CAST(sum({name}) AS BIGINT) AS {name}"));
    format!("SELECT count(*) AS rows, {} FROM bookings WHERE pnr >= 0", sums.join(", "))
}

fn given(kind: Kind) -> String {
    match kind.shape().gives {
        Gives::Rows(columns) => {
            columns.iter().map(|&column| format!("b.{}", COLUMNS[column])).collect::<Vec<_>>().join(", ")
        }
        Gives::Totals => "count(*) AS rows, CAST(sum(b.fare) AS BIGINT) AS fares".to_string(),
    }
}

/// What a kind of query tests, each column with what `value` gives for the place of a value among those of a query.
fn tests(kind: Kind, value: impl Fn(usize) -> String) -> String {
    let shape = kind.shape();
    let equals = shape.equals.iter().enumerate();
    let mut tests: Vec<_> =
        equals.map(|(place, &column)| format!("b.{} = {}", COLUMNS[column], value(place))).collect();
    if let Some(column) = shape.between {
        let [low, high] = [0, 1].map(|end| value(shape.equals.len() + end));
        tests.push(format!("b.{} BETWEEN {low} AND {high}", COLUMNS[column]));
    }
    tests.join(" AND ")
}

/// The statement for one query of a kind. Its parameters are numbered, with this sign before them.
pub fn single(kind: Kind, sign: char) -> String {
    let tests = tests(kind, |place| format!("{sign}{}", place + 1));
    format!("SELECT {} FROM bookings b WHERE {tests}", given(kind))
}

/// The name of the table of all queries of a kind.
pub fn asked(kind: Kind) -> String {
    format!("asked_{kind:?}").to_lowercase()
}

/// Its columns: the place among the batch's queries, and the values.
pub fn asked_columns(kind: Kind) -> Vec<String> {
    let shape = kind.shape();
    let count = shape.equals.len() + 2 * usize::from(shape.between.is_some());
    std::iter::once("id".to_string()).chain((0..count).map(|place| format!("v{place}"))).collect()
}

/// The statement for all queries of a kind, which are in that table.
pub fn joined(kind: Kind) -> String {
    let tests = tests(kind, |place| format!("q.v{place}"));
    let group = if kind.shape().gives == Gives::Totals { " GROUP BY q.id" } else { "" };
    format!("SELECT q.id, {} FROM {} q JOIN bookings b ON {tests}{group}", given(kind), asked(kind))
}

/// The queries of each kind that the batch has, with their places.
pub fn by_kind(batch: &Batch) -> impl Iterator<Item = (Kind, Vec<(usize, &Query)>)> {
    Kind::EACH.into_iter().filter_map(|kind| {
        let queries = batch.queries.iter().enumerate().filter(|(_, query)| query.kind == kind);
        let queries: Vec<_> = queries.collect();
        (!queries.is_empty()).then_some((kind, queries))
    })
}

/// A column of the table of queries.
pub fn asked_column(queries: &[(usize, &Query)], column: usize) -> Vec<i64> {
    let value = |(id, query): &(usize, &Query)| match column {
        0 => *id as i64,
        _ => query.values[column - 1],
    };
    queries.iter().map(value).collect()
}

/// Answers of joins, row by row.
pub struct Gathered(Vec<Digest>);

impl Gathered {
    /// None yet.
    pub fn new(batch: &Batch) -> Self {
        Self(vec![Digest::default(); batch.queries.len()])
    }

    /// A row: the place of the query, and what is given.
    pub fn add(&mut self, id: i64, values: impl IntoIterator<Item = i64>) {
        self.0[id as usize].add(values);
    }

    /// What was answered. A join gives no totals of no rows.
    pub fn finish(self, batch: &Batch) -> Vec<u64> {
        let digest = |(digest, query): (Digest, &Query)| match query.kind.shape().gives {
            Gives::Totals if digest == Digest::default() => Digest::of_no_rows().finish(),
            _ => digest.finish(),
        };
        self.0.into_iter().zip(&batch.queries).map(digest).collect()
    }
}

/// A value that may be null.
pub fn or_null(value: Option<i64>) -> i64 {
    value.unwrap_or(NULL)
}
