//! Rows that move between partitions while batches arrive: every batch finds each row once.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use xtasking::platform::Simulation;
use xtasking::{Context, Handle, Runtime};
use xtasking_columns::{Aggregate, Answers, Batch, Change, Failure, Filter, Query, Table};
use xtasking_testing::{PATIENCE, lock};

fn schema() -> SchemaRef {
    let field = |name: &str, data_type| Field::new(name, data_type, false);
    Arc::new(Schema::new(vec![field("number", DataType::Int64), field("text", DataType::Utf8)]))
}

fn rows(numbers: Range<i64>) -> RecordBatch {
    let texts: StringArray = numbers.clone().map(|number| Some(format!("number {number}"))).collect();
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(numbers)), Arc::new(texts)];
    RecordBatch::try_new(schema(), columns).unwrap()
}

/// A step of a test.
#[derive(Clone, Debug)]
enum Step {
    Insert(u16),
    /// The first number, and how many follow.
    Delete(u16, u16),
    /// A weight for each partition.
    Balance(Vec<u8>),
    /// Waits for all answers.
    Wait,
}

const PARTITIONS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let weights = proptest::collection::vec(0u8..4, PARTITIONS)
        .prop_filter("a positive weight", |all| all.iter().any(|&one| one > 0));
    prop_oneof![
        3 => (0u16..9000).prop_map(Step::Insert),
        1 => (any::<u16>(), 0u16..5000).prop_map(|(from, count)| Step::Delete(from, count)),
        3 => weights.prop_map(Step::Balance),
        1 => Just(Step::Wait),
    ]
}

/// An answer to await: the number of rows, their sum, and the text of one row, if it exists.
type PendingAnswer = (Handle<Answers>, (i64, i64), Option<String>);

fn check(awaited: &mut Vec<PendingAnswer>) {
    for (handle, (count, sum), text) in awaited.drain(..) {
        let answers = handle.join().unwrap();
        let made = answers.rows(0).unwrap();
        let number = |column: usize| made.column(column).as_primitive::<Int64Type>();
        assert_eq!(number(0).value(0), count);
        assert_eq!((number(1).is_valid(0), number(1).value(0)), (count > 0, sum));
        let found = answers.rows(1).unwrap();
        assert!(found.column(0).as_string::<i32>().iter().eq(text.iter().map(|text| Some(text.as_str()))));
    }
}

/// Checks that each partition has memory of its own, reported by its worker.
fn check_memory(rt: &Runtime, table: &Table, rows: usize) {
    let memory = table.memory(rt).join().unwrap();
    assert_eq!(memory.len(), PARTITIONS);
    assert_eq!(memory.iter().map(|part| part.rows).sum::<u64>(), rows as u64);
    let mut all: Vec<Range<usize>> = Vec::new();
    for (number, part) in memory.into_iter().enumerate() {
        assert_eq!(part.worker, number % rt.workers());
        // A number, and the prefix and hash of a text, of eight bytes each.
        assert!(part.bytes() >= part.rows * 24 && part.rows <= (part.chunks * table.chunk_rows()) as u64);
        assert!(part.chunks > 0 || part.addresses.is_empty());
        assert!(part.addresses.iter().all(|range| !range.is_empty()));
        all.extend(part.addresses);
    }
    all.sort_by_key(|range| range.start);
    assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start));
}

