//! Loaded rows equal the written ones, and incomplete files are errors.

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use common::{Row, cell, rows_of, sorted};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use xtasking::Runtime;
use xtasking_columns::load::{Cause, Csv, LoadError, Source};
use xtasking_columns::{Aggregate, Batch, Failure, Filter, Query, Table};

fn runtime() -> Runtime {
    Runtime::builder().workers(2).build().unwrap()
}

/// Creates a table with the source's columns, and loads it.
fn load(rt: &Runtime, source: Source) -> Result<(Table, u64), LoadError> {
    let table = Table::new(rt, source.schema().clone(), 2).unwrap();
    let rows = table.load(rt, source)?;
    Ok((table, rows))
}

fn all(rt: &Runtime, table: &Table) -> Vec<Row> {
    let mut batch = Batch::new();
    let names = table.schema().fields().iter().map(|field| field.name().clone());
    batch.query(Query::rows(Filter::all(), names));
    rows_of(table.run(rt, batch).unwrap().rows(0).unwrap())
}

fn count(rt: &Runtime, table: &Table) -> i64 {
    let mut batch = Batch::new();
    batch.query(Query::aggregates(Filter::all(), [Aggregate::Count]));
    table.run(rt, batch).unwrap().rows(0).unwrap().column(0).as_primitive::<Int64Type>().value(0)
}

fn file(dir: &TempDir, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    File::create(&path).unwrap().write_all(text.as_ref()).unwrap();
    path
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Parquet(Compression),
    File,
    Stream,
}

fn formats() -> Vec<Format> {
    let gzip = Compression::GZIP(GzipLevel::default());
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let all = [Compression::UNCOMPRESSED, Compression::SNAPPY, gzip, Compression::LZ4_RAW, zstd];
    all.map(Format::Parquet).into_iter().chain([Format::File, Format::Stream]).collect()
}

impl Format {
    /// Returns a file with these rows.
    fn written(self, batches: &[RecordBatch]) -> Vec<u8> {
        let mut written = Vec::new();
        let schema = batches[0].schema();
        match self {
            Self::Parquet(compression) => {
                let properties = WriterProperties::builder().set_compression(compression).build();
                let mut writer = ArrowWriter::try_new(&mut written, schema, Some(properties)).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.close().unwrap();
            }
            Self::File => {
                let mut writer = FileWriter::try_new(&mut written, &schema).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.finish().unwrap();
            }
            Self::Stream => {
                let mut writer = StreamWriter::try_new(&mut written, &schema).unwrap();
                batches.iter().for_each(|batch| writer.write(batch).unwrap());
                writer.finish().unwrap();
            }
        }
        written
    }

    fn open(self, path: &PathBuf) -> Result<Source, LoadError> {
        match self {
            Self::Parquet(_) => Source::parquet(path),
            Self::File | Self::Stream => Source::ipc(path),
        }
    }
}

fn some() -> impl Strategy<Value = (SchemaRef, Vec<Row>)> {
    common::schema(common::types(), 6).prop_flat_map(|schema| {
        let cells: Vec<_> = schema.fields().iter().map(|field| cell(field)).collect();
        (Just(Arc::new(schema)), prop::collection::vec(cells, 1..20))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn loaded_rows_equal_the_written_ones(
        (schema, rows) in some(),
        format in prop::sample::select(formats()),
    ) {
        let dir = TempDir::new().unwrap();
        let written = format.written(&[common::batch(&schema, &rows)]);
        let rt = runtime();
        let (table, count) = load(&rt, format.open(&file(&dir, "rows", written)).unwrap()).unwrap();
        prop_assert_eq!(count, rows.len() as u64);
        prop_assert_eq!(sorted(all(&rt, &table)), sorted(rows));
    }
}

fn numbers(from: i64, count: i64) -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("number", DataType::Int64, false),
        Field::new("text", DataType::Utf8, false),
    ]);
    let numbers = Int64Array::from_iter_values(from..from + count);
    let texts = StringArray::from_iter_values((from..from + count).map(|number| format!("number {number}")));
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
}

