//! DataFusion on a table in memory: by joins of a batch's queries with the table, and one query after another. Changes are made
//! by `changes`.

use crate::Failed;
use crate::changes::{ROWS, Shelf};
use crate::sql::{Gathered, Join, asked, by_kind, single, sums};
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
use xtasking_experiments::scan::database::{Database, Digest};
use xtasking_experiments::scan::requests::{Batch, Kind, Query};

/// What both have in common.
struct Fusion {
    runtime: Runtime,
    session: SessionContext,
    shelf: Shelf,
}

/// All queries of a kind that a batch has become a table, which is joined with the bookings.
pub struct Joined {
    fusion: Fusion,
    join: Join,
}

/// One query after another, by plans that are prepared for each kind.
pub struct Each {
    fusion: Fusion,
    /// In the order of the kinds.
    prepared: Vec<DataFrame>,
}

impl Fusion {
    fn start(threads: usize) -> Result<Self, Failed> {
        let runtime = Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
        let config = SessionConfig::new().with_target_partitions(threads).with_batch_size(ROWS);
        let session = SessionContext::new_with_config(config);
        let shelf = Shelf::new(threads)?;
        session.register_table("bookings", shelf.table.clone())?;
        Ok(Self { runtime, session, shelf })
    }

    fn sums(&self) -> Result<Vec<i64>, Failed> {
        let rows = self.runtime.block_on(async { self.session.sql(&sums()).await?.collect().await })?;
        let row = rows.iter().find(|rows| rows.num_rows() == 1).ok_or("there are no sums")?;
        Ok(values(row, 0).collect())
    }

    async fn join(
        &self,
        join: Join,
        kind: Kind,
        queries: &[(usize, &Query)],
    ) -> Result<Vec<RecordBatch>, Failed> {
        let names = join.names(kind);
        let fields: Vec<_> = names.iter().map(|name| Field::new(name, DataType::Int64, false)).collect();
        let schema = Arc::new(Schema::new(fields));
        let column = |values| -> ArrayRef { Arc::new(Int64Array::from(values)) };
        let columns = join.columns(kind, queries).into_iter().map(column);
        let rows = RecordBatch::try_new(schema.clone(), columns.collect())?;
        self.session.register_table(asked(kind), Arc::new(MemTable::try_new(schema, vec![vec![rows]])?))?;
        let found = self.session.sql(&join.statement(kind)).await?.collect().await?;
        self.session.deregister_table(asked(kind))?;
        Ok(found)
    }
}

impl Joined {
    pub fn start(threads: usize, join: Join) -> Result<Self, Failed> {
        Ok(Self { fusion: Fusion::start(threads)?, join })
    }

    async fn answer(&self, batch: &Batch) -> Result<Vec<RecordBatch>, Failed> {
        let mut answers = Vec::new();
        for (kind, queries) in by_kind(batch) {
            answers.extend(self.fusion.join(self.join, kind, &queries).await?);
        }
        Ok(answers)
    }
}

impl Database for Joined {
    type Answers = Vec<RecordBatch>;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        self.fusion.shelf.append(rows).map_err(|error| error.to_string())
    }

    fn serve(&mut self, batch: &Batch) -> Result<Vec<RecordBatch>, String> {
        let changed = self.fusion.shelf.change(&batch.changes);
        changed
            .and_then(|()| self.fusion.runtime.block_on(self.answer(batch)))
            .map_err(|error| error.to_string())
    }

    fn digests(&self, batch: &Batch, answers: Vec<RecordBatch>) -> Result<Vec<u64>, String> {
        let mut gathered = Gathered::new(batch);
        for rows in &answers {
            for row in 0..rows.num_rows() {
                let mut values = values(rows, row);
                let id = values.next().ok_or("there are no columns")?;
                gathered.add(id, values);
            }
        }
        Ok(gathered.finish(batch))
    }

    fn sums(&mut self) -> Result<Vec<i64>, String> {
        self.fusion.sums().map_err(|error| error.to_string())
    }
}

impl Each {
    pub fn start(threads: usize) -> Result<Self, Failed> {
        let fusion = Fusion::start(threads)?;
        let prepare = async |kind| fusion.session.sql(&single(kind, '$')).await;
        let mut prepared = Vec::new();
        for kind in Kind::EACH {
            prepared.push(fusion.runtime.block_on(prepare(kind))?);
        }
        Ok(Self { fusion, prepared })
    }

    async fn answer(&self, query: &Query) -> Result<Vec<RecordBatch>, Failed> {
        let values: Vec<_> = query.values.iter().map(|&value| ScalarValue::from(value)).collect();
        Ok(self.prepared[query.kind as usize].clone().with_param_values(values)?.collect().await?)
    }
}

impl Database for Each {
    type Answers = Vec<Vec<RecordBatch>>;

    fn append(&mut self, rows: &[Row]) -> Result<(), String> {
        self.fusion.shelf.append(rows).map_err(|error| error.to_string())
    }

    fn serve(&mut self, batch: &Batch) -> Result<Self::Answers, String> {
        let changed = self.fusion.shelf.change(&batch.changes);
        let answers = changed.and_then(|()| {
            let answer = |query| self.fusion.runtime.block_on(self.answer(query));
            batch.queries.iter().map(answer).collect()
        });
        answers.map_err(|error| error.to_string())
    }

    fn digests(&self, _: &Batch, answers: Self::Answers) -> Result<Vec<u64>, String> {
        let digest = |answer: Vec<RecordBatch>| {
            let mut digest = Digest::default();
            for rows in &answer {
                (0..rows.num_rows()).for_each(|row| digest.add(values(rows, row)));
            }
            digest.finish()
        };
        Ok(answers.into_iter().map(digest).collect())
    }

    fn sums(&mut self) -> Result<Vec<i64>, String> {
        self.fusion.sums().map_err(|error| error.to_string())
    }
}