fn run(rt: &Runtime, steps: &[Step]) {
    let table = Table::new(rt, schema(), PARTITIONS).unwrap();
    let (mut present, mut next) = (BTreeMap::new(), 0);
    let (mut awaited, mut moved) = (Vec::new(), Vec::new());
    for step in steps {
        let mut batch = Batch::new();
        match step {
            Step::Insert(count) => {
                let new = next..next + i64::from(*count);
                next = new.end;
                batch.insert(rows(new.clone()));
                present.extend(new.map(|number| (number, format!("number {number}"))));
            }
            Step::Delete(from, count) => {
                let from = i64::from(*from) % (next + 1);
                let gone = from..from + i64::from(*count);
                batch.change(Change::Delete(Filter::all().between("number", gone.clone())));
                present.retain(|number, _| !gone.contains(number));
            }
            Step::Balance(weights) => {
                let weights: Vec<f64> = weights.iter().map(|&weight| weight.into()).collect();
                moved.push(table.balance(rt, &weights).unwrap());
                continue;
            }
            Step::Wait => {
                check(&mut awaited);
                check_memory(rt, &table, present.len());
                continue;
            }
        }
        let some = present.keys().nth(present.len() / 2).copied().unwrap_or(7);
        batch.query(Query::aggregates(Filter::all(), [Aggregate::Count, Aggregate::Sum("number".into())]));
        batch.query(Query::rows(Filter::all().equals("number", some), ["text"]));
        let expected = (present.len() as i64, present.keys().sum());
        awaited.push((table.send(rt, batch), expected, present.get(&some).cloned()));
    }
    check(&mut awaited);
    moved.into_iter().for_each(|moved| assert!(moved.join().unwrap() <= next as u64));
    // Partitions without rows give none, and one partition can take all.
    table.balance(rt, &[0.0, 0.0, 2.5]).unwrap().join().unwrap();
    assert_eq!(table.balance(rt, &[0.0, 0.0, 1.0]).unwrap().join().unwrap(), 0);
    assert_eq!(table.balance(rt, &[1.0, 0.0, 0.0]).unwrap().join().unwrap(), present.len() as u64);
    check_memory(rt, &table, present.len());
    let rows: Vec<u64> = table.memory(rt).join().unwrap().iter().map(|part| part.rows).collect();
    assert_eq!(rows, [present.len() as u64, 0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60 / PATIENCE))]

    #[test]
    fn every_batch_finds_each_row_once(steps in proptest::collection::vec(step(), 0..20), seed: u64) {
        run(&Runtime::builder().platform(Simulation::new(PARTITIONS, seed)).build().unwrap(), &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn every_batch_finds_each_row_once_on_threads(steps in proptest::collection::vec(step(), 0..20)) {
        run(&Runtime::builder().workers(2).build().unwrap(), &steps);
    }
}

/// What the tasks of a test share that send batches.
struct Sender {
    rt: Arc<Runtime>,
    table: Table,
    answers: Mutex<Vec<Handle<Answers>>>,
}

impl Sender {
    /// Sends a batch, and so on in follow-ups, which run between the steps of a rebalance.
    fn send(self: Arc<Self>, left: usize, cx: &mut Context) {
        let mut batch = Batch::new();
        batch.query(Query::aggregates(Filter::all(), [Aggregate::Count]));
        lock(&self.answers).push(self.table.send(&self.rt, batch));
        if left > 0 {
            cx.task(()).as_sibling().spawn(move |(), cx| self.send(left - 1, cx));
        }
    }
}

/// Batches arrive before, while and after all rows move to other partitions.
#[test]
fn batches_beside_moves_find_each_row_once() {
    const ROWS: i64 = 1000;
    for seed in 0..10 {
        let platform = Simulation::new(PARTITIONS, seed);
        let rt = Arc::new(Runtime::builder().platform(platform).build().unwrap());
        let table = Table::builder(schema()).partitions(PARTITIONS).chunk_rows(64).build(&rt).unwrap();
        let mut batch = Batch::new();
        batch.insert(rows(0..ROWS));
        assert_eq!(table.run(&rt, batch).unwrap().rows_affected(0), Ok(ROWS as u64));
        let sender = Arc::new(Sender { rt: rt.clone(), table, answers: Mutex::default() });
        for weights in [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 3.0]] {
            let (group, first) = (rt.group(), sender.clone());
            rt.task(()).of(&group).spawn(move |(), cx| first.send(50, cx));
            sender.table.balance(&rt, &weights).unwrap().join().unwrap();
            group.wait().unwrap();
        }
        for answers in lock(&sender.answers).drain(..) {
            let answers = answers.join().unwrap();
            assert_eq!(answers.rows(0).unwrap().column(0).as_primitive::<Int64Type>().value(0), ROWS);
        }
    }
}

#[test]
fn invalid_weights_are_rejected() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let table = Table::new(&rt, schema(), 2).unwrap();
    for weights in [&[][..], &[1.0], &[1.0; 3], &[0.0, 0.0], &[1.0, -1.0], &[1.0, f64::NAN]] {
        assert!(matches!(table.balance(&rt, weights), Err(Failure::InvalidWeights(_, 2))), "{weights:?}");
    }
    let mut batch = Batch::new();
    batch.insert(rows(0..10));
    assert_eq!(table.run(&rt, batch).unwrap().rows_affected(0), Ok(10));
}
