//! Values as arrays of Arrow and back, made without anything that is tested; and random ones.

#![allow(dead_code, reason = "each test takes a part of it")]

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

/// All types that columns can have.
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

/// Calls a function for the type that an array of whole numbers has.
macro_rules! for_whole {
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
            DataType::Timestamp(TimeUnit::Millisecond, _) => $call::<TimestampMillisecondType>($($argument),*),
            DataType::Timestamp(TimeUnit::Microsecond, _) => $call::<TimestampMicrosecondType>($($argument),*),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => $call::<TimestampNanosecondType>($($argument),*),
            DataType::Duration(TimeUnit::Second) => $call::<DurationSecondType>($($argument),*),
            DataType::Duration(TimeUnit::Millisecond) => $call::<DurationMillisecondType>($($argument),*),
            DataType::Duration(TimeUnit::Microsecond) => $call::<DurationMicrosecondType>($($argument),*),
            DataType::Duration(TimeUnit::Nanosecond) => $call::<DurationNanosecondType>($($argument),*),
            DataType::Decimal32(..) => $call::<Decimal32Type>($($argument),*),
            DataType::Decimal64(..) => $call::<Decimal64Type>($($argument),*),
            other => panic!("{other} is no type of whole numbers"),
        }
    };
}

/// A whole number, whatever its type.
pub fn whole(value: &Value) -> Option<i128> {
    match *value {
        Value::Int(value) => Some(value.into()),
        Value::Unsigned(value) => Some(value.into()),
        _ => None,
    }
}

/// Values have an order, those of one column all the more.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        _ => whole(a).expect("of one family").cmp(&whole(b).expect("of one family")),
    }
}

fn wholes<T: ArrowPrimitiveType>(values: &[Option<Value>], data_type: &DataType) -> ArrayRef
where
    T::Native: TryFrom<i128>,
{
    let native =
        |value: &Value| whole(value).and_then(|whole| T::Native::try_from(whole).ok()).expect("it fits");
    let array = PrimitiveArray::<T>::from_iter(values.iter().map(|value| value.as_ref().map(native)));
    Arc::new(array.with_data_type(data_type.clone()))
}

/// An array of these values, which are of that type.
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
        _ => for_whole!(data_type, wholes(values, data_type)),
    }
}

/// Rows of columns of these types and names.
pub fn batch(schema: &Schema, rows: &[Row]) -> RecordBatch {
    let columns = schema.fields().iter().enumerate().map(|(index, field)| {
        let values: Vec<_> = rows.iter().map(|row| row[index].clone()).collect();
        array(field.data_type(), &values)
    });
    RecordBatch::try_new(Arc::new(schema.clone()), columns.collect()).expect("columns of the schema")
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

/// What an array has in a row.
pub fn value_of(array: &dyn Array, row: usize) -> Option<Value> {
    array.is_valid(row).then(|| match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        data_type => for_whole!(data_type, back(array, row)),
    })
}

/// All rows.
pub fn rows_of(batch: RecordBatch) -> Vec<Row> {
    let row = |row| batch.columns().iter().map(|array| value_of(array, row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// Rows as texts in order: as their order is not told.
pub fn sorted(rows: Vec<Row>) -> Vec<String> {
    let mut rows: Vec<_> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// The least and the greatest number that a type holds.
fn ends(data_type: &DataType) -> (i128, i128) {
    fn of<T: ArrowPrimitiveType>() -> (i128, i128)
    where
        T::Native: Into<i128>,
    {
        (T::Native::MIN_TOTAL_ORDER.into(), T::Native::MAX_TOTAL_ORDER.into())
    }
    match data_type {
        DataType::Decimal32(digits, _) | DataType::Decimal64(digits, _) => {
            let most = 10i128.pow((*digits).into()) - 1;
            (-most, most)
        }
        _ => for_whole!(data_type, of()),
    }
}

/// Texts that begin alike, end in zeros, or have letters of several bytes.
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

/// A few different values of a type, so that many are equal, and the ends of what there is.
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

/// A value that a column may be compared with: whole numbers are of any type.
pub fn asked(data_type: &DataType) -> BoxedStrategy<Value> {
    let others =
        [Value::Int(300), Value::Int(-300), Value::Int(2), Value::Unsigned(2), Value::Unsigned(u64::MAX)];
    let of_type = value(data_type);
    match data_type {
        DataType::Boolean | DataType::Float32 | DataType::Float64 => of_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => of_type,
        _ => prop_oneof![6 => of_type, 1 => prop::sample::select(others.to_vec()).boxed()].boxed(),
    }
}

/// A schema of some columns, named `c0` and so on.
pub fn schema(types: Vec<DataType>, most: usize) -> BoxedStrategy<Schema> {
    let field = |(index, (data_type, nullable)): (usize, (DataType, bool))| {
        Field::new(format!("c{index}"), data_type, nullable)
    };
    let columns = prop::collection::vec((prop::sample::select(types), any::<bool>()), 1..=most);
    columns
        .prop_map(move |columns| Schema::new(columns.into_iter().enumerate().map(field).collect::<Vec<_>>()))
        .boxed()
}

/// What a row may have in a column.
pub fn cell(field: &Field) -> BoxedStrategy<Option<Value>> {
    let nulls = u32::from(field.is_nullable());
    prop_oneof![4 => value(field.data_type()).prop_map(Some), nulls => Just(None)].boxed()
}
