//! Comparison with an oracle that scans all rows for each request, one after another.

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, DurationSecondType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use common::{Row, cell, comparand, compare, integer, rows_of, sorted};
use proptest::prelude::*;
use std::ops::Bound;
use std::sync::Arc;
use xtasking::Runtime;
use xtasking::platform::Simulation;
use xtasking_columns::{
    Aggregate, Answers, Batch, Change, Failure, Filter, Query, Table, TableBuilder, Test, Value,
};
use xtasking_testing::PATIENCE;

/// Tests of columns that a row must all pass.
type Conditions = Vec<(usize, Condition)>;

/// A change, for the table and for the oracle.
#[derive(Clone, Debug)]
enum OracleChange {
    Insert(Vec<Row>),
    Update(Conditions, Vec<(usize, Option<Value>)>),
    Delete(Conditions),
}

#[derive(Clone, Debug)]
enum Condition {
    Equals(Value),
    Between(Bound<Value>, Bound<Value>),
    IsNull,
    IsNotNull,
}

impl Condition {
    fn holds(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::IsNull, value) => value.is_none(),
            (_, None) => false,
            (Self::IsNotNull, Some(_)) => true,
            (Self::Equals(asked), Some(value)) => compare(value, asked).is_eq(),
            (Self::Between(from, to), Some(value)) => {
                let from = match from {
                    Bound::Unbounded => true,
                    Bound::Included(from) => compare(value, from).is_ge(),
                    Bound::Excluded(from) => compare(value, from).is_gt(),
                };
                from && match to {
                    Bound::Unbounded => true,
                    Bound::Included(to) => compare(value, to).is_le(),
                    Bound::Excluded(to) => compare(value, to).is_lt(),
                }
            }
        }
    }

    fn test(&self) -> Test {
        match self {
            Self::Equals(value) => Test::Equals(value.clone()),
            Self::Between(from, to) => Test::Between(from.clone(), to.clone()),
            Self::IsNull => Test::IsNull,
            Self::IsNotNull => Test::IsNotNull,
        }
    }
}

fn filter(conditions: &[(usize, Condition)]) -> Filter {
    conditions
        .iter()
        .fold(Filter::all(), |filter, (column, condition)| filter.and(format!("c{column}"), condition.test()))
}

fn holds(conditions: &[(usize, Condition)], row: &Row) -> bool {
    conditions.iter().all(|(column, condition)| condition.holds(row[*column].as_ref()))
}

/// Applies a change, and returns the number of rows affected.
fn apply(rows: &mut Vec<Row>, change: &OracleChange) -> u64 {
    let before = rows.len();
    match change {
        OracleChange::Insert(new) => rows.extend(new.iter().cloned()),
        OracleChange::Delete(conditions) => rows.retain(|row| !holds(conditions, row)),
        OracleChange::Update(conditions, set) => {
            let mut count = 0;
            for row in rows.iter_mut().filter(|row| holds(conditions, row)) {
                set.iter().for_each(|(column, value)| row[*column] = value.clone());
                count += 1;
            }
            return count;
        }
    }
    before.abs_diff(rows.len()) as u64
}

/// Builds rows to insert. The type of texts varies.
fn batch_of(schema: &SchemaRef, rows: &[Row]) -> RecordBatch {
    let strings = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View];
    let field = |field: &Arc<Field>| {
        let data_type = match strings.contains(field.data_type()) {
            true => strings[rows.len() % 3].clone(),
            false => field.data_type().clone(),
        };
        Field::new(field.name(), data_type, field.is_nullable())
    };
    common::batch(&Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()), rows)
}

fn condition(data_type: &DataType) -> BoxedStrategy<Condition> {
    let bound = |data_type| {
        let value = comparand(data_type);
        prop_oneof![
            1 => Just(Bound::Unbounded),
            3 => value.clone().prop_map(Bound::Included),
            3 => value.prop_map(Bound::Excluded)
        ]
    };
    prop_oneof![
        6 => comparand(data_type).prop_map(Condition::Equals),
        4 => (bound(data_type), bound(data_type)).prop_map(|(from, to)| Condition::Between(from, to)),
        1 => Just(Condition::IsNull),
        1 => Just(Condition::IsNotNull),
    ]
    .boxed()
}

