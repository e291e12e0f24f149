//! Against a table that goes through all its rows for each request, one after another.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;
use xtasking::Runtime;
use xtasking::platform::Simulation;
use xtasking_columns::{Aggregate, Batch, Change, Failure, Filter, Query, Table, Test, Value};

type Row = Vec<Option<Value>>;
/// What a row has to pass, by columns.
type Asks = Vec<(usize, Ask)>;

/// What is to be done, so that both can do it. Columns are numbers, which may be too great for the schema.
#[derive(Clone, Debug)]
enum Act {
    Insert(Vec<Row>),
    Update(Asks, Vec<(usize, Option<Value>)>),
    Delete(Asks),
}

#[derive(Clone, Debug)]
enum Ask {
    Equals(Value),
    Between(Bound<Value>, Bound<Value>),
    IsNull,
    IsNotNull,
}

fn compare(a: Value, b: Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(&b),
        (Value::Unsigned(a), Value::Unsigned(b)) => a.cmp(&b),
        (Value::Float(a), Value::Float(b)) => a.total_cmp(&b),
        _ => panic!("values of one column are of one type"),
    }
}

impl Ask {
    fn holds(&self, value: Option<Value>) -> bool {
        match (self, value) {
            (Self::IsNull, value) => value.is_none(),
            (_, None) => false,
            (Self::IsNotNull, Some(_)) => true,
            (Self::Equals(asked), Some(value)) => compare(value, *asked).is_eq(),
            (Self::Between(from, to), Some(value)) => {
                let from = match from {
                    Bound::Unbounded => true,
                    Bound::Included(from) => compare(value, *from).is_ge(),
                    Bound::Excluded(from) => compare(value, *from).is_gt(),
                };
                from && match to {
                    Bound::Unbounded => true,
                    Bound::Included(to) => compare(value, *to).is_le(),
                    Bound::Excluded(to) => compare(value, *to).is_lt(),
                }
            }
        }
    }

    fn test(&self) -> Test {
        match self {
            Self::Equals(value) => Test::Equals(*value),
            Self::Between(from, to) => Test::Between(*from, *to),
            Self::IsNull => Test::IsNull,
            Self::IsNotNull => Test::IsNotNull,
        }
    }
}

fn filter(asks: &[(usize, Ask)]) -> Filter {
    asks.iter().fold(Filter::all(), |filter, (column, ask)| filter.and(format!("c{column}"), ask.test()))
}

fn holds(asks: &[(usize, Ask)], row: &Row) -> bool {
    asks.iter().all(|(column, ask)| ask.holds(row[*column]))
}

/// Does it, and tells how many rows were concerned.
fn act(rows: &mut Vec<Row>, act: &Act) -> u64 {
    let before = rows.len();
    match act {
        Act::Insert(new) => rows.extend(new.iter().cloned()),
        Act::Delete(asks) => rows.retain(|row| !holds(asks, row)),
        Act::Update(asks, set) => {
            let mut count = 0;
            for row in rows.iter_mut().filter(|row| holds(asks, row)) {
                set.iter().for_each(|(column, value)| row[*column] = *value);
                count += 1;
            }
            return count;
        }
    }
    before.abs_diff(rows.len()) as u64
}

fn batch_of(schema: &SchemaRef, rows: &[Row]) -> RecordBatch {
    let column = |(index, field): (usize, &Arc<Field>)| -> ArrayRef {
        let values = rows.iter().map(|row| row[index]);
        match field.data_type() {
            DataType::Int64 => Arc::new(Int64Array::from_iter(values.map(|value| match value {
                Some(Value::Int(value)) => Some(value),
                _ => None,
            }))),
            DataType::UInt64 => Arc::new(UInt64Array::from_iter(values.map(|value| match value {
                Some(Value::Unsigned(value)) => Some(value),
                _ => None,
            }))),
            _ => Arc::new(Float64Array::from_iter(values.map(|value| match value {
                Some(Value::Float(value)) => Some(value),
                _ => None,
            }))),
        }
    };
    RecordBatch::try_new(schema.clone(), schema.fields().iter().enumerate().map(column).collect()).unwrap()
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let value = |array: &ArrayRef, row: usize| {
        array.is_valid(row).then(|| match array.data_type() {
            DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
            DataType::UInt64 => Value::Unsigned(array.as_primitive::<UInt64Type>().value(row)),
            _ => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        })
    };
    (0..batch.num_rows()).map(|row| batch.columns().iter().map(|array| value(array, row)).collect()).collect()
}

