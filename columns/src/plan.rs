//! Requests, checked against a schema: names are numbers of columns, values are words and texts.

use crate::answer::Failure;
use crate::chunk::{Cell, Chunk};
use crate::request::{Aggregate, Change, Filter, Output, Query, Test};
use crate::text::{self, Exact};
use crate::types::{Place, Strings, Type};
use crate::value::{Kind, Value};
use ahash::RandomState;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

/// The columns of a table, and what they keep.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub schema: SchemaRef,
    /// What each column of words keeps. All numbers of columns are those of these, unless it is said otherwise.
    pub kinds: Arc<[Kind]>,
    /// The columns of the schema by their names.
    names: Arc<HashMap<String, usize, RandomState>>,
    /// Of each column of the schema: what it is, and which is its column of words. That of a text's hashes comes next to it.
    fields: Arc<[(usize, Type)]>,
}

/// Something that is asked of one column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// The key of its word lies between these, which are included. A null does not.
    Keys { column: usize, kind: Kind, low: u64, high: u64 },
    /// It is a null, or is none.
    Null { column: usize, is_null: bool },
}

impl Check {
    pub fn column(self) -> usize {
        match self {
            Self::Keys { column, .. } | Self::Null { column, .. } => column,
        }
    }

    /// Whether a row of a chunk passes. Both loads are made at once, whatever the first one says.
    #[inline(always)]
    pub fn passes(&self, chunk: &Chunk, row: usize) -> bool {
        let column = &chunk.columns[self.column()];
        let (word, is_valid) = (column.words()[row], column.valid.get(row));
        match *self {
            Self::Keys { kind, low, high, .. } => is_valid & (low..=high).contains(&kind.key(word)),
            Self::Null { is_null, .. } => is_valid != is_null,
        }
    }
}

/// What a row has to pass: checks of words, and then of texts, by their columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks(pub Vec<Check>, pub Vec<(usize, Exact)>);

impl Checks {
    /// Whether a row passes.
    pub fn hold(&self, chunk: &Chunk, row: usize) -> bool {
        self.0.iter().all(|check| check.passes(chunk, row)) && self.hold_exactly(chunk, row)
    }

    /// Whether a row passes whose words do.
    #[inline]
    pub fn hold_exactly(&self, chunk: &Chunk, row: usize) -> bool {
        self.1.iter().all(|(column, exact)| exact.holds(&chunk.columns[*column], row))
    }
}

/// Rows that are to be added.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub columns: Vec<Added>,
    pub count: usize,
}

/// What is added to a column of words.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub words: ScalarBuffer<u64>,
    pub nulls: Option<NullBuffer>,
    pub texts: Option<Strings>,
}

impl Rows {
    /// What a row has in each column.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Cell<'_>> {
        self.columns.iter().map(move |column| {
            if column.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Cell::default();
            }
            let text = column.texts.as_ref().map_or("", |texts| texts.get(row));
            Cell { word: Some(column.words[row]), text }
        })
    }
}

/// What is put into a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    word: Option<u64>,
    text: Option<Arc<str>>,
}

impl Entry {
    pub fn cell(&self) -> Cell<'_> {
        Cell { word: self.word, text: self.text.as_deref().unwrap_or_default() }
    }
}

/// A change.
#[derive(Clone, Debug)]
pub(crate) enum Planned {
    Insert(Rows),
    Set(Checks, Vec<(usize, Entry)>),
    Delete(Checks),
}

impl Planned {
    /// Which rows are concerned, if those are concerned that are there.
    pub fn checks(&self) -> Option<&Checks> {
        match self {
            Self::Insert(_) => None,
            Self::Set(checks, _) | Self::Delete(checks) => Some(checks),
        }
    }
}

/// What is made of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Made {
    Count,
    CountOf(usize),
    Sum(usize, Kind),
    Min(usize, Kind),
    Max(usize, Kind),
}

/// What a query gives out.
#[derive(Clone, Debug)]
pub(crate) enum Gives {
    Rows(Vec<(usize, Kind)>),
    Aggregates(Vec<Made>),
}

/// A query.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub checks: Checks,
    /// What it gives out, and its place among those that give out the same.
    pub shape: usize,
    pub place: u32,
}