#[derive(Clone, Debug)]
struct Plan {
    schema: SchemaRef,
    partitions: usize,
    chunk_rows: usize,
    batches: Vec<(Vec<OracleChange>, Vec<Conditions>)>,
}

/// Rows of a chunk: the minimum, which soon makes many chunks; usual and odd sizes; the maximum.
const CHUNK_ROWS: [usize; 7] = [64, 128, 192, 2048, 3072, 8192, 65536];

fn conditions(schema: &SchemaRef) -> BoxedStrategy<Conditions> {
    let of: Vec<_> = schema.fields().iter().map(|field| condition(field.data_type())).collect();
    let one = (0..of.len())
        .prop_flat_map(move |column| of[column].clone().prop_map(move |condition| (column, condition)));
    prop::collection::vec(one, 0..4).boxed()
}

fn plan() -> impl Strategy<Value = Plan> {
    let chunk_rows = prop_oneof![2 => Just(64usize), 3 => prop::sample::select(CHUNK_ROWS.to_vec())];
    let shape = (common::schema(common::types(), 4), 1..4usize, chunk_rows);
    shape.prop_flat_map(|(schema, partitions, chunk_rows)| {
        let schema = Arc::new(schema);
        let cells: Vec<_> = schema.fields().iter().map(|field| cell(field)).collect();
        let rows = prop::collection::vec(cells.clone(), 0..40);
        let set = (0..cells.len())
            .prop_flat_map(move |column| cells[column].clone().prop_map(move |value| (column, value)));
        let change = prop_oneof![
            3 => rows.prop_map(OracleChange::Insert),
            4 => (conditions(&schema), prop::collection::vec(set, 1..3))
                .prop_map(|(conditions, set)| OracleChange::Update(conditions, set)),
            1 => conditions(&schema).prop_map(OracleChange::Delete),
        ];
        let batch = (prop::collection::vec(change, 0..8), prop::collection::vec(conditions(&schema), 0..12));
        prop::collection::vec(batch, 1..4).prop_map(move |batches| Plan {
            schema: schema.clone(),
            partitions,
            chunk_rows,
            batches,
        })
    })
}

/// Returns the aggregates to query besides the rows.
fn aggregates(schema: &SchemaRef) -> Vec<Aggregate> {
    let of = |field: &Arc<Field>| {
        [Aggregate::Min, Aggregate::Max, Aggregate::CountOf]
            .map(|aggregate| aggregate(field.name().clone().into()))
    };
    std::iter::once(Aggregate::Count).chain(schema.fields().iter().flat_map(of)).collect()
}

fn aggregated(rows: &[&Row], columns: usize) -> Row {
    let mut made = vec![Some(Value::Int(rows.len() as i64))];
    for column in 0..columns {
        let values = || rows.iter().filter_map(|row| row[column].as_ref());
        made.push(values().min_by(|a, b| compare(a, b)).cloned());
        made.push(values().max_by(|a, b| compare(a, b)).cloned());
        made.push(Some(Value::Int(values().count() as i64)));
    }
    made
}

/// Returns the greatest absolute value of a column's sum, or `None` if the column cannot be summed.
fn sum_of(data_type: &DataType) -> Option<i128> {
    match data_type {
        DataType::Decimal32(..) | DataType::Decimal64(..) => Some(10i128.pow(18) - 1),
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => Some(u64::MAX.into()),
        DataType::Float32 | DataType::Float64 => Some(0),
        DataType::Duration(_) => Some(i64::MAX.into()),
        _ if data_type.is_integer() => Some(i64::MAX.into()),
        _ => None,
    }
}

