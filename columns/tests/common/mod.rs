//! Conversion between values and Arrow arrays, independent of the code under test, and generators
//! of random values.

#![allow(dead_code, reason = "each test uses some of these items")]

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, BooleanArray, Float32Array, Float64Array, LargeStringArray,
    PrimitiveArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;
use xtasking_columns::Value;

pub type Row = Vec<Option<Value>>;

/// Returns all types that a column can have.
pub fn types() -> Vec<DataType> {
    use DataType::*;
    use TimeUnit::*;
    let zone: Arc<str> = "+01:00".into();
    vec![
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float32,
        Float64,
        Date32,
        Date64,
        Time32(Second),
        Time32(Millisecond),
        Time64(Microsecond),
        Time64(Nanosecond),
        Timestamp(Second, None),
        Timestamp(Millisecond, Some(zone.clone())),
        Timestamp(Microsecond, None),
        Timestamp(Nanosecond, Some(zone)),
        Duration(Second),
        Duration(Millisecond),
        Duration(Microsecond),
        Duration(Nanosecond),
        Decimal32(5, 2),
        Decimal64(18, 2),
        Utf8,
        LargeUtf8,
        Utf8View,
    ]
}

/// Calls a function with the Arrow type of an array of integers.
macro_rules! for_integer_type {
    ($data_type:expr, $call:ident($($argument:expr),*)) => {
        match $data_type {
            DataType::Int8 => $call::<Int8Type>($($argument),*),
            DataType::Int16 => $call::<Int16Type>($($argument),*),
            DataType::Int32 => $call::<Int32Type>($($argument),*),
            DataType::Int64 => $call::<Int64Type>($($argument),*),
            DataType::UInt8 => $call::<UInt8Type>($($argument),*),
            DataType::UInt16 => $call::<UInt16Type>($($argument),*),
            DataType::UInt32 => $call::<UInt32Type>($($argument),*),
            DataType::UInt64 => $call::<UInt64Type>($($argument),*),
            DataType::Date32 => $call::<Date32Type>($($argument),*),
            DataType::Date64 => $call::<Date64Type>($($argument),*),
            DataType::Time32(TimeUnit::Second) => $call::<Time32SecondType>($($argument),*),
            DataType::Time32(_) => $call::<Time32MillisecondType>($($argument),*),
            DataType::Time64(TimeUnit::Microsecond) => $call::<Time64MicrosecondType>($($argument),*),
            DataType::Time64(_) => $call::<Time64NanosecondType>($($argument),*),
            DataType::Timestamp(TimeUnit::Second, _) => $call::<TimestampSecondType>($($argument),*),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                $call::<TimestampMillisecondType>($($argument),*)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                $call::<TimestampMicrosecondType>($($argument),*)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => $call::<TimestampNanosecondType>($($argument),*),
            DataType::Duration(TimeUnit::Second) => $call::<DurationSecondType>($($argument),*),
            DataType::Duration(TimeUnit::Millisecond) => $call::<DurationMillisecondType>($($argument),*),
            DataType::Duration(TimeUnit::Microsecond) => $call::<DurationMicrosecondType>($($argument),*),
            DataType::Duration(TimeUnit::Nanosecond) => $call::<DurationNanosecondType>($($argument),*),
            DataType::Decimal32(..) => $call::<Decimal32Type>($($argument),*),
            DataType::Decimal64(..) => $call::<Decimal64Type>($($argument),*),
            other => panic!("{other} is not a type of integers"),
        }
    };
}

/// Returns the integer of a value, regardless of its type.
pub fn integer(value: &Value) -> Option<i128> {
    match *value {
        Value::Int(value) => Some(value.into()),
        Value::Unsigned(value) => Some(value.into()),
        _ => None,
    }
}

/// Compares two values of one column.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        _ => integer(a).expect("both are integers").cmp(&integer(b).expect("both are integers")),
    }
}

fn integers<T: ArrowPrimitiveType>(values: &[Option<Value>], data_type: &DataType) -> ArrayRef
where
    T::Native: TryFrom<i128>,
{
    let native = |value: &Value| {
        integer(value).and_then(|integer| T::Native::try_from(integer).ok()).expect("the value fits its type")
    };
    let array = PrimitiveArray::<T>::from_iter(values.iter().map(|value| value.as_ref().map(native)));
    Arc::new(array.with_data_type(data_type.clone()))
}

/// Builds an array of values of this type.
pub fn array(data_type: &DataType, values: &[Option<Value>]) -> ArrayRef {
    let bools = || values.iter().map(|value| value.as_ref().map(|value| *value == Value::Bool(true)));
    let floats = || {
        values.iter().map(|value| match value {
            Some(Value::Float(value)) => Some(*value),
            _ => None,
        })
    };
    let texts = || {
        values.iter().map(|value| match value {
            Some(Value::Text(text)) => Some(&**text),
            _ => None,
        })
    };
    match data_type {
        DataType::Boolean => Arc::new(bools().collect::<BooleanArray>()),
        DataType::Float32 => {
            Arc::new(floats().map(|value| value.map(|value| value as f32)).collect::<Float32Array>())
        }
        DataType::Float64 => Arc::new(floats().collect::<Float64Array>()),
        DataType::Utf8 => Arc::new(texts().collect::<StringArray>()),
        DataType::LargeUtf8 => Arc::new(texts().collect::<LargeStringArray>()),
        DataType::Utf8View => Arc::new(texts().collect::<StringViewArray>()),
        _ => for_integer_type!(data_type, integers(values, data_type)),
    }
}