/// What some queries of a batch give out.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub gives: Gives,
    pub schema: SchemaRef,
    /// How many queries these are.
    pub queries: usize,
}

/// The queries of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Questions {
    pub all: Vec<Asked>,
    pub shapes: Vec<Shape>,
}

impl Questions {
    /// The shape of a query, if it makes something of rows that pass by their words alone.
    pub fn folds(&self, asked: &Asked) -> Option<usize> {
        let makes = matches!(self.shapes[asked.shape].gives, Gives::Aggregates(_));
        (makes && asked.checks.1.is_empty()).then_some(asked.shape)
    }
}

impl Columns {
    pub fn new(schema: SchemaRef) -> Result<Self, Failure> {
        let (mut kinds, mut fields) = (Vec::new(), Vec::new());
        for field in schema.fields() {
            let is = Type::of(field.data_type()).ok_or_else(|| Failure::Unsupported {
                column: field.name().clone(),
                data_type: field.data_type().to_string(),
            })?;
            fields.push((kinds.len(), is));
            kinds.push(is.kind());
            if is == Type::Text {
                kinds.push(Kind::Unsigned);
            }
        }
        let numbers = schema.fields().iter().enumerate();
        // Of columns with the same name the first is meant, as in Arrow.
        let names = numbers.rev().map(|(number, field)| (field.name().clone(), number)).collect();
        Ok(Self { schema, kinds: kinds.into(), names: Arc::new(names), fields: fields.into() })
    }

    /// The column of that name, by its number in the schema.
    fn find(&self, name: &str) -> Result<usize, Failure> {
        self.names.get(name).copied().ok_or_else(|| Failure::NoColumn(name.to_string()))
    }

    fn mismatch(&self, field: usize, why: String) -> Failure {
        Failure::Mismatch { column: self.schema.field(field).name().clone(), why }
    }

    fn no_value(&self, field: usize, value: &Value) -> Failure {
        self.mismatch(field, format!("{value:?} is no value of {}", self.schema.field(field).data_type()))
    }

    fn checks(&self, filter: &Filter) -> Result<Checks, Failure> {
        let mut checks = Checks::default();
        for (name, test) in &filter.tests {
            let field = self.find(name)?;
            let (column, is) = self.fields[field];
            match test {
                Test::IsNull => checks.0.push(Check::Null { column, is_null: true }),
                Test::IsNotNull => checks.0.push(Check::Null { column, is_null: false }),
                Test::Equals(value) if is == Type::Text => {
                    let text = self.text(field, value)?;
                    let (hashes, kind, hash) = (column + 1, Kind::Unsigned, text::hash(&text));
                    checks.0.push(Check::Keys { column: hashes, kind, low: hash, high: hash });
                    checks.1.push((column, Exact::Equals(text)));
                }
                Test::Between(from, to) if is == Type::Text => {
                    let text = |bound: &Bound<Value>| self.bound(bound, |value| self.text(field, value));
                    let (from, to) = (text(from)?, text(to)?);
                    let prefix = |bound: &Bound<Arc<str>>, else_it_is: u64| match bound {
                        Bound::Included(text) | Bound::Excluded(text) => text::prefix(text),
                        Bound::Unbounded => else_it_is,
                    };
                    let (low, high) = (prefix(&from, 0), prefix(&to, u64::MAX));
                    checks.0.push(Check::Keys { column, kind: is.kind(), low, high });
                    if (&from, &to) != (&Bound::Unbounded, &Bound::Unbounded) {
                        checks.1.push((column, Exact::Between { from, to, low, high }));
                    }
                }
                Test::Equals(value) => {
                    let same = Bound::Included(value.clone());
                    checks.0.push(self.between(field, &same, &same)?);
                }
                Test::Between(from, to) => checks.0.push(self.between(field, from, to)?),
            }
        }
        Ok(checks)
    }