/// Checks the sum of a column of these rows.
fn check_sum(answers: &Answers, query: usize, data_type: &DataType, values: &[&Value]) {
    let found = answers.rows(query).map(|found| rows_of(found)[0][0].clone());
    let Some(most) = sum_of(data_type) else {
        return assert!(matches!(found, Err(Failure::Mismatch { .. })));
    };
    if values.is_empty() {
        return assert_eq!(found, Ok(None));
    }
    if data_type.is_floating() {
        let sum: f64 =
            values.iter().map(|value| if let Value::Float(value) = value { *value } else { 0.0 }).sum();
        // Large floats add up differently in each order; small ones are exact.
        if sum.abs() < 1e6 {
            assert!(matches!(found, Ok(Some(Value::Float(found))) if found == sum), "{found:?} {sum}");
        }
        return;
    }
    let sum: i128 = values.iter().filter_map(|value| integer(value)).sum();
    match found {
        Ok(found) => assert_eq!(found.as_ref().and_then(integer), Some(sum)),
        Err(failure) => {
            assert!(sum > most || sum < -most, "{failure}");
            assert!(matches!(failure, Failure::Overflow(_)));
        }
    }
}

fn check(rt: &Runtime, plan: &Plan) {
    let table = Table::builder(plan.schema.clone()).partitions(plan.partitions);
    let table = table.chunk_rows(plan.chunk_rows).build(rt).unwrap();
    let mut rows: Vec<Row> = Vec::new();
    let names: Vec<_> = plan.schema.fields().iter().map(|field| field.name().clone()).collect();
    for (changes, queries) in &plan.batches {
        let mut batch = Batch::new();
        let expected: Vec<_> = changes
            .iter()
            .map(|one| {
                batch.change(match one {
                    OracleChange::Insert(new) => Change::Insert(batch_of(&plan.schema, new)),
                    OracleChange::Delete(conditions) => Change::Delete(filter(conditions)),
                    OracleChange::Update(conditions, set) => {
                        let set =
                            set.iter().map(|(column, value)| (format!("c{column}").into(), value.clone()));
                        Change::Update(filter(conditions), set.collect())
                    }
                });
                apply(&mut rows, one)
            })
            .collect();
        for conditions in queries {
            batch.query(Query::rows(filter(conditions), names.clone()));
            batch.query(Query::aggregates(filter(conditions), aggregates(&plan.schema)));
            let some = Aggregate::Sum(names[conditions.len() % names.len()].clone().into());
            batch.query(Query::aggregates(filter(conditions), [some]));
        }
        let answers = table.run(rt, batch).unwrap();
        for (change, count) in expected.into_iter().enumerate() {
            assert_eq!(answers.rows_affected(change), Ok(count), "change {change}: {:?}", changes[change]);
        }
        for (query, conditions) in queries.iter().enumerate() {
            let passed: Vec<_> = rows.iter().filter(|row| holds(conditions, row)).collect();
            let found = rows_of(answers.rows(3 * query).unwrap());
            assert_eq!(
                sorted(found),
                sorted(passed.iter().map(|row| (*row).clone()).collect()),
                "{conditions:?}"
            );
            let made = rows_of(answers.rows(3 * query + 1).unwrap());
            assert_eq!(sorted(made), sorted(vec![aggregated(&passed, names.len())]), "{conditions:?}");
            let column = conditions.len() % names.len();
            let values: Vec<_> = passed.iter().filter_map(|row| row[column].as_ref()).collect();
            check_sum(&answers, 3 * query + 2, plan.schema.field(column).data_type(), &values);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 400 / PATIENCE }))]

    #[test]
    fn batches_match_an_oracle_that_serves_one_request_after_another(plan in plan(), seed: u64) {
        let rt = Runtime::builder().platform(Simulation::new(3, seed)).build().unwrap();
        check(&rt, &plan);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn batches_match_the_oracle_on_threads(plan in plan()) {
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

/// Many chunks, and more queries than a byte can count.
#[test]
fn large_batches_scan_many_chunks() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    for chunk_rows in [64, 192, 1024, 2048, 4096, 8192] {
        large_batch(&rt, Table::builder(one_column(false)).chunk_rows(chunk_rows));
    }
}

fn large_batch(rt: &Runtime, table: TableBuilder) {
    let table = table.build(rt).unwrap();
    let schema = table.schema().clone();
    let mut batch = Batch::new();
    batch.insert(integers(&schema, (0..50_000).map(|number| number % 1000)));
    for number in 0..1000 {
        batch.query(Query::aggregates(Filter::all().equals("a", number), [Aggregate::Count]));
        batch.query(Query::aggregates(Filter::all().between("a", number..), [Aggregate::Sum("a".into())]));
    }
    let answers = table.run(rt, batch).unwrap();
    for number in 0..1000i64 {
        let one =
            |query: i64| answers.rows(query as usize).unwrap().column(0).as_primitive::<Int64Type>().value(0);
        assert_eq!(one(2 * number), 50);
        assert_eq!(one(2 * number + 1), (number..1000).sum::<i64>() * 50);
    }
}

/// In a chunk of maximal size, each row is found at its position, including the last ones and those
/// that were changed or fill gaps.
#[test]
fn chunks_of_maximal_size_have_all_their_rows() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let schema = one_column(true);
    let table = Table::builder(schema.clone()).chunk_rows(1 << 16).build(&rt).unwrap();
    let count = (1 << 16) + 100;
    let mut batch = Batch::new();
    batch.insert(integers(&schema, 0..count));
    table.run(&rt, batch).unwrap();
    let mut batch = Batch::new();
    let set = vec![("a".into(), Some((-1).into()))];
    let gone = batch.change(Change::Delete(Filter::all().between("a", 65_530..65_533)));
    let changed = batch.change(Change::Update(Filter::all().between("a", 65_533..65_540), set));
    let added = batch.insert(integers(&schema, [-2, -3]));
    let tests = [0, 1, 32_767, 32_768, 65_529, 65_532, 65_540, count - 1, -2, -3];
    let points = tests.map(|number| batch.query(Query::rows(Filter::all().equals("a", number), ["a"])));
    let last = batch.query(Query::rows(Filter::all().between("a", 65_500..), ["a"]));
    let minus = batch.query(Query::rows(Filter::all().equals("a", -1), ["a"]));
    // Has no access path, so it is evaluated for every row.
    let all = batch.query(Query::rows(Filter::all().and("a", Test::IsNotNull), ["a"]));
    let answers = table.run(&rt, batch).unwrap();
    assert_eq!([gone, changed, added].map(|change| answers.rows_affected(change)), [Ok(3), Ok(7), Ok(2)]);
    let found = |query| {
        let rows = answers.rows(query).unwrap();
        let mut rows = rows.column(0).as_primitive::<Int64Type>().values().to_vec();
        rows.sort_unstable();
        rows
    };
    for (number, query) in tests.into_iter().zip(points) {
        assert_eq!(found(query), if number == 65_532 { vec![] } else { vec![number] });
    }
    assert_eq!(found(last), (65_500..65_530).chain(65_540..count).collect::<Vec<_>>());
    assert_eq!(found(minus), [-1; 7]);
    let left = [-3, -2].into_iter().chain([-1; 7]).chain(0..65_530).chain(65_540..count);
    assert_eq!(found(all), left.collect::<Vec<_>>());
}

