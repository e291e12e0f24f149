//! How requests get to a table.

use super::Conditions;
use crate::answer::Failure;
use crate::request::{Batch, Change, Query};
use crate::table::Table;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::DataFusionError;
use std::sync::Arc;
use xtasking::Runtime;

/// A table, and where its requests are served.
#[derive(Clone)]
pub(super) struct Requests {
    rt: Arc<Runtime>,
    table: Arc<Table>,
}

impl Requests {
    pub fn new(rt: Arc<Runtime>, table: Arc<Table>) -> Self {
        Self { rt, table }
    }

    pub fn schema(&self) -> &SchemaRef {
        self.table.schema()
    }

    pub fn conditions(&self) -> Conditions<'_> {
        Conditions(self.schema())
    }

    /// What some queries find, all at the same time.
    pub async fn query(&self, queries: Vec<Query>) -> Result<Vec<RecordBatch>, DataFusionError> {
        let mut batch = Batch::new();
        let queries: Vec<_> = queries.into_iter().map(|query| batch.query(query)).collect();
        if queries.is_empty() {
            return Ok(Vec::new());
        }
        let answers = self.table.send(&self.rt, batch).await;
        let answers = answers.map_err(|error| failed(Failure::Lost(error.to_string())))?;
        queries.into_iter().map(|query| answers.rows(query).map_err(failed)).collect()
    }

    /// How many rows some changes concern, one after the other. Nobody sees some of them without the others.
    pub async fn change(&self, changes: Vec<Change>) -> Result<u64, DataFusionError> {
        let mut batch = Batch::new();
        let changes: Vec<_> = changes.into_iter().map(|change| batch.change(change)).collect();
        if changes.is_empty() {
            return Ok(0);
        }
        let answers = self.table.send(&self.rt, batch).await;
        let answers = answers.map_err(|error| failed(Failure::Lost(error.to_string())))?;
        changes.into_iter().map(|change| answers.changed(change)).sum::<Result<u64, _>>().map_err(failed)
    }
}

fn failed(failure: Failure) -> DataFusionError {
    DataFusionError::External(Box::new(failure))
}
