//! Runs DuckDB in memory: by joins of a batch's requests with the table, or one request after
//! another.

use crate::Error;
use crate::sql::{Join, by_kind, create, digest, join_digests, or_null, query_table, single, sums};
use crate::waves::waves;
use duckdb::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use duckdb::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use duckdb::{Config, Connection, params_from_iter};
use std::sync::Arc;
use xtasking_experiments::scan::bookings::{COLUMNS, NULL, Row};
use xtasking_experiments::scan::database::Database;
use xtasking_experiments::scan::requests::{Batch, Change, QueryKind};

/// The connection.
struct DuckDb(Connection);

/// Joins a table of all queries of a kind in a batch with the bookings. Changes other than inserts
/// are applied in waves, by one statement each.
pub struct DuckDbJoin {
    duckdb: DuckDb,
    join: Join,
}

/// Runs one request after another, by prepared statements, in one transaction for each batch; with
/// an index by locator.
pub struct DuckDbSingle(DuckDb);

fn batch(names: &[String], columns: Vec<ArrayRef>) -> Result<RecordBatch, Error> {
    let field =
        |(name, column): (&String, &ArrayRef)| Field::new(name, DataType::Int64, column.is_nullable());
    let fields: Vec<_> = names.iter().zip(&columns).map(field).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

fn column(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter(values.into_iter().map(|value| (value != NULL).then_some(value))))
}

/// Returns the values of a row.
fn values(rows: &RecordBatch, row: usize) -> impl Iterator<Item = i64> + '_ {
    rows.columns().iter().map(move |column| {
        let column = column.as_primitive::<Int64Type>();
        or_null(column.is_valid(row).then(|| column.value(row)))
    })
}

/// The version that the crate is made for. Another library may be incompatible.
const VERSION: &str = "v1.5.6";

/// Opens an empty database in memory.
pub fn open(threads: usize) -> Result<Connection, Error> {
    let config = Config::default().threads(threads as i64)?.enable_autoload_extension(false)?;
    let connection = Connection::open_in_memory_with_flags(config)?;
    let version = connection.version()?;
    if version != VERSION {
        return Err(format!("libduckdb has version {version}; install {VERSION}").into());
    }
    Ok(connection)
}

impl DuckDb {
    fn start(threads: usize) -> Result<Self, Error> {
        let connection = open(threads)?;
        connection.set_prepared_statement_cache_capacity(64);
        connection.execute_batch(&create())?;
        Ok(Self(connection))
    }

    fn append<'a>(&self, rows: impl Iterator<Item = &'a Row> + Clone) -> Result<(), Error> {
        if rows.clone().next().is_none() {
            return Ok(());
        }
        let columns = (0..COLUMNS.len()).map(|place| column(rows.clone().map(|row| row[place])));
        self.fill("bookings", &COLUMNS.map(str::to_string), columns.collect())
    }

    /// Adds rows to a table.
    fn fill(&self, table: &str, names: &[String], columns: Vec<ArrayRef>) -> Result<(), Error> {
        let mut appender = self.0.appender(table)?;
        appender.append_record_batch(batch(names, columns)?)?;
        Ok(appender.flush()?)
    }

    fn execute(&self, text: &str, values: &[i64]) -> Result<(), Error> {
        self.0.prepare_cached(text)?.execute(params_from_iter(values))?;
        Ok(())
    }

    fn query(&self, text: &str, values: &[i64]) -> Result<Vec<RecordBatch>, Error> {
        Ok(self.0.prepare_cached(text)?.query_arrow(params_from_iter(values))?.collect())
    }

    fn within<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, String> {
        let attempt = || {
            self.execute("BEGIN", &[])?;
            let result = work()?;
            self.execute("COMMIT", &[])?;
            Ok(result)
        };
        attempt().map_err(|error: Error| error.to_string())
    }

    fn sums(&self) -> Result<Vec<i64>, String> {
        let rows = self.query(&sums(), &[]).map_err(|error| error.to_string())?;
        let row =
            rows.iter().find(|rows| rows.num_rows() == 1).ok_or("the query for sums returned no row")?;
        Ok(values(row, 0).collect())
    }
}

/// The columns of the table of a wave's changes; the first is the kind of change.
const CHANGES: [&str; 5] = ["change", "pnr", "since", "value", "day"];
const MERGE: &str = "MERGE INTO bookings b USING changes c ON b.pnr = c.pnr \
     WHEN MATCHED AND c.change = 0 THEN DELETE \
     WHEN MATCHED AND c.change = 1 THEN UPDATE SET status = c.value \
     WHEN MATCHED AND c.change = 2 AND b.departure = c.since \
     THEN UPDATE SET flight = c.value, departure = c.day";

impl DuckDbJoin {
    pub fn start(threads: usize, join: Join) -> Result<Self, Error> {
        let duckdb = DuckDb::start(threads)?;
        let table = |name: &str, columns: &[String]| {
            let columns: Vec<_> = columns.iter().map(|column| format!("{column} BIGINT NOT NULL")).collect();
            duckdb.0.execute_batch(&format!("CREATE TEMP TABLE {name} ({})", columns.join(", ")))
        };
        for kind in QueryKind::EACH {
            table(&query_table(kind), &join.names(kind))?;
        }
        table("changes", &CHANGES.map(str::to_string))?;
        Ok(Self { duckdb, join })
    }