/// A table of one column with the numbers below 100.
fn hundred(rt: &Runtime) -> Table {
    let table = Table::new(rt, one_column(false), 2).unwrap();
    let mut batch = Batch::new();
    batch.insert(integers(&one_column(false), 0..100));
    table.run(rt, batch).unwrap();
    table
}

/// Sets the rows with the first number to the second one.
fn set(from: i64, to: i64) -> Change {
    Change::Update(Filter::all().equals("a", from), vec![("a".into(), Some(to.into()))])
}

/// Within a batch, each change finds the rows as the ones before have left them.
#[test]
fn a_change_concerns_what_earlier_ones_have_set() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let table = hundred(&rt);
    let mut batch = Batch::new();
    let moved = [batch.change(set(3, 70)), batch.change(set(70, 80))];
    let gone = batch.change(Change::Delete(Filter::all().equals("a", 80)));
    let answers = table.run(&rt, batch).unwrap();
    assert_eq!(moved.map(|change| answers.rows_affected(change)), [Ok(1), Ok(2)]);
    assert_eq!(answers.rows_affected(gone), Ok(3));
}

/// The value is beyond those of all inserted rows, and many queries compare both columns.
#[test]
fn a_query_finds_values_that_only_an_update_has_set() {
    const COUNT: i64 = 8;
    let rt = Runtime::builder().workers(2).build().unwrap();
    let columns = ["a", "b"].map(|name| Field::new(name, DataType::Int64, false));
    let schema = Arc::new(Schema::new(columns.to_vec()));
    let table = Table::new(&rt, schema.clone(), 2).unwrap();
    let numbers = 0..COUNT * COUNT;
    let values: [ArrayRef; 2] = [
        Arc::new(Int64Array::from_iter_values(numbers.clone().map(|number| number % COUNT))),
        Arc::new(Int64Array::from_iter_values(numbers.clone().map(|number| number / COUNT))),
    ];
    let both = |a: i64, b: i64| Filter::all().equals("a", a).equals("b", b);
    let mut batch = Batch::new();
    batch.insert(RecordBatch::try_new(schema, values.to_vec()).unwrap());
    batch.change(Change::Update(both(3, 4), vec![("a".into(), Some(1000.into()))]));
    table.run(&rt, batch).unwrap();
    let mut batch = Batch::new();
    let others = numbers.map(|number| (number % COUNT, number / COUNT));
    others.for_each(|(a, b)| _ = batch.query(Query::rows(both(a, b), ["a"])));
    let updated = batch.query(Query::rows(both(1000, 4), ["a"]));
    let answers = table.run(&rt, batch).unwrap();
    assert_eq!(answers.rows(updated).unwrap().num_rows(), 1);
}

