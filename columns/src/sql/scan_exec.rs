//! Execution plans of queries.

use super::client::TableClient;
use super::leaf_exec::{Leaf, LeafExec};
use crate::request::Query;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::{TryStreamExt, stream};
use std::fmt;

/// Queries a table.
pub(super) type ScanExec = LeafExec<TableQueries>;

/// Queries of a table.
pub(super) struct TableQueries {
    client: TableClient,
    queries: Vec<Query>,
    /// The number of rows needed; `None` for all.
    limit: Option<usize>,
    /// The rows of an output batch.
    batch_rows: usize,
}

impl ScanExec {
    pub fn new(
        client: TableClient,
        queries: Vec<Query>,
        schema: SchemaRef,
        limit: Option<usize>,
        batch_rows: usize,
    ) -> Self {
        let leaf = TableQueries { client, queries, limit, batch_rows: batch_rows.max(1) };
        Self::with_schema(leaf, schema)
    }
}

impl fmt::Debug for TableQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableQueries")
            .field("queries", &self.queries)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl Leaf for TableQueries {
    const NAME: &'static str = "ScanExec";

    fn describe(&self, schema: &SchemaRef) -> String {
        let columns: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let tests: Vec<_> = self.queries.iter().map(|query| &query.filter.tests).collect();
        format!("columns=[{}], one of={tests:?}", columns.join(", "))
    }

    fn start(&self, schema: &SchemaRef) -> SendableRecordBatchStream {
        let (client, queries, result) = (self.client.clone(), self.queries.clone(), schema.clone());
        let (mut left, batch_rows) = (self.limit.unwrap_or(usize::MAX), self.batch_rows);
        let found = async move {
            let mut parts = Vec::new();
            for found in client.query(queries).await? {
                let rows = found.num_rows().min(left);
                left -= rows;
                let options = RecordBatchOptions::new().with_row_count(Some(found.num_rows()));
                let found =
                    RecordBatch::try_new_with_options(result.clone(), found.columns().to_vec(), &options)?;
                let part = |first| found.slice(first, batch_rows.min(rows - first));
                parts.extend((0..rows).step_by(batch_rows).map(part).map(Ok));
            }
            Ok::<_, DataFusionError>(stream::iter(parts))
        };
        let parts = stream::once(found).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(schema.clone(), parts))
    }
}
