//! Requests of execution plans to a table.

use super::FilterPushdown;
use crate::batcher::Batcher;
use crate::failure::Failure;
use crate::request::{Batch, Change, Query};
use crate::table::Table;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::DataFusionError;
use std::sync::Arc;
use xtasking::{JoinError, Runtime};

/// A table, and the runtime or batcher that takes its requests.
#[derive(Clone)]
pub(super) struct TableClient {
    rt: Arc<Runtime>,
    table: Arc<Table>,
    /// Takes statements that need a single request, if statements are batched.
    batcher: Option<Arc<Batcher>>,
}

impl TableClient {
    pub fn new(rt: Arc<Runtime>, table: Arc<Table>, batcher: Option<Batcher>) -> Self {
        Self { rt, table, batcher: batcher.map(Arc::new) }
    }

    pub fn schema(&self) -> &SchemaRef {
        self.table.schema()
    }

    pub fn pushdown(&self) -> FilterPushdown<'_> {
        FilterPushdown(self.schema())
    }

    /// Answers queries, all on the same snapshot.
    pub async fn query(&self, mut queries: Vec<Query>) -> Result<Vec<RecordBatch>, DataFusionError> {
        if let (Some(batcher), [_]) = (&self.batcher, &queries[..]) {
            let found = joined(batcher.query(queries.remove(0)).await)?;
            return Ok(vec![found.map_err(failed)?]);
        }
        let mut batch = Batch::new();
        let queries: Vec<_> = queries.into_iter().map(|query| batch.query(query)).collect();
        if queries.is_empty() {
            return Ok(Vec::new());
        }
        let answers = joined(self.table.send(&self.rt, batch).await)?;
        queries.into_iter().map(|query| answers.rows(query).map_err(failed)).collect()
    }

    /// Makes changes in order, atomically, and returns the number of rows affected.
    pub async fn change(&self, mut changes: Vec<Change>) -> Result<u64, DataFusionError> {
        if let (Some(batcher), [_]) = (&self.batcher, &changes[..]) {
            return joined(batcher.change(changes.remove(0)).await)?.map_err(failed);
        }
        let mut batch = Batch::new();
        let changes: Vec<_> = changes.into_iter().map(|change| batch.change(change)).collect();
        if changes.is_empty() {
            return Ok(0);
        }
        let answers = joined(self.table.send(&self.rt, batch).await)?;
        changes
            .into_iter()
            .map(|change| answers.rows_affected(change))
            .sum::<Result<u64, _>>()
            .map_err(failed)
    }
}

fn joined<T>(outcome: Result<T, JoinError>) -> Result<T, DataFusionError> {
    outcome.map_err(|error| failed(Failure::Lost(error.to_string())))
}

fn failed(failure: Failure) -> DataFusionError {
    DataFusionError::External(Box::new(failure))
}
