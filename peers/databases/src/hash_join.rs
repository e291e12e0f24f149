//! The hash join of `xtasking-bench join` by DuckDB: `databases duckdb-join BUILD PROBE SEED
//! THREADS` draws the same rows, joins them once, and prints the time and the result as a line of
//! JSON.

use crate::Error;
use crate::duckdb::open;
use duckdb::Connection;
use duckdb::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use duckdb::arrow::datatypes::{DataType, Field, Schema};
use serde::Serialize;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use xtasking_experiments::join::rows::{JoinRow, Matches, Sides, WARM_UP_ROWS};

/// The name of this case.
pub const CASE: &str = "duckdb-join";

/// The line that is printed.
#[derive(Serialize)]
pub struct Reply {
    case: &'static str,
    threads: usize,
    nanoseconds: u64,
    result: Matches,
}

/// Joins the rows of a seed.
pub fn run(build: usize, probe: usize, seed: u64, threads: usize) -> Result<Reply, Error> {
    let connection = open(threads)?;
    let sides = |name: &str, (sides, _): (Sides, Matches)| {
        load(&connection, &format!("{name}_build"), &sides.build)?;
        load(&connection, &format!("{name}_probe"), &sides.probe)
    };
    sides("warm_up", Sides::new(WARM_UP_ROWS, WARM_UP_ROWS, seed))?;
    sides("measured", Sides::new(build, probe, seed))?;
    join(&connection, "warm_up")?;
    // Threads that have nothing to do sleep, as before the joins of all others.
    sleep(Duration::from_millis(2));
    let began = Instant::now();
    let result = join(&connection, "measured")?;
    let nanoseconds = began.elapsed().as_nanos() as u64;
    Ok(Reply { case: CASE, threads, nanoseconds, result })
}

/// Creates a table of rows. Words are stored as signed numbers, which DuckDB adds up faster.
fn load(connection: &Connection, table: &str, rows: &[JoinRow]) -> Result<(), Error> {
    /// Rows that are added at a time.
    const BATCH: usize = 1 << 20;
    connection
        .execute_batch(&format!("CREATE TABLE {table} (key BIGINT NOT NULL, payload BIGINT NOT NULL)"))?;
    let field = |name| Field::new(name, DataType::Int64, false);
    let schema = Arc::new(Schema::new(vec![field("key"), field("payload")]));
    let mut appender = connection.appender(table)?;
    for rows in rows.chunks(BATCH) {
        let column = |word: fn(&JoinRow) -> u64| -> ArrayRef {
            Arc::new(rows.iter().map(|row| Some(word(row).cast_signed())).collect::<Int64Array>())
        };
        let columns = vec![column(|row| row.key), column(|row| row.payload)];
        appender.append_record_batch(RecordBatch::try_new(schema.clone(), columns)?)?;
    }
    Ok(appender.flush()?)
}

/// Joins two tables by their keys.
fn join(connection: &Connection, name: &str) -> Result<Matches, Error> {
    let statement = format!(
        "SELECT count(*), sum(b.payload), sum(p.payload) \
         FROM {name}_probe p JOIN {name}_build b ON p.key = b.key"
    );
    Ok(connection.query_row(&statement, [], |row| {
        // The sums have 128 bits, and none at all if there is no match.
        let sum =
            |column: usize| Ok::<_, duckdb::Error>(row.get::<_, Option<i128>>(column)?.unwrap_or(0) as u64);
        let count = row.get::<_, i64>(0)?.cast_unsigned();
        Ok(Matches { count, sum: sum(1)?.wrapping_add(sum(2)?) })
    })?)
}
