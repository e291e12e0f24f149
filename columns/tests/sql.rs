//! Comparison with tables of DataFusion itself.

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use common::{Row, cell, comparand, rows_of, sorted};
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::physical_plan::displayable;
use datafusion::prelude::{Expr, SessionContext, col, lit};
use proptest::prelude::*;
use std::future::Future;
use std::sync::Arc;
use xtasking::Runtime;
use xtasking_columns::sql::{SqlTable, register};
use xtasking_columns::{Batch, BatchPolicy, Table};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn table(schema: &SchemaRef) -> SqlTable {
    let rt = Arc::new(Runtime::builder().workers(2).build().unwrap());
    let table = Arc::new(Table::new(&rt, schema.clone(), 2).unwrap());
    SqlTable::new(rt, table)
}

/// Creates a session with a table of columns, `ours`, and a table of DataFusion, `theirs`, with the
/// same rows.
async fn session(schema: &SchemaRef, rows: &[Row]) -> SessionContext {
    let session = SessionContext::new();
    register(&session, "ours", table(schema)).unwrap();
    theirs(&session, schema, rows);
    session.sql("INSERT INTO ours SELECT * FROM theirs").await.unwrap().collect().await.unwrap();
    session
}

fn theirs(session: &SessionContext, schema: &SchemaRef, rows: &[Row]) {
    let batch = common::batch(schema, rows);
    let table = MemTable::try_new(schema.clone(), vec![vec![batch]]).unwrap();
    session.deregister_table("theirs").unwrap();
    session.register_table("theirs", Arc::new(table)).unwrap();
}

fn all_rows(batches: &[RecordBatch]) -> Vec<Row> {
    batches.iter().cloned().flat_map(rows_of).collect()
}

async fn rows(session: &SessionContext, sql: &str) -> Result<Vec<Row>> {
    Ok(all_rows(&session.sql(sql).await?.collect().await?))
}

/// Returns the number of rows that a statement reports as affected.
async fn count(session: &SessionContext, sql: &str) -> Result<u64> {
    let batches = session.sql(sql).await?.collect().await?;
    Ok(batches[0].column(0).as_primitive::<UInt64Type>().value(0))
}

fn literal(data_type: &DataType, value: xtasking_columns::Value) -> Expr {
    // An integer may have another type than the column.
    let of = match &value {
        xtasking_columns::Value::Unsigned(_) if data_type.is_integer() => DataType::UInt64,
        xtasking_columns::Value::Int(_) if data_type.is_integer() => DataType::Int64,
        _ => data_type.clone(),
    };
    let array: ArrayRef = common::array(&of, &[Some(value)]);
    lit(ScalarValue::try_from_array(&array, 0).unwrap())
}

/// Generates a value to compare a column with. Only integers are compared with integers of other
/// types.
fn sql_comparand(data_type: &DataType) -> BoxedStrategy<xtasking_columns::Value> {
    let value = if data_type.is_integer() { comparand(data_type) } else { common::value(data_type) };
    // DataFusion panics when it displays this one.
    let is_date = *data_type == DataType::Date64;
    value
        .prop_filter("dates that DataFusion can display", move |value| !is_date || *value != i64::MIN.into())
        .boxed()
}

fn leaf(column: usize, data_type: &DataType) -> BoxedStrategy<Expr> {
    let of = data_type.clone();
    let value = sql_comparand(data_type).prop_map(move |value| literal(&of, value));
    let column = col(format!("c{column}"));
    let (a, b, c, d, e) = (column.clone(), column.clone(), column.clone(), column.clone(), column.clone());
    let compare = (value.clone(), 0..6, any::<bool>()).prop_map(move |(value, op, swap)| {
        let (left, right) = if swap { (value, a.clone()) } else { (a.clone(), value) };
        match op {
            0 | 1 => left.eq(right),
            2 => left.lt(right),
            3 => left.lt_eq(right),
            4 => left.gt_eq(right),
            _ => left.not_eq(right),
        }
    });
    let between =
        (value.clone(), value.clone(), prop::bool::weighted(0.2)).prop_map(move |(low, high, not)| {
            if not { b.clone().not_between(low, high) } else { b.clone().between(low, high) }
        });
    let list = (prop::collection::vec(value, 1..6), prop::bool::weighted(0.2))
        .prop_map(move |(list, not)| c.clone().in_list(list, not));
    let null =
        any::<bool>().prop_map(move |not| if not { d.clone().is_not_null() } else { d.clone().is_null() });
    let like = prop::sample::select(vec![
        "a%",
        "`%",
        "abcdefgg%",
        "abcdefgh%",
        "%",
        "é%",
        "日本%",
        "a_%",
        "%a",
        "abcdefghia",
    ])
    .prop_map(move |pattern| e.clone().like(lit(pattern)));
    match data_type {
        DataType::Boolean => prop_oneof![compare, null, Just(column.clone()), Just(!column)].boxed(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            prop_oneof![4 => compare, 2 => between, 2 => list, 1 => null, 2 => like].boxed()
        }
        _ => prop_oneof![4 => compare, 3 => between, 2 => list, 1 => null].boxed(),
    }
}