#[test]
fn many_rows_are_loaded_in_batches() {
    let (rt, dir) = (runtime(), TempDir::new().unwrap());
    let batches = [numbers(0, 150_000), numbers(150_000, 1), numbers(150_001, 70_000)];
    for format in [Format::Parquet(Compression::SNAPPY), Format::File, Format::Stream] {
        let path = file(&dir, "many", format.written(&batches));
        let (table, rows) = load(&rt, format.open(&path).unwrap()).unwrap();
        assert_eq!((rows, count(&rt, &table)), (220_001, 220_001), "{format:?}");
        let mut batch = Batch::new();
        batch.query(Query::rows(Filter::all().equals("text", "number 219999"), ["number"]));
        batch.query(Query::aggregates(Filter::all(), [Aggregate::Sum("number".into())]));
        let answers = table.run(&rt, batch).unwrap();
        let one = |query| answers.rows(query).unwrap().column(0).as_primitive::<Int64Type>().value(0);
        assert_eq!((one(0), one(1)), (219_999, (0..220_001).sum()));
    }
}

/// A worker cannot wait for the rows, so it inserts none.
#[test]
fn a_task_that_loads_changes_nothing() {
    let rt = Arc::new(Runtime::builder().workers(2).build().unwrap());
    let rows = numbers(0, 10);
    let table = Arc::new(Table::new(&rt, rows.schema(), 2).unwrap());
    let loaded = {
        let (rt, table) = (rt.clone(), table.clone());
        let handle = rt.clone().task(()).submit(move |(), _| {
            let mut batch = Batch::new();
            batch.insert(rows.clone());
            let run = table.run(&rt, batch).err();
            let reader = RecordBatchIterator::new([Ok(rows.clone())], rows.schema());
            (run, table.load(&rt, Source::new("rows", reader)).map_err(|error| error.to_string()))
        });
        handle.join().unwrap()
    };
    assert!(matches!(loaded.0, Some(Failure::Lost(_))));
    assert!(loaded.1.unwrap_err().contains("a worker cannot wait"));
    assert_eq!(count(&rt, &table), 0);
}

/// A truncated file is an error, or a part of the rows where the format allows that. It is never
/// more, and nothing panics.
#[test]
fn truncated_files_are_errors() {
    let (rt, dir) = (runtime(), TempDir::new().unwrap());
    for format in formats() {
        let whole = format.written(&[numbers(0, 50), numbers(50, 50)]);
        for length in (0..whole.len()).step_by(whole.len() / 60) {
            let path = file(&dir, "cut", &whole[..length]);
            match (format, format.open(&path).and_then(|source| load(&rt, source))) {
                (_, Err(error)) => {
                    assert!(error.to_string().starts_with(&format!("{}: cannot be read: ", path.display())));
                    assert!(matches!(error.cause(), Cause::Read(_)));
                }
                (Format::Stream, Ok((_, rows))) => assert!(rows == 0 || rows == 50 || rows == 100, "{rows}"),
                (_, Ok((_, rows))) => panic!("{format:?} cut at {length} of {}: {rows}", whole.len()),
            }
        }
    }
}

