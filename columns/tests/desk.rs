//! Single requests of many threads, which a desk collects into batches.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use xtasking::Runtime;
use xtasking::platform::Simulation;
use xtasking_columns::{Aggregate, Change, Desk, Failure, Filter, Query, Table, Terms};

fn schema() -> SchemaRef {
    Arc::new(Schema::new(["key", "value"].map(|name| Field::new(name, DataType::Int64, false)).to_vec()))
}

fn row(key: i64, value: i64) -> Change {
    let columns = [key, value].map(|value| -> ArrayRef { Arc::new(Int64Array::from(vec![value])) });
    Change::Insert(RecordBatch::try_new(schema(), columns.to_vec()).unwrap())
}

fn of(key: i64) -> Query {
    Query::rows(Filter::all().equals("key", key), ["value"])
}

fn values(rows: &RecordBatch) -> Vec<i64> {
    rows.column(0).as_primitive::<Int64Type>().values().to_vec()
}

fn open(terms: Terms) -> (Arc<Runtime>, Desk) {
    let rt = Arc::new(Runtime::builder().workers(2).build().unwrap());
    let table = Arc::new(Table::new(&rt, schema(), 2).unwrap());
    let desk = Desk::open(&rt, &table, terms).unwrap();
    (rt, desk)
}

/// Each thread reads what it has written, and everybody gets an answer of their own.
#[test]
fn requests_of_many_threads_are_answered() {
    for terms in [
        Terms::default(),
        Terms::default().most(1),
        Terms::default().most(7).wait(Duration::from_millis(1)),
        Terms::default().promise(Duration::from_secs(3600)),
    ] {
        let (_rt, desk) = open(terms);
        thread::scope(|scope| {
            for number in 0..4i64 {
                let desk = &desk;
                scope.spawn(move || {
                    for turn in 0..50 {
                        let key = turn * 4 + number;
                        let inserted = desk.change(row(key, 1));
                        let set = vec![("value".into(), Some((key * 10).into()))];
                        let changed = desk.change(Change::Update(Filter::all().equals("key", key), set));
                        let found = desk.query(of(key));
                        let wrong = desk.query(Query::rows(Filter::all(), ["nothing"]));
                        assert_eq!(values(&found.join().unwrap().unwrap()), [key * 10]);
                        assert_eq!((inserted.join().unwrap(), changed.join().unwrap()), (Ok(1), Ok(1)));
                        assert_eq!(wrong.join().unwrap(), Err(Failure::NoColumn("nothing".to_string())));
                    }
                });
            }
        });
        let count = desk.query(Query::aggregates(Filter::all(), [Aggregate::Count]));
        assert_eq!(values(&count.join().unwrap().unwrap()), [200]);
    }
}

#[test]
fn a_batch_waits_for_others_as_long_as_it_may() {
    let (_rt, desk) = open(Terms::default().wait(Duration::from_millis(50)));
    let began = Instant::now();
    desk.change(row(1, 1)).join().unwrap().unwrap();
    assert!(began.elapsed() >= Duration::from_millis(50));
    // Or until there are enough.
    let (_rt, desk) = open(Terms::default().wait(Duration::MAX).most(3));
    let handles = [(); 3].map(|()| desk.change(row(1, 1)));
    handles.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), Ok(1)));
}

#[test]
fn what_was_handed_in_is_served_though_the_desk_closes() {
    let (_rt, desk) = open(Terms::default().wait(Duration::from_secs(3600)));
    let handles: Vec<_> = (0..100).map(|key| desk.change(row(key, key))).collect();
    let found = desk.query(of(7));
    drop(desk);
    handles.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), Ok(1)));
    assert_eq!(values(&found.join().unwrap().unwrap()), [7]);
}

/// Nobody would drive it while the desk waits.
#[test]
fn a_simulation_has_no_desk() {
    let rt = Arc::new(Runtime::builder().platform(Simulation::new(2, 7)).build().unwrap());
    let table = Arc::new(Table::new(&rt, schema(), 2).unwrap());
    let refused = Desk::open(&rt, &table, Terms::default()).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
    assert!(refused.to_string().contains("send batches to the table"), "{refused}");
}

/// A promise that nobody could keep is not made, and what is refused changes nothing.
#[test]
fn what_cannot_be_in_time_is_refused() {
    let (_rt, desk) = open(Terms::default().promise(Duration::from_nanos(1)).most(1));
    let (mut served, mut refused) = (0, 0);
    for key in 0..100 {
        match desk.change(row(key, 0)).join().unwrap() {
            Ok(rows) => served += rows,
            Err(Failure::Refused { predicted, promise }) => {
                assert!(predicted > promise);
                refused += 1;
            }
            Err(failure) => panic!("{failure}"),
        }
    }
    assert_eq!(served + refused, 100);
    assert!(refused > 0, "nothing takes a nanosecond");
}