/// Rows as texts in order: as their order is not told.
fn sorted(rows: Vec<Row>) -> Vec<String> {
    let mut rows: Vec<_> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// A few different values, so that many are equal, and the ends of what there is.
fn value(data_type: &DataType) -> BoxedStrategy<Value> {
    match data_type {
        DataType::Int64 => {
            prop_oneof![8 => -6i64..6, 1 => Just(i64::MIN), 1 => Just(i64::MAX)].prop_map(Value::Int).boxed()
        }
        DataType::UInt64 => prop_oneof![8 => 0u64..12, 1 => Just(u64::MAX)].prop_map(Value::Unsigned).boxed(),
        _ => {
            let ends = prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-0.0), Just(f64::MIN)];
            prop_oneof![8 => (-6i8..6).prop_map(|half| f64::from(half) / 2.0), 1 => ends]
                .prop_map(Value::Float)
                .boxed()
        }
    }
}

fn ask(data_type: &DataType) -> BoxedStrategy<Ask> {
    let bound = |data_type| {
        let value = value(data_type);
        prop_oneof![
            1 => Just(Bound::Unbounded),
            3 => value.clone().prop_map(Bound::Included),
            3 => value.prop_map(Bound::Excluded)
        ]
    };
    prop_oneof![
        6 => value(data_type).prop_map(Ask::Equals),
        4 => (bound(data_type), bound(data_type)).prop_map(|(from, to)| Ask::Between(from, to)),
        1 => Just(Ask::IsNull),
        1 => Just(Ask::IsNotNull),
    ]
    .boxed()
}

#[derive(Clone, Debug)]
struct Plan {
    schema: SchemaRef,
    partitions: usize,
    batches: Vec<(Vec<Act>, Vec<Asks>)>,
}

fn asks(schema: &SchemaRef) -> BoxedStrategy<Asks> {
    let of: Vec<_> = schema.fields().iter().map(|field| ask(field.data_type())).collect();
    let one =
        (0..of.len()).prop_flat_map(move |column| of[column].clone().prop_map(move |ask| (column, ask)));
    prop::collection::vec(one, 0..4).boxed()
}

fn plan() -> impl Strategy<Value = Plan> {
    let types = prop_oneof![Just(DataType::Int64), Just(DataType::UInt64), Just(DataType::Float64)];
    let types = prop::collection::vec((types, any::<bool>()), 1..4);
    (types, 1..4usize).prop_flat_map(|(types, partitions)| {
        let field = |(index, (data_type, nullable)): (usize, (DataType, bool))| {
            Field::new(format!("c{index}"), data_type, nullable)
        };
        let schema: SchemaRef = Arc::new(Schema::new(types.into_iter().enumerate().map(field).collect::<Vec<_>>()));
        let cells: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| {
                let value = value(field.data_type());
                let nulls = if field.is_nullable() { 1 } else { 0 };
                prop_oneof![4 => value.prop_map(Some), nulls => Just(None)].boxed()
            })
            .collect();
        let rows = prop::collection::vec(cells.clone(), 0..40);
        let set = (0..cells.len())
            .prop_flat_map(move |column| cells[column].clone().prop_map(move |value| (column, value)));
        let act = prop_oneof![
            3 => rows.prop_map(Act::Insert),
            4 => (asks(&schema), prop::collection::vec(set, 1..3)).prop_map(|(asks, set)| Act::Update(asks, set)),
            1 => asks(&schema).prop_map(Act::Delete),
        ];
        let batch = (prop::collection::vec(act, 0..8), prop::collection::vec(asks(&schema), 0..12));
        prop::collection::vec(batch, 1..4).prop_map(move |batches| Plan {
            schema: schema.clone(),
            partitions,
            batches,
        })
    })
}