    fn change(&self, wave: &[&Change]) -> Result<(), Error> {
        let mut inserted: Vec<&Row> = Vec::new();
        let mut changes: Vec<[i64; 5]> = Vec::new();
        for change in wave {
            match **change {
                Change::Insert(ref rows) => inserted.extend(rows),
                Change::Delete { pnr } => changes.push([0, pnr, 0, 0, 0]),
                Change::Status { pnr, status } => changes.push([1, pnr, 0, status, 0]),
                Change::Move { pnr, from, flight, to } => changes.push([2, pnr, from, flight, to]),
            }
        }
        if !changes.is_empty() {
            let of = |place| column(changes.iter().map(|change| change[place]));
            self.duckdb.fill(
                "changes",
                &CHANGES.map(str::to_string),
                (0..CHANGES.len()).map(of).collect(),
            )?;
            self.duckdb.execute(MERGE, &[])?;
            self.duckdb.execute("DELETE FROM changes", &[])?;
        }
        self.duckdb.append(inserted.into_iter())
    }

    fn answer(&self, batch: &Batch) -> Result<Vec<RecordBatch>, Error> {
        let mut answers = Vec::new();
        for (kind, queries) in by_kind(batch) {
            let columns = self.join.columns(kind, &queries).into_iter().map(column);
            self.duckdb.fill(&query_table(kind), &self.join.names(kind), columns.collect())?;
            answers.extend(self.duckdb.query(&self.join.statement(kind), &[])?);
            self.duckdb.execute(&format!("DELETE FROM {}", query_table(kind)), &[])?;
        }
        Ok(answers)
    }
}

impl Database for DuckDbJoin {
    type Answers = Vec<RecordBatch>;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        self.duckdb.append(rows.iter()).map_err(|error| error.to_string())
    }

    fn serve(&mut self, batch: &Batch) -> Result<Vec<RecordBatch>, String> {
        self.duckdb.within(|| {
            waves(&batch.changes).iter().try_for_each(|wave| self.change(wave))?;
            self.answer(batch)
        })
    }

    fn digests(&self, batch: &Batch, answers: Vec<RecordBatch>) -> Result<Vec<u64>, String> {
        let all = answers.iter().flat_map(|rows| (0..rows.num_rows()).map(move |row| values(rows, row)));
        join_digests(batch, all)
    }

    fn sums(&mut self) -> Result<Vec<i64>, String> {
        self.duckdb.sums()
    }
}

impl DuckDbSingle {
    pub fn start(threads: usize) -> Result<Self, Error> {
        Ok(Self(DuckDb::start(threads)?))
    }

    fn change(&self, change: &Change) -> Result<(), Error> {
        match *change {
            Change::Insert(ref rows) => {
                let marks = (1..=COLUMNS.len()).map(|place| format!("?{place}")).collect::<Vec<_>>();
                let mut insert = self
                    .0
                    .0
                    .prepare_cached(&format!("INSERT INTO bookings VALUES ({})", marks.join(", ")))?;
                for row in rows {
                    insert.execute(params_from_iter(
                        row.iter().map(|&value| (value != NULL).then_some(value)),
                    ))?;
                }
                Ok(())
            }
            Change::Status { pnr, status } => {
                self.0.execute("UPDATE bookings SET status = ?2 WHERE pnr = ?1", &[pnr, status])
            }
            Change::Move { pnr, from, flight, to } => self.0.execute(
                "UPDATE bookings SET flight = ?3, departure = ?4 WHERE pnr = ?1 AND departure = ?2",
                &[pnr, from, flight, to],
            ),
            Change::Delete { pnr } => self.0.execute("DELETE FROM bookings WHERE pnr = ?1", &[pnr]),
        }
    }
}

impl Database for DuckDbSingle {
    type Answers = Vec<Vec<RecordBatch>>;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        self.0.append(rows.iter()).map_err(|error| error.to_string())
    }

    fn complete(&mut self) -> Result<(), String> {
        self.0.execute("CREATE INDEX by_pnr ON bookings (pnr)", &[]).map_err(|error| error.to_string())
    }

    fn serve(&mut self, batch: &Batch) -> Result<Self::Answers, String> {
        let texts = QueryKind::EACH.map(|kind| single(kind, '?'));
        self.0.within(|| {
            batch.changes.iter().try_for_each(|change| self.change(change))?;
            let queries = batch.queries.iter();
            queries.map(|query| self.0.query(&texts[query.kind as usize], &query.values)).collect()
        })
    }

    fn digests(&self, _: &Batch, answers: Self::Answers) -> Result<Vec<u64>, String> {
        let of_answer = |answer: Vec<RecordBatch>| {
            digest(answer.iter().flat_map(|rows| (0..rows.num_rows()).map(move |row| values(rows, row))))
        };
        Ok(answers.into_iter().map(of_answer).collect())
    }

    fn sums(&mut self) -> Result<Vec<i64>, String> {
        self.0.sums()
    }
}
