//! How requests get to a table.

use super::Conditions;
use crate::answer::Failure;
use crate::desk::Desk;
use crate::request::{Batch, Change, Query};
use crate::table::Table;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::DataFusionError;
use std::sync::Arc;
use xtasking::{JoinError, Runtime};

/// A table, and where its requests are served.
#[derive(Clone)]
pub(super) struct Requests {
    rt: Arc<Runtime>,
    table: Arc<Table>,
    /// Where single requests are handed in, if they are collected.
    desk: Option<Arc<Desk>>,
}

impl Requests {
    pub fn new(rt: Arc<Runtime>, table: Arc<Table>, desk: Option<Desk>) -> Self {
        Self { rt, table, desk: desk.map(Arc::new) }
    }

    pub fn schema(&self) -> &SchemaRef {
        self.table.schema()
    }

    pub fn conditions(&self) -> Conditions<'_> {
        Conditions(self.schema())
    }

    /// What some queries find, all at the same time.
    pub async fn query(&self, mut queries: Vec<Query>) -> Result<Vec<RecordBatch>, DataFusionError> {
        if let (Some(desk), [_]) = (&self.desk, &queries[..]) {
            let found = served(desk.query(queries.remove(0)).await)?;
            return Ok(vec![found.map_err(failed)?]);
        }
        let mut batch = Batch::new();
        let queries: Vec<_> = queries.into_iter().map(|query| batch.query(query)).collect();
        if queries.is_empty() {
            return Ok(Vec::new());
        }
        let answers = served(self.table.send(&self.rt, batch).await)?;
        queries.into_iter().map(|query| answers.rows(query).map_err(failed)).collect()
    }

    /// How many rows some changes concern, one after the other. Nobody sees some of them without the others.
    pub async fn change(&self, mut changes: Vec<Change>) -> Result<u64, DataFusionError> {
        if let (Some(desk), [_]) = (&self.desk, &changes[..]) {
            return served(desk.change(changes.remove(0)).await)?.map_err(failed);
        }
        let mut batch = Batch::new();
        let changes: Vec<_> = changes.into_iter().map(|change| batch.change(change)).collect();
        if changes.is_empty() {
            return Ok(0);
        }
        let answers = served(self.table.send(&self.rt, batch).await)?;
        changes.into_iter().map(|change| answers.changed(change)).sum::<Result<u64, _>>().map_err(failed)
    }
}

fn served<T>(outcome: Result<T, JoinError>) -> Result<T, DataFusionError> {
    outcome.map_err(|error| failed(Failure::Lost(error.to_string())))
}

fn failed(failure: Failure) -> DataFusionError {
    DataFusionError::External(Box::new(failure))
}