#[test]
fn files_of_another_format_are_errors() {
    let dir = TempDir::new().unwrap();
    let garbage: Vec<u8> =
        (0..5000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let garbage = file(&dir, "garbage", garbage);
    let absent = dir.path().join("absent");
    type Open = fn(&PathBuf) -> Result<Source, LoadError>;
    let opened: [Open; 3] =
        [|path| Source::parquet(path), |path| Source::ipc(path), |path| Source::csv(path, &Csv::default())];
    for open in opened {
        let error = open(&garbage).err().expect("garbage is not a file of any format");
        assert!(matches!(error.cause(), Cause::Read(_)), "{error}");
        let error = open(&absent).err().expect("the file does not exist");
        assert!(matches!(error.cause(), Cause::Open(_)), "{error}");
        assert_eq!(error.source_name(), absent.display().to_string());
        let error = open(&dir.path().to_path_buf()).err().expect("a directory is not a file");
        assert!(error.to_string().contains("directory"), "{error}");
    }
    // The first bytes of a format do not make a file of it.
    for magic in ["PAR1", "ARROW1\0\0"] {
        let path = file(&dir, "magic", magic.repeat(20));
        assert!(Source::parquet(&path).is_err() && Source::ipc(&path).is_err(), "{magic}");
    }
}

#[test]
fn types_of_csv_are_inferred() {
    let (rt, dir) = (runtime(), TempDir::new().unwrap());
    let text = "number;share;day;at;is;name;none\n\
                1;0.5;2026-11-23;2026-11-23T08:30:00;true;\"Hopper; Grace\";\n\
                ;2;;;false;;\n\
                3;;2026-11-24;2026-11-24T08:30:00;;\"a \"\"b\"\"\";\n";
    let csv = Csv::default().delimiter(b';');
    let path = file(&dir, "guessed.csv", text);
    let source = Source::csv(&path, &csv).unwrap();
    let types: Vec<_> = source.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types, ["Int64", "Float64", "Date32", "Timestamp(s)", "Boolean", "Utf8", "Utf8"]);
    let (table, rows) = load(&rt, source).unwrap();
    let mut expected = [
        "[Some(Int(1)), Some(Float(0.5)), Some(Int(20780)), Some(Int(1795422600)), Some(Bool(true)), \
         Some(Text(\"Hopper; Grace\")), None]",
        "[Some(Int(3)), None, Some(Int(20781)), Some(Int(1795509000)), None, \
         Some(Text(\"a \\\"b\\\"\")), None]",
        "[None, Some(Float(2.0)), None, None, Some(Bool(false)), None, None]",
    ];
    expected.sort_unstable();
    assert_eq!((rows, sorted(all(&rt, &table))), (3, expected.map(str::to_string).to_vec()));
    // Some columns, in another order, and without a header.
    let source = Source::csv(&path, &csv).unwrap().select(["name", "number"]).unwrap();
    let (table, _) = load(&rt, source).unwrap();
    let first = all(&rt, &table).into_iter().find(|row| row[1] == Some(1.into())).unwrap();
    assert_eq!(first[0], Some("Hopper; Grace".into()));
    let path = file(&dir, "plain.csv", "1,a\n2,b\n");
    let (table, rows) = load(&rt, Source::csv(&path, &Csv::default().has_header(false)).unwrap()).unwrap();
    assert_eq!((rows, table.schema().field(1).name().as_str()), (2, "column_2"));
}

