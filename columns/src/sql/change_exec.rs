//! Execution plans of changes.

use super::client::TableClient;
use super::leaf_exec::{Leaf, LeafExec};
use crate::request::Change;
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::arrow::compute::concat_batches;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures_util::{TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// Makes changes, and returns the number of rows affected.
pub(super) type ChangeExec = LeafExec<TableChanges>;

/// Changes of a table.
pub(super) struct TableChanges {
    client: TableClient,
    changes: Vec<Change>,
}

impl ChangeExec {
    pub fn new(client: TableClient, changes: Vec<Change>) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
        Self::with_schema(TableChanges { client, changes }, schema)
    }
}

impl fmt::Debug for TableChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableChanges").field("changes", &self.changes).finish_non_exhaustive()
    }
}

impl Leaf for TableChanges {
    const NAME: &'static str = "ChangeExec";

    fn describe(&self, _: &SchemaRef) -> String {
        format!("{:?}", self.changes)
    }

    fn start(&self, schema: &SchemaRef) -> SendableRecordBatchStream {
        let (client, changes, result) = (self.client.clone(), self.changes.clone(), schema.clone());
        let count = async move {
            let count = client.change(changes).await?;
            Ok(RecordBatch::try_new(result, vec![Arc::new(UInt64Array::from(vec![count]))])?)
        };
        Box::pin(RecordBatchStreamAdapter::new(schema.clone(), stream::once(count)))
    }
}

/// Inserts all rows of a statement in one change, so that all become visible together, or none.
pub(super) struct InsertSink {
    client: TableClient,
}

impl InsertSink {
    pub fn new(client: TableClient) -> Self {
        Self { client }
    }
}

impl fmt::Debug for InsertSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InsertSink")
    }
}

impl DisplayAs for InsertSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("InsertSink")
    }
}

#[async_trait]
impl DataSink for InsertSink {
    fn schema(&self) -> &SchemaRef {
        self.client.schema()
    }

    async fn write_all(&self, data: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let schema = data.schema();
        let rows: Vec<RecordBatch> = data.try_collect().await?;
        if rows.iter().all(|rows| rows.num_rows() == 0) {
            return Ok(0);
        }
        let rows = concat_batches(&schema, &rows).map_err(DataFusionError::from)?;
        self.client.change(vec![Change::Insert(rows)]).await
    }
}
