//! A query as a part of a plan.

use super::requests::Requests;
use crate::request::Query;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
};
use futures_util::{TryStreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// Asks a table when it is executed.
pub(super) struct ScanExec {
    requests: Requests,
    queries: Vec<Query>,
    schema: SchemaRef,
    /// More rows are not needed.
    limit: Option<usize>,
    /// So many rows are given out at once.
    at_once: usize,
    properties: Arc<PlanProperties>,
}

impl ScanExec {
    pub fn new(
        requests: Requests,
        queries: Vec<Query>,
        schema: SchemaRef,
        limit: Option<usize>,
        at_once: usize,
    ) -> Self {
        let properties = properties(&schema);
        Self { requests, queries, schema, limit, at_once: at_once.max(1), properties }
    }
}

/// Those of a plan that gives all out at its end, in no order.
pub(super) fn properties(schema: &SchemaRef) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new(schema.clone()),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Final,
        Boundedness::Bounded,
    ))
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanExec")
            .field("queries", &self.queries)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let columns: Vec<_> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let tests: Vec<_> = self.queries.iter().map(|query| &query.filter.tests).collect();
        write!(f, "ScanExec: columns=[{}], one of={tests:?}", columns.join(", "))
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &str {
        "ScanExec"
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
        let (requests, queries, schema) = (self.requests.clone(), self.queries.clone(), self.schema.clone());
        let (mut left, at_once) = (self.limit.unwrap_or(usize::MAX), self.at_once);
        let found = async move {
            let mut parts = Vec::new();
            for found in requests.query(queries).await? {
                let rows = found.num_rows().min(left);
                left -= rows;
                let options = RecordBatchOptions::new().with_row_count(Some(found.num_rows()));
                let found =
                    RecordBatch::try_new_with_options(schema.clone(), found.columns().to_vec(), &options)?;
                let part = |first| found.slice(first, at_once.min(rows - first));
                parts.extend((0..rows).step_by(at_once).map(part).map(Ok));
            }
            Ok::<_, DataFusionError>(stream::iter(parts))
        };
        let parts = stream::once(found).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), parts)))
    }
}
