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

/// How the queries of a kind are joined with the bookings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// By the values that must be equal; what has to lie in a range is tested then.
    Plain,
    /// By bins of the range as well: each is about as wide as the ranges are, so that a query is in two of them at the most.
    Bins,
}

/// The name of the table of all queries of a kind.
pub fn asked(kind: Kind) -> String {
    format!("asked_{kind:?}").to_lowercase()
}

impl Join {
    /// By how many bits a value is shifted to give its bin.
    fn shift(self, kind: Kind) -> Option<u32> {
        let is_range = self == Self::Bins && kind.shape().between.is_some();
        is_range.then(|| kind.span().cast_unsigned().next_power_of_two().ilog2())
    }

    /// The columns of the table of queries: the place among the batch's queries, the values, and perhaps the bin.
    pub fn names(self, kind: Kind) -> Vec<String> {
        let shape = kind.shape();
        let count = shape.equals.len() + 2 * usize::from(shape.between.is_some());
        let values = (0..count).map(|place| format!("v{place}"));
        let bin = self.shift(kind).map(|_| "bin".to_string());
        ["id".to_string()].into_iter().chain(values).chain(bin).collect()
    }

    /// The columns of the table of these queries.
    pub fn columns(self, kind: Kind, queries: &[(usize, &Query)]) -> Vec<Vec<i64>> {
        let mut columns = vec![Vec::new(); self.names(kind).len()];
        for (id, query) in queries {
            let row = [*id as i64].into_iter().chain(query.values.iter().copied());
            let mut add = |bin: Option<i64>| {
                columns.iter_mut().zip(row.clone().chain(bin)).for_each(|(column, value)| column.push(value));
            };
            match (self.shift(kind), query.between()) {
                (Some(shift), Some((_, low, high))) => {
                    (low >> shift..=high >> shift).for_each(|bin| add(Some(bin)))
                }
                _ => add(None),
            }
        }
        columns
    }

    /// The statement for all queries of a kind, which are in that table.
    pub fn statement(self, kind: Kind) -> String {
        let shape = kind.shape();
        let mut tests = tests(kind, |place| format!("q.v{place}"));
        if let Some((column, shift)) = shape.between.zip(self.shift(kind)) {
            tests += &format!(" AND b.{} >> {shift} = q.bin", COLUMNS[column]);
        }
        let group = if shape.gives == Gives::Totals { " GROUP BY q.id" } else { "" };
        format!("SELECT q.id, {} FROM {} q JOIN bookings b ON {tests}{group}", given(kind), asked(kind))
    }
}

/// The queries of each kind that the batch has, with their places.
pub fn by_kind(batch: &Batch) -> impl Iterator<Item = (Kind, Vec<(usize, &Query)>)> {
    Kind::EACH.into_iter().filter_map(|kind| {
        let queries = batch.queries.iter().enumerate().filter(|(_, query)| query.kind == kind);
        let queries: Vec<_> = queries.collect();
        (!queries.is_empty()).then_some((kind, queries))
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_experiments::scan::bookings::Bookings;
    use xtasking_experiments::scan::requests::{Mix, Turn};

    #[test]
    fn every_value_of_a_range_is_in_one_of_its_bins() {
        let bookings = Bookings::new(5_000, 1);
        let turn = Turn {
            number: 1,
            first: bookings.count(),
            mix: Mix::Ranges,
            batches: 1,
            requests: 300,
            changes: 0,
        };
        let (batches, _) = turn.batches(&bookings);
        for (kind, queries) in by_kind(&batches[0]) {
            let columns = Join::Bins.columns(kind, &queries);
            assert_eq!(columns.len(), Join::Bins.names(kind).len());
            let shift = Join::Bins.shift(kind).unwrap();
            for (id, query) in &queries {
                let (_, low, high) = query.between().unwrap();
                let rows = (0..columns[0].len()).filter(|&row| columns[0][row] == *id as i64);
                let bins: Vec<_> = rows.map(|row| columns.last().unwrap()[row]).collect();
                assert!((1..=2).contains(&bins.len()));
                for value in low..=high {
                    assert_eq!(bins.iter().filter(|&&bin| bin == value >> shift).count(), 1, "{query:?}");
                }
            }
        }
    }

    #[test]
    fn a_kind_without_a_range_has_no_bins() {
        assert_eq!(Join::Bins.statement(Kind::Flight), Join::Plain.statement(Kind::Flight));
        assert_eq!(
            Join::Bins.statement(Kind::Origin),
            "SELECT q.id, count(*) AS rows, CAST(sum(b.fare) AS BIGINT) AS fares FROM asked_origin q \
             JOIN bookings b ON b.origin = q.v0 AND b.departure BETWEEN q.v1 AND q.v2 AND b.departure >> 3 = q.bin \
             GROUP BY q.id"
        );
    }
}