/// Builds rows of a schema.
pub fn batch(schema: &Schema, rows: &[Row]) -> RecordBatch {
    let columns = schema.fields().iter().enumerate().map(|(index, field)| {
        let values: Vec<_> = rows.iter().map(|row| row[index].clone()).collect();
        array(field.data_type(), &values)
    });
    RecordBatch::try_new(Arc::new(schema.clone()), columns.collect()).expect("the columns match the schema")
}

fn back<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Value
where
    T::Native: Into<i128>,
{
    let value: i128 = array.as_primitive::<T>().value(row).into();
    match array.data_type().is_unsigned_integer() {
        true => Value::Unsigned(value as u64),
        false => Value::Int(value as i64),
    }
}

/// Returns the value of a row in an array.
pub fn value_of(array: &dyn Array, row: usize) -> Option<Value> {
    array.is_valid(row).then(|| match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        data_type => for_integer_type!(data_type, back(array, row)),
    })
}

/// Returns all rows.
pub fn rows_of(batch: RecordBatch) -> Vec<Row> {
    let row = |row| batch.columns().iter().map(|array| value_of(array, row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// Formats and sorts rows, whose order is unspecified.
pub fn sorted(rows: Vec<Row>) -> Vec<String> {
    let mut rows: Vec<_> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// Returns the least and the greatest number of a type.
fn ends(data_type: &DataType) -> (i128, i128) {
    fn of<T: ArrowPrimitiveType>() -> (i128, i128)
    where
        T::Native: Into<i128>,
    {
        (T::Native::MIN_TOTAL_ORDER.into(), T::Native::MAX_TOTAL_ORDER.into())
    }
    match data_type {
        DataType::Decimal32(digits, _) | DataType::Decimal64(digits, _) => {
            let max_columns = 10i128.pow((*digits).into()) - 1;
            (-max_columns, max_columns)
        }
        _ => for_integer_type!(data_type, of()),
    }
}

/// Generates texts with common prefixes, trailing zeros, and characters of several bytes.
fn text() -> BoxedStrategy<Value> {
    const SOME: [&str; 12] = [
        "",
        "\0",
        "a",
        "a\0",
        "ab",
        "abcdefgh",
        "abcdefgh\0",
        "abcdefghi",
        "abcdefghia",
        "é",
        "日本語テキスト",
        "日本語",
    ];
    prop_oneof![4 => prop::sample::select(&SOME[..]).prop_map(str::to_string), 1 => "[a\0é]{0,12}"]
        .prop_map(Value::from)
        .boxed()
}

/// Generates a few values of a type, so that many are equal, and the extremes.
pub fn value(data_type: &DataType) -> BoxedStrategy<Value> {
    match data_type {
        DataType::Boolean => any::<bool>().prop_map(Value::Bool).boxed(),
        DataType::Float32 | DataType::Float64 => {
            let least = if *data_type == DataType::Float32 { f32::MIN.into() } else { f64::MIN };
            let ends = prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-0.0), Just(least)];
            prop_oneof![8 => (-6i8..6).prop_map(|half| f64::from(half) / 2.0), 1 => ends]
                .prop_map(Value::Float)
                .boxed()
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => text(),
        _ => {
            let (least, greatest) = ends(data_type);
            let some = (least.max(-6)..6).prop_map(|value| value as i64);
            let is_unsigned = data_type.is_unsigned_integer();
            let value = move |value: i128| match is_unsigned {
                true => Value::Unsigned(value as u64),
                false => Value::Int(value as i64),
            };
            prop_oneof![8 => some.prop_map(i128::from), 1 => Just(least), 1 => Just(greatest)]
                .prop_map(value)
                .boxed()
        }
    }
}

/// Generates a value to compare a column with. Integers may have any type.
pub fn comparand(data_type: &DataType) -> BoxedStrategy<Value> {
    let others =
        [Value::Int(300), Value::Int(-300), Value::Int(2), Value::Unsigned(2), Value::Unsigned(u64::MAX)];
    let of_type = value(data_type);
    match data_type {
        DataType::Boolean | DataType::Float32 | DataType::Float64 => of_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => of_type,
        _ => prop_oneof![6 => of_type, 1 => prop::sample::select(others.to_vec()).boxed()].boxed(),
    }
}

/// Generates a schema of columns named `c0` and so on.
pub fn schema(types: Vec<DataType>, max_columns: usize) -> BoxedStrategy<Schema> {
    let field = |(index, (data_type, nullable)): (usize, (DataType, bool))| {
        Field::new(format!("c{index}"), data_type, nullable)
    };
    let columns = prop::collection::vec((prop::sample::select(types), any::<bool>()), 1..=max_columns);
    columns
        .prop_map(move |columns| Schema::new(columns.into_iter().enumerate().map(field).collect::<Vec<_>>()))
        .boxed()
}

/// Generates a value of a column, or null.
pub fn cell(field: &Field) -> BoxedStrategy<Option<Value>> {
    let nulls = u32::from(field.is_nullable());
    prop_oneof![4 => value(field.data_type()).prop_map(Some), nulls => Just(None)].boxed()
}