#[test]
fn invalid_chunk_sizes_are_rejected() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    for rows in [0, 1, 63, 65, 100, 65_535, 65_600, usize::MAX] {
        let refused = Table::builder(one_column(false)).chunk_rows(rows).build(&rt).err();
        assert_eq!(refused, Some(Failure::InvalidChunkRows(rows)));
    }
    let text = Failure::InvalidChunkRows(100).to_string();
    assert_eq!(text, "a chunk cannot have 100 rows: choose a multiple of 64, from 64 to 65536");
    for (cache, rows) in [(0, 64), (32 << 10, 2048), (48 << 10, 3072), (u64::MAX, 65_536)] {
        let table = Table::builder(one_column(false)).l1_cache_bytes(cache).build(&rt).unwrap();
        assert_eq!((table.chunk_rows(), table.partitions()), (rows, 2));
    }
    assert_eq!(Table::new(&rt, one_column(false), 0).unwrap().chunk_rows(), 2048);
}

/// Invalid requests fail, and the others are served.
#[test]
fn an_invalid_request_fails_alone() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let wide = Arc::new(Schema::new(vec![Field::new("price", DataType::Decimal128(20, 2), false)]));
    assert!(matches!(Table::new(&rt, wide, 2), Err(Failure::Unsupported { .. })));
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
    let first = batch.query(Query::rows(Filter::all().equals("a", 1.0), ["a"]));
    let sum = batch.query(Query::aggregates(Filter::all(), [Aggregate::Sum("a".into())]));
    let count = batch.query(Query::rows(Filter::all(), Vec::<String>::new()));
    let answers = table.run(&rt, batch).unwrap();
    assert_eq!(wrong.map(|change| answers.rows_affected(change).is_err()), [true; 5]);
    assert_eq!(answers.rows_affected(wrong[3]), Err(Failure::NotNullable("a".into())));
    assert_eq!(answers.rows_affected(wrong[2]), Err(Failure::NoColumn("b".into())));
    assert_eq!(answers.rows_affected(right), Ok(2));
    assert!(matches!(answers.rows(first), Err(Failure::Mismatch { .. })));
    assert_eq!(answers.rows(sum), Err(Failure::Overflow("sum(a)".into())));
    assert_eq!(answers.rows(count).unwrap().num_rows(), 2);
}

/// A change sees the effects of those before it, and of none after it.
#[test]
fn changes_see_earlier_changes() {
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
    // One row goes 1 → 2 → 3, another 2 → 3; a row set to 1 later stays.
    let changes = [set(1, 2), set(2, 3), set(3, 1), Change::Delete(Filter::all().equals("a", 2))];
    let changes = changes.map(|change| batch.change(change));
    batch.insert(integers(&schema, [2]));
    let all = batch.query(Query::rows(Filter::all(), ["a"]));
    let answers = table.run(&rt, batch).unwrap();
    assert_eq!(changes.map(|change| answers.rows_affected(change)), [Ok(1), Ok(2), Ok(3), Ok(0)]);
    let found = answers.rows(all).unwrap().column(0).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(found.iter().sum::<i64>(), 5);
    assert_eq!(found.len(), 4);
}

