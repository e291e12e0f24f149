//! Translates requests to statements and tables.

use xtasking_experiments::scan::bookings::column::FLYER;
use xtasking_experiments::scan::bookings::{COLUMNS, NULL};
use xtasking_experiments::scan::database::Digest;
use xtasking_experiments::scan::requests::{Batch, Output, Query, QueryKind};

/// Returns the statement that creates the table.
pub fn create() -> String {
    let column = |(index, name)| format!("{name} BIGINT{}", if index == FLYER { "" } else { " NOT NULL" });
    let columns: Vec<_> = COLUMNS.into_iter().enumerate().map(column).collect();
    format!("CREATE TABLE bookings ({})", columns.join(", "))
}

/// Returns the statement for the number of rows and the sum of each column. Rows without a locator
/// are deleted ones.
pub fn sums() -> String {
    let sums = COLUMNS.map(|name| format!("CAST(sum({name}) AS BIGINT) AS {name}"));
    format!("SELECT count(*) AS rows, {} FROM bookings WHERE pnr >= 0", sums.join(", "))
}

fn output_columns(kind: QueryKind) -> String {
    match kind.shape().output {
        Output::Rows(columns) => {
            columns.iter().map(|&column| format!("b.{}", COLUMNS[column])).collect::<Vec<_>>().join(", ")
        }
        Output::Totals => "count(*) AS rows, CAST(sum(b.fare) AS BIGINT) AS fares".to_string(),
    }
}

/// Returns the conditions of a kind; `value` maps the index of a value to its text.
fn conditions(kind: QueryKind, value: impl Fn(usize) -> String) -> String {
    let shape = kind.shape();
    let equals = shape.equals.iter().enumerate();
    let mut conditions: Vec<_> =
        equals.map(|(index, &column)| format!("b.{} = {}", COLUMNS[column], value(index))).collect();
    if let Some(column) = shape.between {
        let [low, high] = [0, 1].map(|end| value(shape.equals.len() + end));
        conditions.push(format!("b.{} BETWEEN {low} AND {high}", COLUMNS[column]));
    }
    conditions.join(" AND ")
}

/// Returns the statement for one query of a kind. Its parameters are numbered, behind `sign`.
pub fn single(kind: QueryKind, sign: char) -> String {
    let conditions = conditions(kind, |index| format!("{sign}{}", index + 1));
    format!("SELECT {} FROM bookings b WHERE {conditions}", output_columns(kind))
}

/// How the queries of a kind are joined with the bookings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// By the values compared for equality; ranges are tested afterwards.
    Plain,
    /// By bins of the range as well. A bin is about as wide as the ranges, so a query is in at most
    /// two.
    Bins,
}

/// Returns the name of the table of all queries of a kind.
pub fn query_table(kind: QueryKind) -> String {
    format!("queries_{kind:?}").to_lowercase()
}

impl Join {
    /// Returns the number of bits by which a value is shifted to its bin.
    fn shift(self, kind: QueryKind) -> Option<u32> {
        let is_range = self == Self::Bins && kind.shape().between.is_some();
        is_range.then(|| kind.span().cast_unsigned().next_power_of_two().ilog2())
    }

    /// Returns the column names of the table of queries: the index of the query, the values, and
    /// perhaps the bin.
    pub fn names(self, kind: QueryKind) -> Vec<String> {
        let shape = kind.shape();
        let count = shape.equals.len() + 2 * usize::from(shape.between.is_some());
        let values = (0..count).map(|index| format!("v{index}"));
        let bin = self.shift(kind).map(|_| "bin".to_string());
        ["id".to_string()].into_iter().chain(values).chain(bin).collect()
    }

    /// Returns the columns of the table of these queries.
    pub fn columns(self, kind: QueryKind, queries: &[(usize, &Query)]) -> Vec<Vec<i64>> {
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

    /// Returns the statement for all queries of a kind, which are in the table.
    pub fn statement(self, kind: QueryKind) -> String {
        let shape = kind.shape();
        let mut conditions = conditions(kind, |index| format!("q.v{index}"));
        if let Some((column, shift)) = shape.between.zip(self.shift(kind)) {
            conditions += &format!(" AND b.{} >> {shift} = q.bin", COLUMNS[column]);
        }
        let group = if shape.output == Output::Totals { " GROUP BY q.id" } else { "" };
        format!(
            "SELECT q.id, {} FROM {} q JOIN bookings b ON {conditions}{group}",
            output_columns(kind),
            query_table(kind)
        )
    }
}

/// Groups the queries of a batch by kind, with their indexes.
pub fn by_kind(batch: &Batch) -> impl Iterator<Item = (QueryKind, Vec<(usize, &Query)>)> {
    QueryKind::EACH.into_iter().filter_map(|kind| {
        let queries = batch.queries.iter().enumerate().filter(|(_, query)| query.kind == kind);
        let queries: Vec<_> = queries.collect();
        (!queries.is_empty()).then_some((kind, queries))
    })
}

/// Returns the digest of an answer, given the values of its rows.
pub fn digest<R: Iterator<Item = i64>>(rows: impl Iterator<Item = R>) -> u64 {
    let mut digest = Digest::default();
    rows.for_each(|row| digest.add(row));
    digest.finish()
}

/// Returns the digest of the answer to each query of a batch, given all rows of its joins: each row
/// begins with the index of its query. A join returns no row for totals of no rows.
pub fn join_digests<R: Iterator<Item = i64>>(
    batch: &Batch,
    rows: impl Iterator<Item = R>,
) -> Result<Vec<u64>, String> {
    let mut digests = vec![Digest::default(); batch.queries.len()];
    for mut row in rows {
        let id = row.next().ok_or("the answer has no columns")?;
        digests[id as usize].add(row);
    }
    let finish = |(digest, query): (Digest, &Query)| match query.kind.shape().output {
        Output::Totals if digest == Digest::default() => Digest::of_no_rows().finish(),
        _ => digest.finish(),
    };
    Ok(digests.into_iter().zip(&batch.queries).map(finish).collect())
}

/// Replaces a missing value by [`NULL`].
pub fn or_null(value: Option<i64>) -> i64 {
    value.unwrap_or(NULL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_experiments::scan::bookings::Bookings;
    use xtasking_experiments::scan::requests::{QueryMix, Turn};

    #[test]
    fn every_value_of_a_range_is_in_one_of_its_bins() {
        let bookings = Bookings::new(5_000, 1);
        let turn = Turn {
            number: 1,
            first: bookings.count(),
            mix: QueryMix::Ranges,
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
        assert_eq!(Join::Bins.statement(QueryKind::Flight), Join::Plain.statement(QueryKind::Flight));
        assert_eq!(
            Join::Bins.statement(QueryKind::Origin),
            "SELECT q.id, count(*) AS rows, CAST(sum(b.fare) AS BIGINT) AS fares FROM queries_origin q \
             JOIN bookings b ON b.origin = q.v0 AND b.departure BETWEEN q.v1 AND q.v2 \
             AND b.departure >> 3 = q.bin \
             GROUP BY q.id"
        );
    }
}