/// What is asked of the rows that pass, besides the rows themselves.
fn aggregates(schema: &SchemaRef) -> Vec<Aggregate> {
    let of =
        |field: &Arc<Field>| [Aggregate::Min(field.name().clone()), Aggregate::Max(field.name().clone())];
    std::iter::once(Aggregate::Count).chain(schema.fields().iter().flat_map(of)).collect()
}

fn aggregated(rows: &[&Row], columns: usize) -> Row {
    let mut made = vec![Some(Value::Int(rows.len() as i64))];
    for column in 0..columns {
        let values = || rows.iter().filter_map(|row| row[column]);
        made.push(values().min_by(|a, b| compare(*a, *b)));
        made.push(values().max_by(|a, b| compare(*a, *b)));
    }
    made
}

fn check(rt: &Runtime, plan: &Plan) {
    let table = Table::new(rt, plan.schema.clone(), plan.partitions).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    let names: Vec<_> = plan.schema.fields().iter().map(|field| field.name().clone()).collect();
    for (acts, queries) in &plan.batches {
        let mut batch = Batch::new();
        let expected: Vec<_> = acts
            .iter()
            .map(|one| {
                batch.change(match one {
                    Act::Insert(new) => Change::Insert(batch_of(&plan.schema, new)),
                    Act::Delete(asks) => Change::Delete(filter(asks)),
                    Act::Update(asks, set) => {
                        let set = set.iter().map(|(column, value)| (format!("c{column}"), *value));
                        Change::Update(filter(asks), set.collect())
                    }
                });
                act(&mut rows, one)
            })
            .collect();
        for asks in queries {
            batch.query(Query::rows(filter(asks), names.clone()));
            batch.query(Query::aggregates(filter(asks), aggregates(&plan.schema)));
        }
        let answers = table.run(rt, batch).unwrap();
        for (change, count) in expected.into_iter().enumerate() {
            assert_eq!(answers.changed(change), Ok(count), "change {change}: {:?}", acts[change]);
        }
        for (query, asks) in queries.iter().enumerate() {
            let passed: Vec<_> = rows.iter().filter(|row| holds(asks, row)).collect();
            let found = rows_of(answers.rows(2 * query).unwrap());
            assert_eq!(sorted(found), sorted(passed.iter().map(|row| (*row).clone()).collect()), "{asks:?}");
            let made = rows_of(answers.rows(2 * query + 1).unwrap());
            assert_eq!(sorted(made), sorted(vec![aggregated(&passed, names.len())]), "{asks:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 400 }))]

    #[test]
    fn batches_do_what_each_request_alone_would(plan in plan(), seed: u64) {
        let rt = Runtime::builder().platform(Simulation::new(3, seed)).build().unwrap();
        check(&rt, &plan);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn on_threads_as_well(plan in plan()) {
        let rt = Runtime::builder().workers(2).build().unwrap();
        check(&rt, &plan);
    }
}

fn one_column(nullable: bool) -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, nullable)]))
}

fn integers(schema: &SchemaRef, values: impl IntoIterator<Item = i64>) -> RecordBatch {
    RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from_iter_values(values))]).unwrap()
}

