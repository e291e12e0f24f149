//! Runs DataFusion on a table in memory: by joins of a batch's queries with the table, or one query
//! after another. Changes are applied by `changes`.

use crate::Error;
use crate::changes::{MutableTable, ROWS};
use crate::sql::{Join, by_kind, digest, join_digests, query_table, single, sums};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use xtasking_experiments::scan::arrow::values;
use xtasking_experiments::scan::bookings::Row;
use xtasking_experiments::scan::database::Database;
use xtasking_experiments::scan::requests::{Batch, Query, QueryKind};

/// The session and the table.
struct DataFusionTable {
    runtime: Runtime,
    session: SessionContext,
    mutable_table: MutableTable,
}

/// Joins a table of all queries of a kind in a batch with the bookings.
pub struct DataFusionJoin {
    fusion: DataFusionTable,
    join: Join,
}

/// Runs one query after another, by prepared plans.
pub struct DataFusionSingle {
    fusion: DataFusionTable,
    /// By kind, in the order of the kinds.
    prepared: Vec<DataFrame>,
}

impl DataFusionTable {
    fn start(threads: usize) -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
        let config = SessionConfig::new().with_target_partitions(threads).with_batch_size(ROWS);
        let session = SessionContext::new_with_config(config);
        let mutable_table = MutableTable::new(threads)?;
        session.register_table("bookings", mutable_table.table.clone())?;
        Ok(Self { runtime, session, mutable_table })
    }

    fn sums(&self) -> Result<Vec<i64>, Error> {
        let rows = self.runtime.block_on(async { self.session.sql(&sums()).await?.collect().await })?;
        let row =
            rows.iter().find(|rows| rows.num_rows() == 1).ok_or("the query for sums returned no row")?;
        Ok(values(row, 0).collect())
    }

    async fn join(
        &self,
        join: Join,
        kind: QueryKind,
        queries: &[(usize, &Query)],
    ) -> Result<Vec<RecordBatch>, Error> {
        let names = join.names(kind);
        let fields: Vec<_> = names.iter().map(|name| Field::new(name, DataType::Int64, false)).collect();
        let schema = Arc::new(Schema::new(fields));
        let column = |values| -> ArrayRef { Arc::new(Int64Array::from(values)) };
        let columns = join.columns(kind, queries).into_iter().map(column);
        let rows = RecordBatch::try_new(schema.clone(), columns.collect())?;
        self.session
            .register_table(query_table(kind), Arc::new(MemTable::try_new(schema, vec![vec![rows]])?))?;
        let rows = self.session.sql(&join.statement(kind)).await?.collect().await?;
        self.session.deregister_table(query_table(kind))?;
        Ok(rows)
    }
}

impl DataFusionJoin {
    pub fn start(threads: usize, join: Join) -> Result<Self, Error> {
        Ok(Self { fusion: DataFusionTable::start(threads)?, join })
    }

    async fn answer(&self, batch: &Batch) -> Result<Vec<RecordBatch>, Error> {
        let mut answers = Vec::new();
        for (kind, queries) in by_kind(batch) {
            answers.extend(self.fusion.join(self.join, kind, &queries).await?);
        }
        Ok(answers)
    }
}

impl Database for DataFusionJoin {
    type Answers = Vec<RecordBatch>;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        self.fusion.mutable_table.append(rows).map_err(|error| error.to_string())
    }

    fn serve(&mut self, batch: &Batch) -> Result<Vec<RecordBatch>, String> {
        let changed = self.fusion.mutable_table.change(&batch.changes);
        changed
            .and_then(|()| self.fusion.runtime.block_on(self.answer(batch)))
            .map_err(|error| error.to_string())
    }

    fn digests(&self, batch: &Batch, answers: Vec<RecordBatch>) -> Result<Vec<u64>, String> {
        let all = answers.iter().flat_map(|rows| (0..rows.num_rows()).map(move |row| values(rows, row)));
        join_digests(batch, all)
    }

    fn sums(&mut self) -> Result<Vec<i64>, String> {
        self.fusion.sums().map_err(|error| error.to_string())
    }
}

impl DataFusionSingle {
    pub fn start(threads: usize) -> Result<Self, Error> {
        let fusion = DataFusionTable::start(threads)?;
        let prepare = async |kind| fusion.session.sql(&single(kind, '$')).await;
        let mut prepared = Vec::new();
        for kind in QueryKind::EACH {
            prepared.push(fusion.runtime.block_on(prepare(kind))?);
        }
        Ok(Self { fusion, prepared })
    }

    async fn answer(&self, query: &Query) -> Result<Vec<RecordBatch>, Error> {
        let values: Vec<_> = query.values.iter().map(|&value| ScalarValue::from(value)).collect();
        Ok(self.prepared[query.kind as usize].clone().with_param_values(values)?.collect().await?)
    }
}

impl Database for DataFusionSingle {
    type Answers = Vec<Vec<RecordBatch>>;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        self.fusion.mutable_table.append(rows).map_err(|error| error.to_string())
    }

    fn serve(&mut self, batch: &Batch) -> Result<Self::Answers, String> {
        let changed = self.fusion.mutable_table.change(&batch.changes);
        let answers = changed.and_then(|()| {
            let answer = |query| self.fusion.runtime.block_on(self.answer(query));
            batch.queries.iter().map(answer).collect()
        });
        answers.map_err(|error| error.to_string())
    }

    fn digests(&self, _: &Batch, answers: Self::Answers) -> Result<Vec<u64>, String> {
        let of_answer = |answer: Vec<RecordBatch>| {
            digest(answer.iter().flat_map(|rows| (0..rows.num_rows()).map(move |row| values(rows, row))))
        };
        Ok(answers.into_iter().map(of_answer).collect())
    }

    fn sums(&mut self) -> Result<Vec<i64>, String> {
        self.fusion.sums().map_err(|error| error.to_string())
    }
}