fn condition(schema: &Schema) -> BoxedStrategy<Expr> {
    let leaves: Vec<_> =
        schema.fields().iter().enumerate().map(|(column, field)| leaf(column, field.data_type())).collect();
    let leaf = prop::sample::select((0..leaves.len()).collect::<Vec<_>>())
        .prop_flat_map(move |column| leaves[column].clone());
    leaf.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
            1 => inner.prop_map(|a| !a),
        ]
    })
    .boxed()
}

#[derive(Clone, Debug)]
struct Plan {
    schema: SchemaRef,
    rows: Vec<Row>,
    queries: Vec<(Expr, Vec<bool>)>,
}

fn plan() -> impl Strategy<Value = Plan> {
    common::schema(common::types(), 4).prop_flat_map(|schema| {
        let cells: Vec<_> = schema.fields().iter().map(|field| cell(field)).collect();
        let queries = (condition(&schema), prop::collection::vec(any::<bool>(), schema.fields().len()));
        (prop::collection::vec(cells, 0..40), prop::collection::vec(queries, 1..8))
            .prop_map(move |(rows, queries)| Plan { schema: Arc::new(schema.clone()), rows, queries })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn queries_agree_with_those_on_a_memtable(plan in plan()) {
        block_on(async {
            let session = session(&plan.schema, &plan.rows).await;
            for (condition, some) in &plan.queries {
                let selected = (0..some.len()).filter(|&column| some[column]);
                let columns: Vec<_> = selected.map(|column| col(format!("c{column}"))).collect();
                let found = async |name: &str| {
                    let frame = session.table(name).await?.filter(condition.clone())?;
                    if columns.is_empty() {
                        return frame.count().await.map(|count| vec![vec![Some((count as u64).into())]]);
                    }
                    frame.select(columns.clone())?.collect().await.map(|batches| all_rows(&batches))
                };
                match (found("ours").await, found("theirs").await) {
                    (Ok(ours), Ok(theirs)) => assert_eq!(sorted(ours), sorted(theirs), "{condition}"),
                    // DataFusion cannot coerce some types to a common one.
                    (ours, theirs) => {
                        assert!(ours.is_err() && theirs.is_err(), "{condition}: {ours:?} {theirs:?}");
                    }
                }
            }
        });
    }
}

fn numbers_and_names() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("c0", DataType::Int64, true),
        Field::new("c1", DataType::Utf8, true),
        Field::new("c2", DataType::Int8, true),
    ]))
}