/// Many chunks, and more queries than a byte counts.
#[test]
fn large_batches_over_many_chunks() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let schema = one_column(false);
    let table = Table::new(&rt, schema.clone(), 2).unwrap();
    let mut batch = Batch::new();
    batch.insert(integers(&schema, (0..50_000).map(|number| number % 1000)));
    for number in 0..1000 {
        batch.query(Query::aggregates(Filter::all().equals("a", number), [Aggregate::Count]));
        batch.query(Query::aggregates(Filter::all().between("a", number..), [Aggregate::Sum("a".into())]));
    }
    let answers = table.run(&rt, batch).unwrap();
    for number in 0..1000i64 {
        let one =
            |query: i64| answers.rows(query as usize).unwrap().column(0).as_primitive::<Int64Type>().value(0);
        assert_eq!(one(2 * number), 50);
        assert_eq!(one(2 * number + 1), (number..1000).sum::<i64>() * 50);
    }
}

/// What is wrong is told, and the rest is served.
#[test]
fn wrong_requests_fail_alone() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let text = Arc::new(Schema::new(vec![Field::new("name", DataType::Utf8, false)]));
    assert!(matches!(Table::new(&rt, text, 2), Err(Failure::Unsupported { .. })));
    let schema = one_column(false);
    let table = Table::new(&rt, schema.clone(), 2).unwrap();
    let mut batch = Batch::new();
    let nulls = RecordBatch::try_new(one_column(true), vec![Arc::new(Int64Array::from(vec![None]))]).unwrap();
    let floats = Arc::new(Schema::new(vec![Field::new("a", DataType::Float64, false)]));
    let floats = RecordBatch::try_new(floats, vec![Arc::new(Float64Array::from(vec![0.5]))]).unwrap();
    let wrong = [
        batch.insert(nulls),
        batch.insert(floats),
        batch.change(Change::Delete(Filter::all().equals("b", 1))),
        batch.change(Change::Update(Filter::all(), vec![("a".into(), None)])),
        batch.change(Change::Update(Filter::all(), vec![("a".into(), Some(1.5.into()))])),
    ];
    let right = batch.insert(integers(&schema, [i64::MAX, 1]));
    let first = batch.query(Query::rows(Filter::all().equals("a", 1u64), ["a"]));
    let sum = batch.query(Query::aggregates(Filter::all(), [Aggregate::Sum("a".into())]));
    let count = batch.query(Query::rows(Filter::all(), Vec::<String>::new()));
    let answers = table.run(&rt, batch).unwrap();
    assert_eq!(wrong.map(|change| answers.changed(change).is_err()), [true; 5]);
    assert_eq!(answers.changed(wrong[3]), Err(Failure::Null("a".into())));
    assert_eq!(answers.changed(wrong[2]), Err(Failure::NoColumn("b".into())));
    assert_eq!(answers.changed(right), Ok(2));
    assert!(matches!(answers.rows(first), Err(Failure::Mismatch { .. })));
    assert_eq!(answers.rows(sum), Err(Failure::Overflow("sum(a)".into())));
    assert_eq!(answers.rows(count).unwrap().num_rows(), 2);
}

/// A change sees what those before it have done, and none that comes later.
#[test]
fn changes_see_those_before_them() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let schema = one_column(true);
    let table = Table::new(&rt, schema.clone(), 3).unwrap();
    let set = |from: i64, to: i64| {
        Change::Update(Filter::all().equals("a", from), vec![("a".into(), Some(to.into()))])
    };
    let mut batch = Batch::new();
    batch.insert(integers(&schema, [1, 2, 3]));
    table.run(&rt, batch).unwrap();
    let mut batch = Batch::new();
    // A row goes 1 → 2 → 3, another one only 2 → 3; what comes to 1 later stays.
    let changes = [set(1, 2), set(2, 3), set(3, 1), Change::Delete(Filter::all().equals("a", 2))];
    let changes = changes.map(|change| batch.change(change));
    batch.insert(integers(&schema, [2]));
    let all = batch.query(Query::rows(Filter::all(), ["a"]));
    let answers = table.run(&rt, batch).unwrap();
    assert_eq!(changes.map(|change| answers.changed(change)), [Ok(1), Ok(2), Ok(3), Ok(0)]);
    let found = answers.rows(all).unwrap().column(0).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(found.iter().sum::<i64>(), 5);
    assert_eq!(found.len(), 4);
}
