//! Runs SQLite in memory, with an index for each kind of query: one request after another, by
//! prepared statements, in one transaction for each batch.

use crate::Error;
use crate::sql::{create, or_null, single, sums};
use rusqlite::{Connection, params_from_iter};
use xtasking_experiments::scan::bookings::column::FARE;
use xtasking_experiments::scan::bookings::{COLUMNS, NULL, Row};
use xtasking_experiments::scan::database::{Answer, Database};
use xtasking_experiments::scan::requests::{Batch, Change, Output, QueryKind};

pub struct Sqlite(Connection);

const INSERT: &str =
    "INSERT INTO bookings VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

impl Sqlite {
    pub fn start() -> Result<Self, Error> {
        let connection = Connection::open_in_memory()?;
        // Durability is off: the data are not needed after the process.
        connection.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE",
        )?;
        connection.set_prepared_statement_cache_capacity(64);
        connection.execute_batch(&create())?;
        Ok(Self(connection))
    }

    fn insert(&self, rows: &[Row]) -> rusqlite::Result<()> {
        let mut insert = self.0.prepare_cached(INSERT)?;
        for row in rows {
            insert.execute(params_from_iter(row.iter().map(|&value| (value != NULL).then_some(value))))?;
        }
        Ok(())
    }

    fn change(&self, change: &Change) -> rusqlite::Result<()> {
        let execute = |text: &str, values: &[i64]| {
            self.0.prepare_cached(text)?.execute(params_from_iter(values)).map(drop)
        };
        match *change {
            Change::Insert(ref rows) => self.insert(rows),
            Change::Status { pnr, status } => {
                execute("UPDATE bookings SET status = ?2 WHERE pnr = ?1", &[pnr, status])
            }
            Change::Move { pnr, from, flight, to } => {
                let text =
                    "UPDATE bookings SET flight = ?3, departure = ?4 WHERE pnr = ?1 AND departure = ?2";
                execute(text, &[pnr, from, flight, to])
            }
            Change::Delete { pnr } => execute("DELETE FROM bookings WHERE pnr = ?1", &[pnr]),
        }
    }

    fn read(&self, text: &str, parameters: &[i64], width: usize) -> rusqlite::Result<Answer> {
        let mut statement = self.0.prepare_cached(text)?;
        let mut rows = statement.query(params_from_iter(parameters))?;
        let mut values = Vec::new();
        while let Some(row) = rows.next()? {
            for column in 0..width {
                values.push(or_null(row.get(column)?));
            }
        }
        Ok(Answer { values, width })
    }

    fn within<T>(&self, work: impl FnOnce() -> rusqlite::Result<T>) -> Result<T, String> {
        let attempt = || {
            self.0.prepare_cached("BEGIN")?.execute(())?;
            let result = work()?;
            self.0.prepare_cached("COMMIT")?.execute(())?;
            Ok(result)
        };
        attempt().map_err(|error: rusqlite::Error| error.to_string())
    }
}

impl Database for Sqlite {
    type Answers = Vec<Answer>;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        self.within(|| self.insert(rows))
    }

    fn complete(&mut self) -> Result<(), String> {
        for kind in QueryKind::EACH {
            let shape = kind.shape();
            // The index covers totals.
            let more = (shape.output == Output::Totals).then_some(FARE);
            let columns = shape.equals.iter().copied().chain(shape.between).chain(more);
            let columns: Vec<_> = columns.map(|column| COLUMNS[column]).collect();
            let text = format!("CREATE INDEX by_{kind:?} ON bookings ({})", columns.join(", "));
            self.0.execute_batch(&text).map_err(|error| error.to_string())?;
        }
        self.0.execute_batch("ANALYZE").map_err(|error| error.to_string())
    }

    fn serve(&mut self, batch: &Batch) -> Result<Vec<Answer>, String> {
        let texts = QueryKind::EACH.map(|kind| single(kind, '?'));
        self.within(|| {
            batch.changes.iter().try_for_each(|change| self.change(change))?;
            let answer = |query: &xtasking_experiments::scan::requests::Query| {
                let width = match query.kind.shape().output {
                    Output::Rows(columns) => columns.len(),
                    Output::Totals => 2,
                };
                self.read(&texts[query.kind as usize], &query.values, width)
            };
            batch.queries.iter().map(answer).collect()
        })
    }

    fn digests(&self, _: &Batch, answers: Vec<Answer>) -> Result<Vec<u64>, String> {
        Ok(answers.iter().map(Answer::digest).collect())
    }

    fn sums(&mut self) -> Result<Vec<i64>, String> {
        let answer = self.read(&sums(), &[], 1 + COLUMNS.len());
        answer.map(|answer| answer.values).map_err(|error| error.to_string())
    }
}