/// Generates conditions in SQL.
fn sql_condition(or: bool) -> BoxedStrategy<String> {
    let name = || prop::sample::select(vec!["", "a", "abcdefgh", "abcdefghi", "é"]);
    let number = || -3..8i64;
    let op = || prop::sample::select(vec!["=", "<", "<=", ">", ">="]);
    let mut leaves = vec![
        (op(), number()).prop_map(|(op, number)| format!("c0 {op} {number}")).boxed(),
        (op(), number()).prop_map(|(op, number)| format!("{number} {op} c2")).boxed(),
        (op(), name()).prop_map(|(op, name)| format!("c1 {op} '{name}'")).boxed(),
        (number(), number()).prop_map(|(a, b)| format!("c0 BETWEEN {a} AND {b}")).boxed(),
        name().prop_map(|name| format!("c1 LIKE '{name}%'")).boxed(),
        Just("c1 IS NULL".to_string()).boxed(),
        Just("c2 IS NOT NULL".to_string()).boxed(),
        Just("c0 = NULL".to_string()).boxed(),
        Just("1 = 0".to_string()).boxed(),
        Just("c2 < 1000".to_string()).boxed(),
        Just("2 > 1".to_string()).boxed(),
    ];
    if or {
        leaves.push(prop::collection::vec(number(), 1..6).prop_map(|list| format!("c0 IN {list:?}")).boxed());
        leaves.push(number().prop_map(|number| format!("c2 <> {number}")).boxed());
    }
    let leaf = prop::sample::select((0..leaves.len()).collect::<Vec<_>>())
        .prop_flat_map(move |which| leaves[which].clone())
        .prop_map(|text| text.replace('[', "(").replace(']', ")"));
    leaf.prop_recursive(3, 5, 2, move |inner| {
        let and = (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})"));
        let or_of = (inner.clone(), inner).prop_map(|(a, b)| format!("({a} OR {b})"));
        if or { prop_oneof![and, or_of].boxed() } else { and.boxed() }
    })
    .boxed()
}

#[derive(Clone, Debug)]
enum Statement {
    Delete(String),
    Update(Vec<(usize, Option<i64>)>, String),
}

fn statement() -> BoxedStrategy<Statement> {
    let set = prop::collection::btree_map(0..3usize, prop::option::of(-3..8i64), 1..3);
    prop_oneof![
        sql_condition(true).prop_map(Statement::Delete),
        (set, sql_condition(false))
            .prop_map(|(set, condition)| Statement::Update(set.into_iter().collect(), condition)),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The remaining or updated rows are those that a query predicts.
    #[test]
    fn statements_change_the_rows_that_their_conditions_select(
        rows_there in prop::collection::vec(
            numbers_and_names().fields().iter().map(|field| cell(field)).collect::<Vec<_>>(),
            0..30,
        ),
        statements in prop::collection::vec(statement(), 1..5),
    ) {
        block_on(async {
            let schema = numbers_and_names();
            let session = session(&schema, &rows_there).await;
            for statement in statements {
                let (sql, condition, expected) = match &statement {
                    Statement::Delete(condition) => {
                        let left = format!("SELECT * FROM theirs WHERE ({condition}) IS NOT TRUE");
                        (format!("DELETE FROM ours WHERE {condition}"), condition, left)
                    }
                    Statement::Update(set, condition) => {
                        let quoted = |column: usize, value: Option<i64>| match (column, value) {
                            (_, None) => "NULL".to_string(),
                            (1, Some(value)) => format!("'text {value}'"),
                            (_, Some(value)) => value.to_string(),
                        };
                        let assignment = |&(column, value)| format!("c{column} = {}", quoted(column, value));
                        let sets: Vec<_> = set.iter().map(assignment).collect();
                        let columns = (0..3).map(|column| match set.iter().find(|(set, _)| *set == column) {
                            Some(&(_, value)) => {
                                let data_type = ["BIGINT", "VARCHAR", "TINYINT"][column];
                                let value = quoted(column, value);
                                let case = format!(
                                    "CASE WHEN {condition} THEN arrow_cast({value}, '{}') \
                                     ELSE c{column} END AS c{column}",
                                    schema.field(column).data_type()
                                );
                                let null = format!("arrow_cast(CAST(NULL AS {data_type})");
                                case.replace("arrow_cast(NULL", &null)
                            }
                            None => format!("c{column}"),
                        });
                        let columns = columns.collect::<Vec<_>>().join(", ");
                        (
                            format!("UPDATE ours SET {} WHERE {condition}", sets.join(", ")),
                            condition,
                            format!("SELECT {columns} FROM theirs"),
                        )
                    }
                };
                let concerned = format!("SELECT * FROM theirs WHERE {condition}");
                let concerned = rows(&session, &concerned).await.unwrap().len();
                let expected = rows(&session, &expected).await.unwrap();
                assert_eq!(count(&session, &sql).await.unwrap(), concerned as u64, "{sql}");
                let found = rows(&session, "SELECT * FROM ours").await.unwrap();
                assert_eq!(sorted(found), sorted(expected.clone()), "{sql}");
                theirs(&session, &schema, &expected);
            }
        });
    }
}

const BOOKINGS: &str = "INSERT INTO bookings VALUES \
    ('A1', 'Hopper', 120.0, 7), ('A1', 'Kelly', 80.0, 7), ('B2', 'Hopper', NULL, 8), \
    ('C3', 'Lovelace', 99.5, 9)";

async fn bookings() -> SessionContext {
    let schema: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("code", DataType::Utf8, false),
        Field::new("name", DataType::Utf8View, false),
        Field::new("fare", DataType::Float64, true),
        Field::new("flight", DataType::Int16, false),
    ]));
    let session = SessionContext::new();
    register(&session, "bookings", table(&schema)).unwrap();
    register(&session, "others", table(&schema)).unwrap();
    assert_eq!(count(&session, BOOKINGS).await.unwrap(), 4);
    session
}

