//! Changes as parts of a plan.

use super::requests::Requests;
use super::scan::properties;
use crate::request::Change;
use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::arrow::compute::concat_batches;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures_util::{TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// Changes a table when it is executed, and gives out how many rows were concerned.
pub(super) struct ChangeExec {
    requests: Requests,
    changes: Vec<Change>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl ChangeExec {
    pub fn new(requests: Requests, changes: Vec<Change>) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
        Self { requests, changes, properties: properties(&schema), schema }
    }
}

impl fmt::Debug for ChangeExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeExec").field("changes", &self.changes).finish_non_exhaustive()
    }
}

impl DisplayAs for ChangeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ChangeExec: {:?}", self.changes)
    }
}

impl ExecutionPlan for ChangeExec {
    fn name(&self) -> &str {
        "ChangeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (requests, changes, schema) = (self.requests.clone(), self.changes.clone(), self.schema.clone());
        let count = async move {
            let count = requests.change(changes).await?;
            Ok(RecordBatch::try_new(schema, vec![Arc::new(UInt64Array::from(vec![count]))])?)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), stream::once(count))))
    }
}

/// Adds all rows of a statement at once, so that they are there together, and none is there if one cannot be.
pub(super) struct Rows {
    requests: Requests,
}

impl Rows {
    pub fn new(requests: Requests) -> Self {
        Self { requests }
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows")
    }
}

impl DisplayAs for Rows {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Rows")
    }
}

#[async_trait]
impl DataSink for Rows {
    fn schema(&self) -> &SchemaRef {
        self.requests.schema()
    }

    async fn write_all(&self, data: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let schema = data.schema();
        let rows: Vec<RecordBatch> = data.try_collect().await?;
        if rows.iter().all(|rows| rows.num_rows() == 0) {
            return Ok(0);
        }
        let rows = concat_batches(&schema, &rows).map_err(DataFusionError::from)?;
        self.requests.change(vec![Change::Insert(rows)]).await
    }
}
