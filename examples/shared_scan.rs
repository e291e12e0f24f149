//! Answers many queries with one scan: a batch of queries by different columns of a table of
//! bookings.
//!
//! `cargo run --release -p xtasking-examples --example shared_scan -- [bookings]`

#![forbid(unsafe_code)]

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;
use std::time::Instant;
use xtasking::Runtime;
use xtasking_columns::{Aggregate, Batch, Change, Filter, Query, Table};

const COLUMNS: [&str; 5] = ["booking", "flight", "day", "fare", "status"];

/// Returns a pseudorandom number.
fn mixed(number: i64) -> i64 {
    (number.wrapping_mul(0x5851_f42d_4c95_7f2d) >> 20).wrapping_abs()
}

fn bookings(schema: &SchemaRef, numbers: std::ops::Range<i64>) -> RecordBatch {
    let column = |value: &dyn Fn(i64) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(numbers.clone().map(value)))
    };
    let columns = vec![
        // Each booking has three passengers.
        column(&|number| number / 3),
        column(&|number| mixed(number) % 2000),
        column(&|number| mixed(number + 1) % 330),
        column(&|number| 50 + mixed(number + 2) % 950),
        column(&|number| mixed(number + 3) % 5),
    ];
    RecordBatch::try_new(schema.clone(), columns).expect("the columns have equal lengths")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(100_000), |rows| rows.parse::<i64>())?;
    let rt = Runtime::new()?;
    let schema: SchemaRef =
        Arc::new(Schema::new(COLUMNS.map(|name| Field::new(name, DataType::Int64, false)).to_vec()));
    let table = Table::new(&rt, schema.clone(), rt.workers())?;
    let mut load = Batch::new();
    load.insert(bookings(&schema, 0..rows));
    table.run(&rt, load)?;

    let mut batch = Batch::new();
    let cancel = Filter::all().equals("booking", 7);
    batch.change(Change::Update(cancel, vec![("status".into(), Some(4.into()))]));
    let cancelled = Filter::all().equals("booking", 7).equals("status", 4);
    let seen = batch.query(Query::aggregates(cancelled, [Aggregate::Count]));
    for number in 0..4096 {
        let number: i64 = number;
        batch.query(match number % 4 {
            0 | 1 => {
                let booking = Filter::all().equals("booking", mixed(number) % (rows / 3));
                Query::rows(booking, ["flight", "day", "fare"])
            }
            2 => {
                let flight = Filter::all().equals("flight", number % 2000).between("day", 100..107);
                Query::rows(flight, ["booking"])
            }
            _ => {
                let dear = Filter::all().equals("day", number % 330).between("fare", 900..);
                Query::aggregates(dear, [Aggregate::Count, Aggregate::Sum("fare".into())])
            }
        });
    }
    let requests = 2 + 4096;
    let began = Instant::now();
    let answers = table.run(&rt, batch)?;
    let time = began.elapsed();
    let count = answers.rows(seen)?.column(0).as_primitive::<Int64Type>().value(0);
    assert_eq!(count, 3, "the query sees all passengers cancelled in the same batch");
    println!(
        "{requests} requests over {rows} bookings in {time:.1?}: {:.0} requests a second",
        requests as f64 / time.as_secs_f64()
    );
    Ok(())
}