#[test]
fn unsupported_statements_are_rejected_and_change_nothing() {
    block_on(async {
        let session = bookings().await;
        count(&session, &BOOKINGS.replace("bookings", "others")).await.unwrap();
        let refused = [
            "DELETE FROM bookings WHERE code IN (SELECT code FROM others)",
            "DELETE FROM bookings WHERE code NOT IN (SELECT code FROM others WHERE flight = 7)",
            "DELETE FROM bookings WHERE flight = 7 AND code IN (SELECT code FROM others WHERE fare > 100)",
            "DELETE FROM bookings WHERE EXISTS (SELECT 1 FROM others WHERE others.code = bookings.code)",
            "DELETE FROM bookings WHERE fare > (SELECT min(fare) FROM others)",
            "DELETE FROM bookings WHERE fare < flight",
            "DELETE FROM bookings WHERE length(name) > 5",
            "DELETE FROM bookings WHERE name LIKE '%p%'",
            "DELETE FROM bookings WHERE random() < 0.5",
            "UPDATE bookings SET fare = fare + 1",
            "UPDATE bookings SET fare = (SELECT max(fare) FROM others)",
            "UPDATE bookings SET name = code WHERE flight = 7",
            "UPDATE bookings SET fare = 1 WHERE code IN (SELECT code FROM others)",
            "UPDATE bookings SET fare = 1 WHERE flight = 7 OR flight = 8",
            "UPDATE bookings SET fare = others.fare FROM others WHERE others.code = bookings.code",
            "UPDATE bookings SET fare = 1 FROM others",
            "UPDATE bookings SET fare = 1 FROM others WHERE bookings.flight = 7",
            "UPDATE bookings SET fare = 1 FROM others WHERE others.flight = 7",
            "UPDATE bookings SET name = NULL WHERE flight = 7",
            "INSERT OVERWRITE bookings SELECT * FROM others",
            "INSERT INTO bookings (code, fare) VALUES ('D4', 1)",
        ];
        let before = sorted(rows(&session, "SELECT * FROM bookings").await.unwrap());
        for sql in refused {
            let error = rows(&session, sql).await.err().unwrap_or_else(|| panic!("{sql}")).to_string();
            assert!(!error.is_empty());
            assert_eq!(sorted(rows(&session, "SELECT * FROM bookings").await.unwrap()), before, "{sql}");
        }
        let error = rows(&session, refused[0]).await.unwrap_err().to_string();
        assert!(
            error.contains("is rejected and changes nothing: WHERE must compare columns with literals"),
            "{error}"
        );
        let error = rows(&session, "UPDATE bookings SET fare = fare + 1").await.unwrap_err().to_string();
        assert!(error.contains("column fare must be set to a literal"), "{error}");
    });
}

/// A table that was added without `register` accepts inserts, but no other changes.
#[test]
fn unregistered_tables_reject_changes() {
    block_on(async {
        let session = SessionContext::new();
        let schema = numbers_and_names();
        session.register_table("ours", Arc::new(table(&schema))).unwrap();
        assert_eq!(count(&session, "INSERT INTO ours VALUES (1, 'a', 1)").await.unwrap(), 1);
        for sql in ["DELETE FROM ours", "DELETE FROM ours WHERE c0 = 1", "UPDATE ours SET c0 = 2"] {
            let error = rows(&session, sql).await.unwrap_err().to_string();
            assert!(error.contains("xtasking_columns::sql::register"), "{error}");
        }
        assert_eq!(rows(&session, "SELECT * FROM ours WHERE c0 = 1").await.unwrap().len(), 1);
    });
}