#[test]
fn malformed_rows_of_csv_are_errors() {
    let (rt, dir) = (runtime(), TempDir::new().unwrap());
    let mut text = "number,name\n".to_string();
    (0..70_000).for_each(|number| text.push_str(&format!("{number},name\n")));
    text.push_str("many,name\n");
    let path = file(&dir, "wrong.csv", &text);
    let source = Source::csv(&path, &Csv::default()).unwrap();
    let table = Table::new(&rt, source.schema().clone(), 2).unwrap();
    let error = table.load(&rt, source).unwrap_err();
    assert_eq!(error.rows(), 65_536);
    assert_eq!(count(&rt, &table), 65_536);
    let said = error.to_string();
    for part in ["wrong.csv", "'many'", "column 0", "line 70001", "(65536 earlier rows are in the table)"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Too few fields, bytes that are not UTF-8, and other names or types.
    let schema = Arc::new(Schema::new(vec![
        Field::new("number", DataType::Int8, false),
        Field::new("name", DataType::Utf8, true),
    ]));
    let given = Csv::default().schema(schema.clone());
    let wrong: [(&[u8], &str); 5] = [
        (b"number,name\n1\n", "incorrect number of fields for line 2"),
        (b"number,name\n1,\xff\n", "UTF-8"),
        (b"number,names\n1,a\n", "names"),
        (b"number,name\n1,a\n300,a\n", "'300'"),
        (b"number,name\n,a\n", "number"),
    ];
    for (text, part) in wrong {
        let source = Source::csv(file(&dir, "wrong.csv", text), &given).unwrap();
        let error = load(&rt, source).err().expect(part);
        assert!(error.to_string().contains(part) && error.rows() == 0, "{part}: {error}");
    }
    let (_, rows) =
        load(&rt, Source::csv(file(&dir, "a.csv", "number,name\n1,a\n"), &given).unwrap()).unwrap();
    assert_eq!(rows, 1);
}

/// Columns are matched by name. Absent columns, and those of another type, are errors before
/// anything is read.
#[test]
fn columns_are_matched_by_name() {
    let (rt, dir) = (runtime(), TempDir::new().unwrap());
    let field = |name: &str, data_type: DataType| Field::new(name, data_type, true);
    let table = |fields: Vec<Field>| Table::new(&rt, Arc::new(Schema::new(fields)), 2).unwrap();
    for format in [Format::Parquet(Compression::SNAPPY), Format::File, Format::Stream] {
        let path = file(&dir, "rows", format.written(&[numbers(0, 10)]));
        let source = || format.open(&path).unwrap();
        let other_way = table(vec![field("text", DataType::Utf8View), field("number", DataType::Int64)]);
        assert_eq!(other_way.load(&rt, source()).unwrap(), 10);
        assert_eq!(all(&rt, &other_way).iter().filter(|row| row[0] == Some("number 7".into())).count(), 1);
        let one = table(vec![field("text", DataType::Utf8)]);
        assert_eq!(one.load(&rt, source()).unwrap(), 10);
        let twice = source().select(["text", "number"]).unwrap().select(["number"]).unwrap();
        assert_eq!(load(&rt, twice).unwrap().0.schema().fields().len(), 1);

        let more = table(vec![field("text", DataType::Utf8), field("more", DataType::Int64)]);
        let error = more.load(&rt, source()).unwrap_err();
        assert!(
            matches!(error.cause(), Cause::Refused(Failure::NoColumn(name)) if name == "more"),
            "{error}"
        );
        let narrow = table(vec![field("number", DataType::Int32)]);
        let error = narrow.load(&rt, source()).unwrap_err();
        assert!(
            error.to_string().ends_with("column `number`: expected type Int32, found Int64; cast the rows"),
            "{error}"
        );
        assert_eq!((error.rows(), count(&rt, &narrow), count(&rt, &more)), (0, 0, 0));
    }
    let wide = Arc::new(Schema::new(vec![Field::new("price", DataType::Decimal128(20, 2), true)]));
    let path = file(&dir, "wide", Format::File.written(&[RecordBatch::new_empty(wide)]));
    let failure = Table::new(&rt, Source::ipc(path).unwrap().schema().clone(), 2).err().unwrap();
    assert!(matches!(&failure, Failure::Unsupported { column, .. } if column == "price"), "{failure}");
}

/// Rows read before an error are in the table, and count. Nulls that cannot be stored are an error.
#[test]
fn rows_before_a_read_error_are_kept() {
    let rt = runtime();
    let schema = numbers(0, 1).schema();
    let table = Table::new(&rt, schema.clone(), 2).unwrap();
    let failed = Err(ArrowError::ComputeError("the cable was cut".into()));
    let rows = vec![Ok(numbers(0, 5)), Ok(numbers(5, 7)), failed, Ok(numbers(12, 1))];
    let error = table.load(&rt, Source::new("a cable", RecordBatchIterator::new(rows, schema))).unwrap_err();
    assert!(error.to_string().starts_with("a cable: cannot be read: "), "{error}");
    assert_eq!((error.rows(), count(&rt, &table)), (12, 12));
    let nullable = Arc::new(Schema::new(vec![
        Field::new("number", DataType::Int64, true),
        Field::new("text", DataType::Utf8, true),
    ]));
    let null = RecordBatch::try_new(
        nullable.clone(),
        vec![Arc::new(Int64Array::from(vec![None])), Arc::new(StringArray::from(vec!["a"]))],
    );
    let rows = vec![Ok(numbers(0, 1)), null, Ok(numbers(1, 1))];
    let error = table.load(&rt, Source::new("nulls", RecordBatchIterator::new(rows, nullable))).unwrap_err();
    assert!(
        matches!(error.cause(), Cause::Refused(Failure::NotNullable(name)) if name == "number"),
        "{error}"
    );
    assert_eq!(count(&rt, &table), 12 + i64::try_from(error.rows()).unwrap());
}
