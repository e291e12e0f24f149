//! A batcher collects single requests of many threads into batches.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::Runtime;
use xtasking::platform::Simulation;
use xtasking_columns::{Aggregate, BatchPolicy, Batcher, Change, Failure, Filter, Query, Table};
use xtasking_testing::side_by_side;

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

fn open(policy: BatchPolicy) -> (Arc<Runtime>, Batcher) {
    let rt = Arc::new(Runtime::builder().workers(2).build().unwrap());
    let table = Arc::new(Table::new(&rt, schema(), 2).unwrap());
    let batcher = Batcher::open(&rt, &table, policy).unwrap();
    (rt, batcher)
}

/// Each thread reads its own writes, and gets its own answers.
#[test]
fn requests_of_many_threads_are_answered() {
    for policy in [
        BatchPolicy::default(),
        BatchPolicy::default().max_requests(1),
        BatchPolicy::default().max_requests(7).max_delay(Duration::from_millis(1)),
        BatchPolicy::default().deadline(Duration::from_secs(3600)),
    ] {
        let (_rt, batcher) = open(policy);
        side_by_side((0..4i64).map(|number| {
            let batcher = &batcher;
            move || {
                for turn in 0..50 {
                    let key = turn * 4 + number;
                    let inserted = batcher.change(row(key, 1));
                    let set = vec![("value".into(), Some((key * 10).into()))];
                    let changed = batcher.change(Change::Update(Filter::all().equals("key", key), set));
                    let found = batcher.query(of(key));
                    let wrong = batcher.query(Query::rows(Filter::all(), ["nothing"]));
                    assert_eq!(values(&found.join().unwrap().unwrap()), [key * 10]);
                    assert_eq!((inserted.join().unwrap(), changed.join().unwrap()), (Ok(1), Ok(1)));
                    assert_eq!(wrong.join().unwrap(), Err(Failure::NoColumn("nothing".to_string())));
                }
            }
        }));
        let count = batcher.query(Query::aggregates(Filter::all(), [Aggregate::Count]));
        assert_eq!(values(&count.join().unwrap().unwrap()), [200]);
    }
}

#[test]
fn a_batch_waits_for_its_delay_or_until_it_is_full() {
    let (_rt, batcher) = open(BatchPolicy::default().max_delay(Duration::from_millis(50)));
    let began = Instant::now();
    batcher.change(row(1, 1)).join().unwrap().unwrap();
    assert!(began.elapsed() >= Duration::from_millis(50));
    // Or until the batch is full.
    let (_rt, batcher) = open(BatchPolicy::default().max_delay(Duration::MAX).max_requests(3));
    let handles = [(); 3].map(|()| batcher.change(row(1, 1)));
    handles.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), Ok(1)));
}

#[test]
fn pending_requests_are_served_when_the_batcher_is_dropped() {
    let (_rt, batcher) = open(BatchPolicy::default().max_delay(Duration::from_secs(3600)));
    let handles: Vec<_> = (0..100).map(|key| batcher.change(row(key, key))).collect();
    let found = batcher.query(of(7));
    drop(batcher);
    handles.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), Ok(1)));
    assert_eq!(values(&found.join().unwrap().unwrap()), [7]);
}

/// A worker that drops the batcher does not wait for batches that need this worker.
#[test]
fn a_worker_can_drop_the_batcher() {
    let rt = Arc::new(Runtime::builder().workers(1).build().unwrap());
    let table = Arc::new(Table::new(&rt, schema(), 1).unwrap());
    let policy = BatchPolicy::default().max_delay(Duration::from_secs(3600));
    let batcher = Batcher::open(&rt, &table, policy).unwrap();
    let found = batcher.query(of(7));
    rt.task(()).spawn(move |(), _| drop(batcher));
    let found = found.join_timeout(Duration::from_secs(60)).expect("the worker is free");
    assert_eq!(found.unwrap().unwrap().num_rows(), 0);
}

/// The longest delay exceeds every deadline, and no prediction overflows.
#[test]
fn the_longest_delay_has_a_deadline() {
    let policy = BatchPolicy::default().max_delay(Duration::MAX).max_requests(1);
    let (_rt, batcher) = open(policy.deadline(Duration::from_secs(3600)));
    for key in 0..10 {
        let answer = batcher.change(row(key, 0)).join().unwrap();
        assert!(matches!(answer, Ok(1) | Err(Failure::Refused { .. })), "{answer:?}");
    }
}

/// No simulation would drive the runtime while the batcher waits.
#[test]
fn a_simulation_has_no_batcher() {
    let rt = Arc::new(Runtime::builder().platform(Simulation::new(2, 7)).build().unwrap());
    let table = Arc::new(Table::new(&rt, schema(), 2).unwrap());
    let refused = Batcher::open(&rt, &table, BatchPolicy::default()).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
    assert!(refused.to_string().contains("send batches to the table instead"), "{refused}");
}

/// Requests that must miss their deadline are refused, and change nothing.
#[test]
fn requests_that_miss_their_deadline_are_refused() {
    let (_rt, batcher) = open(BatchPolicy::default().deadline(Duration::from_nanos(1)).max_requests(1));
    let (mut served, mut refused) = (0, 0);
    for key in 0..100 {
        match batcher.change(row(key, 0)).join().unwrap() {
            Ok(rows) => served += rows,
            Err(Failure::Refused { predicted, deadline }) => {
                assert!(predicted > deadline);
                refused += 1;
            }
            Err(failure) => panic!("{failure}"),
        }
    }
    assert_eq!(served + refused, 100);
    assert!(refused > 0, "no batch completes within a nanosecond");
}