#[test]
fn statements_that_change_all_rows_or_none() {
    block_on(async {
        let session = bookings().await;
        for none in ["false", "1 = 0", "fare > NULL", "flight = 100000", "flight = 7 AND flight = 8", "NULL"]
        {
            let sql = format!("DELETE FROM bookings WHERE {none}");
            assert_eq!(count(&session, &sql).await.unwrap(), 0, "{none}");
            let sql = format!("UPDATE bookings SET fare = 0 WHERE {none}");
            assert_eq!(count(&session, &sql).await.unwrap(), 0, "{none}");
        }
        assert_eq!(count(&session, "UPDATE bookings SET fare = 1, flight = 3 + 4").await.unwrap(), 4);
        assert_eq!(
            rows(&session, "SELECT * FROM bookings WHERE fare = 1 AND flight = 7").await.unwrap().len(),
            4
        );
        // EXPLAIN does not execute them.
        rows(&session, "EXPLAIN DELETE FROM bookings").await.unwrap();
        assert_eq!(count(&session, "INSERT INTO bookings SELECT * FROM bookings").await.unwrap(), 4);
        assert_eq!(
            count(&session, "UPDATE bookings AS b SET fare = 2 WHERE b.name = 'Kelly'").await.unwrap(),
            2
        );
        assert_eq!(count(&session, "DELETE FROM bookings WHERE bookings.fare = 2").await.unwrap(), 2);
        let prepared = "PREPARE gone(VARCHAR) AS DELETE FROM bookings WHERE code = $1";
        session.sql(prepared).await.unwrap().collect().await.unwrap();
        assert_eq!(count(&session, "EXECUTE gone('B2')").await.unwrap(), 2);
        assert_eq!(count(&session, "DELETE FROM bookings WHERE true").await.unwrap(), 4);
        assert_eq!(count(&session, BOOKINGS).await.unwrap(), 4);
        assert_eq!(count(&session, "DELETE FROM bookings").await.unwrap(), 4);
        assert_eq!(count(&session, BOOKINGS).await.unwrap(), 4);
        assert_eq!(count(&session, "TRUNCATE TABLE bookings").await.unwrap(), 4);
        assert_eq!(rows(&session, "SELECT * FROM bookings").await.unwrap().len(), 0);
    });
}

/// A statement inserts all of its rows, or none.
#[test]
fn inserts_are_atomic() {
    block_on(async {
        let session = bookings().await;
        let error =
            rows(&session, "INSERT INTO bookings VALUES ('D4', 'Curie', 1, 1), ('D5', NULL, 1, 1)").await;
        assert!(error.is_err());
        assert_eq!(rows(&session, "SELECT * FROM bookings").await.unwrap().len(), 4);
        let none = "INSERT INTO bookings SELECT * FROM bookings WHERE code = 'none'";
        assert_eq!(count(&session, none).await.unwrap(), 0);
    });
}

async fn plan_of(session: &SessionContext, sql: &str) -> String {
    let plan = session.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    displayable(plan.as_ref()).indent(false).to_string()
}