    fn bound<T>(
        &self,
        bound: &Bound<Value>,
        of: impl Fn(&Value) -> Result<T, Failure>,
    ) -> Result<Bound<T>, Failure> {
        Ok(match bound {
            Bound::Included(value) => Bound::Included(of(value)?),
            Bound::Excluded(value) => Bound::Excluded(of(value)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    }

    fn text(&self, field: usize, value: &Value) -> Result<Arc<str>, Failure> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(self.no_value(field, value)),
        }
    }

    /// A check of the words of a column that has no texts.
    fn between(&self, field: usize, from: &Bound<Value>, to: &Bound<Value>) -> Result<Check, Failure> {
        let (column, is) = self.fields[field];
        let kind = is.kind();
        let place = |value: &Value| is.place(value).ok_or_else(|| self.no_value(field, value));
        // There is none where a range begins behind the greatest key, or ends before the least.
        let low = match self.bound(from, place)? {
            Bound::Unbounded | Bound::Included(Place::Below) | Bound::Excluded(Place::Below) => Some(0),
            Bound::Included(Place::At(word)) => Some(kind.key(word)),
            Bound::Excluded(Place::At(word)) => kind.key(word).checked_add(1),
            Bound::Included(Place::Above) | Bound::Excluded(Place::Above) => None,
        };
        let high = match self.bound(to, place)? {
            Bound::Unbounded | Bound::Included(Place::Above) | Bound::Excluded(Place::Above) => {
                Some(u64::MAX)
            }
            Bound::Included(Place::At(word)) => Some(kind.key(word)),
            Bound::Excluded(Place::At(word)) => kind.key(word).checked_sub(1),
            Bound::Included(Place::Below) | Bound::Excluded(Place::Below) => None,
        };
        let (low, high) = low.zip(high).unwrap_or((1, 0));
        Ok(Check::Keys { column, kind, low, high })
    }

    /// Checks a change.
    pub fn plan(&self, change: &Change) -> Result<Planned, Failure> {
        match change {
            Change::Insert(rows) => self.rows(rows).map(Planned::Insert),
            Change::Delete(filter) => self.checks(filter).map(Planned::Delete),
            Change::Update(filter, set) => {
                let mut entries = Vec::new();
                for (name, value) in set {
                    self.enter(name, value.as_ref(), &mut entries)?;
                }
                Ok(Planned::Set(self.checks(filter)?, entries))
            }
        }
    }

    /// What is to be put into which columns of words for a value of a column.
    fn enter(
        &self,
        name: &str,
        value: Option<&Value>,
        entries: &mut Vec<(usize, Entry)>,
    ) -> Result<(), Failure> {
        let field = self.find(name)?;
        let (column, is) = self.fields[field];
        let data_type = self.schema.field(field).data_type();
        if value.is_none() && !self.schema.field(field).is_nullable() {
            return Err(Failure::Null(name.to_string()));
        }
        let word = |value| is.word(value, data_type).ok_or_else(|| self.no_value(field, value));
        let word = value.map(word).transpose()?;
        if is == Type::Text {
            let text = value.map(|value| self.text(field, value)).transpose()?;
            let hash = text.as_deref().map(text::hash);
            entries.push((column, Entry { word, text }));
            entries.push((column + 1, Entry { word: hash, text: None }));
        } else {
            entries.push((column, Entry { word, text: None }));
        }
        Ok(())
    }

    /// Whether rows may have such a column: of the same type, or of any type of texts if it is of one.
    pub fn takes(&self, field: usize, data_type: &DataType) -> Result<(), Failure> {
        let of = self.schema.field(field).data_type();
        if data_type == of || [data_type, of].map(Type::of) == [Some(Type::Text); 2] {
            return Ok(());
        }
        Err(self.mismatch(field, format!("{data_type} instead of {of}")))
    }

    fn rows(&self, rows: &RecordBatch) -> Result<Rows, Failure> {
        if rows.num_columns() != self.fields.len() {
            let why =
                format!("rows have {} columns, and the table {}", rows.num_columns(), self.fields.len());
            return Err(Failure::Mismatch { column: String::new(), why });
        }
        let mut columns = Vec::new();
        for (index, array) in rows.columns().iter().enumerate() {
            let field = self.schema.field(index);
            let (_, is) = self.fields[index];
            self.takes(index, array.data_type())?;
            if array.null_count() > 0 && !field.is_nullable() {
                return Err(Failure::Null(field.name().clone()));
            }
            let nulls = array.nulls().cloned();
            let Some(strings) = Strings::of(array) else {
                columns.push(Added { words: is.words(array), nulls, texts: None });
                continue;
            };
            if (0..strings.len()).any(|row| array.is_valid(row) && strings.get(row).len() > text::LONGEST) {
                return Err(self.mismatch(index, "a text is longer than 2 GiB".to_string()));
            }
            let words = |word: fn(&str) -> u64| {
                (0..strings.len())
                    .map(|row| if array.is_valid(row) { word(strings.get(row)) } else { 0 })
                    .collect()
            };
            let hashes = Added { words: words(text::hash), nulls: nulls.clone(), texts: None };
            columns.push(Added { words: words(text::prefix), nulls, texts: Some(strings) });
            columns.push(hashes);
        }
        Ok(Rows { columns, count: rows.num_rows() })
    }

    /// Checks queries. Those that are wrong are left out; these are told with their places.
    pub fn ask(&self, queries: &[Query]) -> (Questions, Vec<(usize, Failure)>) {
        let (mut questions, mut failed) = (Questions::default(), Vec::new());
        let mut known = HashMap::<&Output, usize, RandomState>::default();
        for (number, query) in queries.iter().enumerate() {
            let mut ask = || {
                let checks = self.checks(&query.filter)?;
                let shape = match known.get(&query.output) {
                    Some(&shape) => shape,
                    None => {
                        questions.shapes.push(self.shape(&query.output)?);
                        known.insert(&query.output, questions.shapes.len() - 1);
                        questions.shapes.len() - 1
                    }
                };
                let place = &mut questions.shapes[shape].queries;
                questions.all.push(Asked { checks, shape, place: *place as u32 });
                *place += 1;
                Ok(())
            };
            if let Err(failure) = ask() {
                failed.push((number, failure));
            }
        }
        (questions, failed)
    }

    /// What a query gives out; no query as yet.
    fn shape(&self, output: &Output) -> Result<Shape, Failure> {
        let (gives, fields): (_, Vec<Field>) = match output {
            Output::Rows(names) => {
                let found = names.iter().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?;
                let fields = found.iter().map(|&field| self.schema.field(field).clone()).collect();
                let taken = found.iter().map(|&field| (self.fields[field].0, self.fields[field].1.kind()));
                (Gives::Rows(taken.collect()), fields)
            }
            Output::Aggregates(aggregates) => {
                let made = aggregates.iter().map(|aggregate| self.made(aggregate));
                let (made, fields) = made.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
                (Gives::Aggregates(made), fields)
            }
        };
        Ok(Shape { gives, schema: Arc::new(Schema::new(fields)), queries: 0 })
    }

    /// How an aggregate is made, and the column that it becomes.
    fn made(&self, aggregate: &Aggregate) -> Result<(Made, Field), Failure> {
        let of = |name: &str, made: fn(usize, Kind) -> Made| {
            let field = self.find(name)?;
            let (column, is) = self.fields[field];
            Ok::<_, Failure>((field, made(column, is.kind())))
        };
        let same = |field: usize| self.schema.field(field).data_type().clone();
        let (what, name, made, data_type) = match aggregate {
            Aggregate::Count => return Ok((Made::Count, Field::new("count", DataType::Int64, false))),
            Aggregate::CountOf(name) => {
                let (_, made) = of(name, |column, _| Made::CountOf(column))?;
                return Ok((made, Field::new(format!("count({name})"), DataType::Int64, false)));
            }
            Aggregate::Sum(name) => {
                let (field, made) = of(name, Made::Sum)?;
                let data_type = sum_of(self.schema.field(field).data_type())
                    .ok_or_else(|| self.mismatch(field, format!("there is no sum of {}", same(field))))?;
                ("sum", name, made, data_type)
            }
            Aggregate::Min(name) => {
                let (field, made) = of(name, Made::Min)?;
                ("min", name, made, same(field))
            }
            Aggregate::Max(name) => {
                let (field, made) = of(name, Made::Max)?;
                ("max", name, made, same(field))
            }
        };
        Ok((made, Field::new(format!("{what}({name})"), data_type, true)))
    }
}

/// The type of a sum of a column, if there is one.
fn sum_of(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => {
            Some(DataType::Decimal64(18, *scale))
        }
        DataType::Duration(_) => Some(data_type.clone()),
        _ if data_type.is_signed_integer() => Some(DataType::Int64),
        _ if data_type.is_unsigned_integer() => Some(DataType::UInt64),
        _ if data_type.is_floating() => Some(DataType::Float64),
        _ => None,
    }
}
