//! Makes the column store of this project a contender.

use super::arrow::{columns, digest, schema, values};
use super::bookings::{COLUMNS, Row};
use super::chunks::Chunks;
use super::database::Database;
use super::requests::{self, Output};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::fs;
use std::sync::Arc;
use xtasking::{Handle, Runtime};
use xtasking_columns::{
    Aggregate, Answers, Batch, BatchPolicy, Batcher, Change, Failure as Unanswered, Filter, PartitionMemory,
    Query, Table,
};
use xtasking_harness::failure::Failure;
use xtasking_harness::lineup::{cannot_start, start_own};
use xtasking_knowledge::facts::CpuSet;

/// A table with as many partitions as its runtime has workers.
pub(super) struct ColumnStore {
    rt: Arc<Runtime>,
    table: Arc<Table>,
    schema: SchemaRef,
}

impl ColumnStore {
    pub(super) fn start(workers: usize) -> Result<Self, Failure> {
        let rt = start_own(workers)?;
        let schema = schema();
        let table = Table::builder(schema.clone()).partitions(workers).chunk_rows(Chunks::here().rows);
        let table = table.build(&rt);
        let table = table.map_err(|error| cannot_start("xtasking", workers, &error))?;
        Ok(Self { rt: Arc::new(rt), table: Arc::new(table), schema })
    }

    /// Opens a batcher for single queries.
    pub(super) fn open(&self, policy: BatchPolicy) -> Result<Batcher, Failure> {
        Batcher::open(&self.rt, &self.table, policy)
            .map_err(|error| Failure::Usage(format!("the batcher's thread cannot be started: {error}")))
    }

    /// Submits a query.
    pub(super) fn submit(
        batcher: &Batcher,
        request: &requests::Query,
    ) -> Handle<Result<RecordBatch, Unanswered>> {
        batcher.query(query(request))
    }

    /// Returns the digest of an answer.
    pub(super) fn digest(rows: &RecordBatch) -> u64 {
        digest(rows)
    }

    /// Returns the CPU of each worker. Fails if workers share CPUs.
    pub(super) fn cpus(&self) -> Result<Vec<u32>, Failure> {
        let placement = self.rt.placement().filter(|placement| placement.workers() >= self.rt.workers());
        let placement = placement.ok_or_else(|| {
            Failure::Usage("--competitors: the workers share CPUs; choose fewer --workers".to_string())
        })?;
        Ok(placement.sites().iter().take(self.rt.workers()).map(|site| site.cpu).collect())
    }

    /// Returns the CPUs that the system lets each worker run on.
    pub(super) fn cpus_allowed(&self) -> Result<Vec<CpuSet>, String> {
        let allowed = |worker: usize| {
            let cpus = self.rt.task(()).core(worker as u16).submit(move |(), cx| {
                let status =
                    fs::read_to_string("/proc/thread-self/status").map_err(|error| error.to_string())?;
                let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
                match list.and_then(|list| list.parse().ok()) {
                    Some(cpus) if cx.worker() == worker => Ok(cpus),
                    _ => Err("`/proc/thread-self/status` has no valid line `Cpus_allowed_list:`".to_string()),
                }
            });
            let cpus = cpus.join().map_err(|error| error.to_string()).flatten();
            cpus.map_err(|error| format!("the CPUs of worker {worker} are unknown: {error}"))
        };
        (0..self.rt.workers()).map(allowed).collect()
    }

    /// Returns where each partition has its rows in memory.
    pub(super) fn memory(&self) -> Result<Vec<PartitionMemory>, String> {
        self.table.memory(&self.rt).join().map_err(|error| error.to_string())
    }

    /// Divides the table among the partitions in proportion to `weights`, and waits for the end.
    /// Returns the number of moved rows.
    pub(super) fn balance(&self, weights: &[f64]) -> Result<u64, String> {
        let moved = self.table.balance(&self.rt, weights).map_err(|error| error.to_string())?;
        moved.join().map_err(|error| error.to_string())
    }

    /// Serves a batch.
    pub(super) fn answer(&self, batch: &requests::Batch) -> Result<Answers, String> {
        let mut translated = Batch::new();
        for change in &batch.changes {
            translated.change(self.change(change)?);
        }
        for request in &batch.queries {
            translated.query(query(request));
        }
        self.run(translated)
    }

    fn insert<'a>(&self, rows: impl Iterator<Item = &'a Row> + Clone) -> Result<Change, String> {
        let rows = RecordBatch::try_new(self.schema.clone(), columns(rows));
        rows.map(Change::Insert).map_err(|error| error.to_string())
    }

    fn run(&self, batch: Batch) -> Result<Answers, String> {
        self.table.run(&self.rt, batch).map_err(|error| error.to_string())
    }

    fn change(&self, change: &requests::Change) -> Result<Change, String> {
        let conditions = change.conditions().into_iter();
        let filter =
            conditions.fold(Filter::all(), |filter, (column, value)| filter.equals(COLUMNS[column], value));
        Ok(match change {
            requests::Change::Insert(rows) => self.insert(rows.iter())?,
            requests::Change::Delete { .. } => Change::Delete(filter),
            _ => {
                let assignments = change.assignments().into_iter();
                Change::Update(
                    filter,
                    assignments.map(|(column, value)| (COLUMNS[column].into(), Some(value.into()))).collect(),
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
    match query.kind.shape().output {
        Output::Rows(columns) => Query::rows(filter, columns.iter().map(|&column| COLUMNS[column])),
        Output::Totals => Query::aggregates(filter, [Aggregate::Count, Aggregate::Sum("fare".into())]),
    }
}

impl Database for ColumnStore {
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
            answers.rows_affected(change).map_err(|error| error.to_string())?;
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