#[test]
fn testable_conditions_are_pushed_down() {
    block_on(async {
        let session = bookings().await;
        let pushed = [
            "code = 'A1'",
            "'A1' = code AND fare BETWEEN 1 AND 100",
            "flight > 7 AND name IS NOT NULL AND fare IS NULL",
            "name LIKE 'Hop%'",
            "flight IN (7, 8, 9, 10, 11, 12)",
            "code = 'A1' AND flight IN (7, 8)",
            "flight < 100000",
        ];
        for condition in pushed {
            let plan = plan_of(&session, &format!("SELECT fare FROM bookings WHERE {condition}")).await;
            assert!(plan.contains("ScanExec: columns=[fare]") && !plan.contains("FilterExec"), "{plan}");
        }
        let others = ["fare < flight", "length(name) = 3", "code = 'A1' OR flight = 7", "name LIKE '%p'"];
        for condition in others {
            let plan = plan_of(&session, &format!("SELECT fare FROM bookings WHERE {condition}")).await;
            assert!(plan.contains("FilterExec"), "{plan}");
        }
        let limited = rows(&session, "SELECT code FROM bookings WHERE flight IN (7, 8, 9) LIMIT 2").await;
        assert_eq!(limited.unwrap().len(), 2);
        let joined =
            "SELECT a.name FROM bookings a JOIN bookings b ON a.code = b.code WHERE b.name = 'Kelly'";
        assert_eq!(rows(&session, joined).await.unwrap().len(), 2);
        let grouped = "SELECT code, count(*), sum(fare), min(name) FROM bookings GROUP BY code ORDER BY code";
        let grouped = rows(&session, grouped).await.unwrap();
        assert_eq!(
            grouped[0],
            [Some("A1".into()), Some(2.into()), Some(200.0.into()), Some("Hopper".into())].map(
                |value: Option<xtasking_columns::Value>| value.map(|value| match value {
                    xtasking_columns::Value::Int(value) => value.into(),
                    value => value,
                })
            )
        );
    });
}

/// The queries of a scan have a bound, though the literals of several `IN` multiply.
#[test]
fn many_literals_of_several_lists_make_few_queries() {
    block_on(async {
        let session = bookings().await;
        let texts = (1..200).map(|number| format!("'A{number}'")).collect::<Vec<_>>().join(", ");
        let numbers = (1..200).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
        let sql = format!(
            "SELECT fare FROM bookings \
             WHERE code IN ({texts}) AND flight IN ({numbers}) AND fare IN ({numbers})"
        );
        let plan = plan_of(&session, &sql).await;
        assert!(plan.contains("FilterExec") && plan.matches("Equals").count() <= 256, "{plan}");
        let expected = rows(&session, "SELECT fare FROM bookings WHERE code = 'A1'").await.unwrap();
        assert_eq!(sorted(rows(&session, &sql).await.unwrap()), sorted(expected));
        let limited = rows(&session, &format!("{sql} LIMIT 1")).await.unwrap();
        assert_eq!(limited.len(), 1);
    });
}

/// Concurrent statements of many tasks, none of which blocks a thread.
#[test]
fn concurrent_statements_see_their_own_changes() {
    for batched in [false, true] {
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        threads.block_on(many_statements(batched));
    }
}

async fn many_statements(batched: bool) {
    let rt = Arc::new(Runtime::builder().workers(2).build().unwrap());
    let columns = Arc::new(Table::new(&rt, numbers_and_names(), 2).unwrap());
    let session = SessionContext::new();
    let ours = match batched {
        true => SqlTable::batched(rt.clone(), columns.clone(), BatchPolicy::default()).unwrap(),
        false => SqlTable::new(rt.clone(), columns.clone()),
    };
    register(&session, "ours", ours).unwrap();
    let tasks: Vec<_> = (0..60)
        .map(|number| {
            let session = session.clone();
            tokio::spawn(async move {
                let insert = format!("INSERT INTO ours VALUES ({number}, 'a', 1), ({number}, 'b', 1)");
                assert_eq!(count(&session, &insert).await.unwrap(), 2);
                let found = rows(&session, &format!("SELECT * FROM ours WHERE c0 = {number}")).await.unwrap();
                assert_eq!(found.len(), 2);
                let delete = format!("DELETE FROM ours WHERE c0 = {number} AND c1 = 'a'");
                assert_eq!(count(&session, &delete).await.unwrap(), 1);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let sum = session.sql("SELECT sum(c0) FROM ours").await.unwrap().collect().await.unwrap();
    assert_eq!(sum[0].column(0).as_primitive::<Int64Type>().value(0), (0..60).sum::<i64>());
    // The effects of SQL are visible to batches.
    let mut batch = Batch::new();
    batch.query(xtasking_columns::Query::rows(xtasking_columns::Filter::all(), ["c1"]));
    assert_eq!(columns.send(&rt, batch).await.unwrap().rows(0).unwrap().num_rows(), 60);
}
