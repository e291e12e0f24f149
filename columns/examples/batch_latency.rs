//! Measures the latency of batches of several kinds: points, ranges, and mixtures.
//!
//! ```sh
//! cargo run --release -p xtasking-columns --example batch_latency -- \
//!     [rows] [requests] [turns] [chunk rows...] [kinds...]
//! ```
//!
//! With several chunk sizes, it measures a table for each.

#![forbid(unsafe_code)]

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::error::Error;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::Runtime;
use xtasking_columns::{Aggregate, Batch, Change, Filter, Query, Table};

/// The name of each column, and its number of distinct values.
const COLUMNS: [(&str, u64); 12] = [
    ("code", 700_000),
    ("name", 100_000),
    ("carrier", 200),
    ("flight", 5_000),
    ("origin", 3_000),
    ("destination", 3_000),
    ("day", 330),
    ("class", 5),
    ("minute", 500_000),
    ("office", 20_000),
    ("fare", 100_000),
    ("flags", 1 << 20),
];

/// Returns a pseudorandom number.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

fn value(row: u64, column: usize) -> i64 {
    (mixed(row * 16 + column as u64) % COLUMNS[column].1) as i64
}

fn rows(schema: &SchemaRef, rows: Range<u64>) -> Result<RecordBatch, Box<dyn Error>> {
    let column = |column| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| value(row, column))))
    };
    Ok(RecordBatch::try_new(schema.clone(), (0..COLUMNS.len()).map(column).collect())?)
}

/// Returns a value that some row has in a column.
fn some(column: usize, number: u64) -> i64 {
    value(mixed(number) % 100_000, column)
}

fn point(number: u64) -> Query {
    Query::rows(Filter::all().equals("code", some(0, number)), ["name", "flight", "day", "fare"])
}

fn range(number: u64) -> Query {
    let minute = some(8, number);
    Query::rows(Filter::all().between("minute", minute..minute + 5), ["code", "office"])
}

fn several(number: u64) -> Query {
    let day = some(6, number);
    match number % 4 {
        0 => {
            Query::rows(Filter::all().equals("flight", some(3, number)).equals("day", day), ["code", "name"])
        }
        1 => Query::rows(
            Filter::all().equals("name", some(1, number)).between("day", day..day + 7),
            ["code", "flight", "day"],
        ),
        2 => {
            let minute = some(8, number);
            let office = Filter::all().equals("office", some(9, number));
            Query::rows(office.between("minute", minute..minute + 5000), ["code"])
        }
        _ => {
            let route = Filter::all().equals("origin", some(4, number)).between("day", day..day + 30);
            Query::aggregates(route, [Aggregate::Count, Aggregate::Sum("fare".into())])
        }
    }
}

fn half(number: u64) -> Query {
    if number.is_multiple_of(2) { point(number) } else { several(number / 2) }
}

fn coarse(number: u64) -> Query {
    let day = some(6, number);
    let carrier = Filter::all().equals("carrier", some(2, number)).between("day", day..day + 7);
    Query::aggregates(carrier, [Aggregate::Count, Aggregate::Sum("fare".into())])
}

type Kind = (&'static str, fn(u64) -> Query, u64);
const KINDS: [Kind; 6] = [
    ("points", point, 0),
    ("points, 1 change in 8", point, 8),
    ("ranges", range, 0),
    ("several tests", several, 0),
    ("mixed, 1 change in 8", half, 8),
    ("coarse sums", coarse, 0),
];

fn batch(kind: &Kind, requests: u64, turn: u64) -> Batch {
    let mut batch = Batch::new();
    for number in 0..requests {
        let number = turn * requests + number;
        if kind.2 > 0 && number.is_multiple_of(kind.2) {
            let code = Filter::all().equals("code", some(0, number));
            batch.change(Change::Update(code, vec![("class".into(), Some(3.into()))]));
        } else {
            batch.query((kind.1)(number));
        }
    }
    batch
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (numbers, names): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| argument.parse::<u64>().is_ok());
    let mut numbers = numbers.into_iter().map(|number| number.parse::<u64>());
    let count = numbers.next().unwrap_or(Ok(500_000))?;
    let requests = numbers.next().unwrap_or(Ok(4096))?;
    let turns = numbers.next().unwrap_or(Ok(5))?;
    let is_meant = |kind: &&Kind| names.is_empty() || names.iter().any(|name| **name == kind.0);
    let schema: SchemaRef =
        Arc::new(Schema::new(COLUMNS.map(|(name, _)| Field::new(name, DataType::Int64, false)).to_vec()));
    let sizes: Vec<u64> = numbers.collect::<Result<_, _>>()?;
    println!("{count} rows, {requests} requests, medians of {turns} turns");
    for workers in [1, std::thread::available_parallelism()?.get()] {
        let rt = Runtime::builder().workers(workers).build()?;
        let table = || Table::builder(schema.clone());
        let tables = match sizes.is_empty() {
            true => vec![table().build(&rt)?],
            false => {
                let of_size = |&rows: &u64| table().chunk_rows(rows as usize).build(&rt);
                sizes.iter().map(of_size).collect::<Result<_, _>>()?
            }
        };
        for table in &tables {
            let began = Instant::now();
            for first in (0..count).step_by(1 << 16) {
                let mut load = Batch::new();
                load.insert(rows(&schema, first..count.min(first + (1 << 16)))?);
                table.run(&rt, load)?;
            }
            let rows = table.chunk_rows();
            println!("{workers} workers, chunks of {rows} rows, loaded in {:.2?}", began.elapsed());
        }
        for kind in KINDS.iter().filter(is_meant) {
            let mut times = vec![Vec::new(); tables.len()];
            for turn in 0..turns {
                // Alternate between the tables, so that disturbances of the machine affect all
                // alike.
                for (table, times) in tables.iter().zip(&mut times) {
                    let batch = batch(kind, requests, turn);
                    let began = Instant::now();
                    table.run(&rt, batch)?;
                    times.push(began.elapsed());
                }
            }
            for (table, times) in tables.iter().zip(times) {
                let (rows, least, time) = (table.chunk_rows(), times.iter().min().copied(), median(times));
                let each = requests as f64 / time.as_secs_f64();
                let least = least.unwrap_or_default();
                println!(
                    "  {:<24}{rows:>6}{time:>10.2?}{each:>12.0} requests a second, \
                     the fastest turn {least:.2?}",
                    kind.0
                );
            }
        }
    }
    Ok(())
}
