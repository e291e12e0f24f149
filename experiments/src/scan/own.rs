//! The column store of this project as a contender.

use super::arrow::{columns, digest, schema, values};
use super::bookings::{COLUMNS, Row};
use super::chunks::Chunks;
use super::database::Database;
use super::requests::{self, Gives};
use crate::failure::Failure;
use crate::lineup::{cannot_start, start_own};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::fs;
use std::sync::Arc;
use xtasking::{Handle, Runtime};
use xtasking_columns::{
    Aggregate, Answers, Batch, Change, Desk, Failure as Unanswered, Filter, PartitionMemory, Query, Table,
    Terms,
};
use xtasking_knowledge::facts::CpuSet;

/// A table, with as many partitions as its runtime has workers.
pub(super) struct Own {
    rt: Arc<Runtime>,
    table: Arc<Table>,
    schema: SchemaRef,
}

impl Own {
    pub(super) fn start(workers: usize) -> Result<Self, Failure> {
        let rt = start_own(workers)?;
        let schema = schema();
        let table = Table::builder(schema.clone()).partitions(workers).chunk_rows(Chunks::here().rows);
        let table = table.build(&rt);
        let table = table.map_err(|error| cannot_start("xtasking", workers, &error))?;
        Ok(Self { rt: Arc::new(rt), table: Arc::new(table), schema })
    }

    /// Opens a desk for single queries.
    pub(super) fn open(&self, terms: Terms) -> Result<Desk, Failure> {
        Desk::open(&self.rt, &self.table, terms)
            .map_err(|error| Failure::Usage(format!("no thread can be started for a desk: {error}")))
    }

    /// Hands a query in.
    pub(super) fn ask(desk: &Desk, asked: &requests::Query) -> Handle<Result<RecordBatch, Unanswered>> {
        desk.query(query(asked))
    }

    /// What an answer comes to.
    pub(super) fn digest(rows: &RecordBatch) -> u64 {
        digest(rows)
    }

    /// The CPU of each worker. It is an error if they have none of their own.
    pub(super) fn cpus(&self) -> Result<Vec<u32>, Failure> {
        let placement = self.rt.placement().filter(|placement| placement.workers() >= self.rt.workers());
        let placement = placement.ok_or_else(|| {
            Failure::Usage(
                "--competitors: the workers have no CPUs of their own; choose fewer of them".to_string(),
            )
        })?;
        Ok(placement.sites().iter().take(self.rt.workers()).map(|site| site.cpu).collect())
    }

    /// The CPUs that the system lets each worker run on.
    pub(super) fn cpus_allowed(&self) -> Result<Vec<CpuSet>, String> {
        let allowed = |worker: usize| {
            let told = self.rt.task(()).core(worker as u16).submit(move |(), cx| {
                let status =
                    fs::read_to_string("/proc/thread-self/status").map_err(|error| error.to_string())?;
                let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
                match list.and_then(|list| list.parse().ok()) {
                    Some(cpus) if cx.worker() == worker => Ok(cpus),
                    _ => Err("`/proc/thread-self/status` does not tell".to_string()),
                }
            });
            let told = told.join().map_err(|error| error.to_string()).flatten();
            told.map_err(|error| format!("where worker {worker} may run is not known: {error}"))
        };
        (0..self.rt.workers()).map(allowed).collect()
    }

    /// Where each partition has its rows in memory.
    pub(super) fn memory(&self) -> Result<Vec<PartitionMemory>, String> {
        self.table.memory(&self.rt).join().map_err(|error| error.to_string())
    }

    /// Divides the table among the partitions in proportion to these weights, and waits until it is so; tells how many rows
    /// were moved.
    pub(super) fn balance(&self, weights: &[f64]) -> Result<u64, String> {
        let moved = self.table.balance(&self.rt, weights).map_err(|error| error.to_string())?;
        moved.join().map_err(|error| error.to_string())
    }

    /// Serves a batch.
    pub(super) fn answer(&self, batch: &requests::Batch) -> Result<Answers, String> {
        let mut sent = Batch::new();
        for change in &batch.changes {
            sent.change(self.change(change)?);
        }
        for asked in &batch.queries {
            sent.query(query(asked));
        }
        self.run(sent)
    }

    fn insert<'a>(&self, rows: impl Iterator<Item = &'a Row> + Clone) -> Result<Change, String> {
        let rows = RecordBatch::try_new(self.schema.clone(), columns(rows));
        rows.map(Change::Insert).map_err(|error| error.to_string())
    }

    fn run(&self, batch: Batch) -> Result<Answers, String> {
        self.table.run(&self.rt, batch).map_err(|error| error.to_string())
    }

    fn change(&self, change: &requests::Change) -> Result<Change, String> {
        let tests = change.tests().into_iter();
        let filter =
            tests.fold(Filter::all(), |filter, (column, value)| filter.equals(COLUMNS[column], value));
        Ok(match change {
            requests::Change::Insert(rows) => self.insert(rows.iter())?,
            requests::Change::Delete { .. } => Change::Delete(filter),
            _ => {
                let sets = change.sets().into_iter();
                Change::Update(
                    filter,
                    sets.map(|(column, value)| (COLUMNS[column].into(), Some(value.into()))).collect(),
                )
            }
        })
    }
}

fn query(query: &requests::Query) -> Query {
    let equals = query.equals();
    let filter = equals.fold(Filter::all(), |filter, (column, value)| filter.equals(COLUMNS[column], value));
    let filter = match query.between() {
        Some((column, low, high)) => filter.between(COLUMNS[column], low..=high),
        None => filter,
    };
    match query.kind.shape().gives {
        Gives::Rows(columns) => Query::rows(filter, columns.iter().map(|&column| COLUMNS[column])),
        Gives::Totals => Query::aggregates(filter, [Aggregate::Count, Aggregate::Sum("fare".into())]),
    }
}

impl Database for Own {
    type Answers = Answers;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        let mut batch = Batch::new();
        batch.change(self.insert(rows.iter())?);
        self.run(batch).map(drop)
    }

    fn serve(&mut self, batch: &requests::Batch) -> Result<Answers, String> {
        self.answer(batch)
    }

    fn digests(&self, batch: &requests::Batch, answers: Answers) -> Result<Vec<u64>, String> {
        for change in 0..batch.changes.len() {
            answers.changed(change).map_err(|error| error.to_string())?;
        }
        let rows = |query| answers.rows(query).map(|rows| digest(&rows)).map_err(|error| error.to_string());
        (0..batch.queries.len()).map(rows).collect()
    }

    fn sums(&mut self) -> Result<Vec<i64>, String> {
        let sums = COLUMNS.map(|name| Aggregate::Sum(name.into()));
        let mut batch = Batch::new();
        let query = Query::aggregates(Filter::all(), [Aggregate::Count].into_iter().chain(sums));
        let query = batch.query(query);
        let answers = self.run(batch)?;
        let row = answers.rows(query).map_err(|error| error.to_string())?;
        Ok(values(&row, 0).collect())
    }
}