/// The types of sums, and values that a column cannot hold.
#[test]
fn sums_and_stored_values_respect_types() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let columns: [(&str, DataType, ArrayRef); 6] = [
        ("small", DataType::Int8, Arc::new(arrow_array::Int8Array::from(vec![100, 100]))),
        ("unsigned", DataType::UInt16, Arc::new(arrow_array::UInt16Array::from(vec![60_000, 60_000]))),
        ("float", DataType::Float32, Arc::new(arrow_array::Float32Array::from(vec![0.5, 0.25]))),
        (
            "time",
            DataType::Duration(TimeUnit::Second),
            Arc::new(arrow_array::DurationSecondArray::from(vec![7, 8])),
        ),
        (
            "price",
            DataType::Decimal32(4, 2),
            Arc::new(
                arrow_array::Decimal32Array::from(vec![9999, 1]).with_precision_and_scale(4, 2).unwrap(),
            ),
        ),
        ("name", DataType::Utf8, Arc::new(StringArray::from(vec!["Grace Hopper", "Grace Kelly"]))),
    ];
    let fields: Vec<_> = columns.iter().map(|(name, of, _)| Field::new(*name, of.clone(), true)).collect();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let arrays = columns.iter().map(|(.., array)| array.clone()).collect();
    let table = Table::new(&rt, schema.clone(), 2).unwrap();
    let mut batch = Batch::new();
    batch.insert(RecordBatch::try_new(schema, arrays).unwrap());
    let set = |column: &'static str, value: Value| {
        Change::Update(Filter::all(), vec![(column.into(), Some(value))])
    };
    let wrong = [
        set("small", 128.into()),
        set("unsigned", (-1).into()),
        set("float", 1e300.into()),
        set("price", 10_000.into()),
        set("name", 1.into()),
        set("small", "1".into()),
    ];
    let wrong = wrong.map(|change| batch.change(change));
    let sums = ["small", "unsigned", "float", "time", "price"].map(|name| Aggregate::Sum(name.into()));
    let sums = batch.query(Query::aggregates(Filter::all(), sums));
    let no_sum = batch.query(Query::aggregates(Filter::all(), [Aggregate::Sum("name".into())]));
    let alike = batch.query(Query::rows(Filter::all().between("name", "Grace H".."Grace I"), ["name"]));
    let none = batch.query(Query::rows(Filter::all().equals("small", 300), ["name"]));
    let all = batch.query(Query::rows(Filter::all().between("small", ..300), ["name"]));
    let wrong_name = batch.query(Query::rows(Filter::all().equals("name", 7), ["name"]));
    let answers = table.run(&rt, batch).unwrap();
    for change in wrong {
        assert!(matches!(answers.rows_affected(change), Err(Failure::Mismatch { .. })), "{change}");
    }
    let sums = answers.rows(sums).unwrap();
    assert_eq!(sums.column(0).as_primitive::<Int64Type>().value(0), 200);
    assert_eq!(sums.column(1).as_primitive::<UInt64Type>().value(0), 120_000);
    assert_eq!(sums.column(2).as_primitive::<Float64Type>().value(0), 0.75);
    assert_eq!(sums.column(3).as_primitive::<DurationSecondType>().value(0), 15);
    assert_eq!(sums.column(4).as_primitive::<Decimal64Type>().value(0), 10_000);
    assert_eq!(sums.column(4).data_type(), &DataType::Decimal64(18, 2));
    let text = answers.rows(no_sum).unwrap_err().to_string();
    assert_eq!(text, "column `name`: Utf8 cannot be summed; numbers, decimals and durations can");
    assert_eq!(answers.rows(alike).unwrap().column(0).as_string::<i32>().value(0), "Grace Hopper");
    let rows = [alike, none, all].map(|query| answers.rows(query).unwrap().num_rows());
    assert_eq!(rows, [1, 0, 2]);
    let text = answers.rows(wrong_name).unwrap_err().to_string();
    assert_eq!(text, "column `name`: Int(7) is not a valid Utf8");
}
