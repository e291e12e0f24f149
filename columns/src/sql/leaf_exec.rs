//! Execution plans without inputs.

use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
};
use std::fmt;
use std::sync::Arc;

/// What a [`LeafExec`] runs.
pub(super) trait Leaf: fmt::Debug + Send + Sync + 'static {
    /// The name of the plan.
    const NAME: &'static str;

    /// Describes the plan with the columns of `schema`, in one line.
    fn describe(&self, schema: &SchemaRef) -> String;

    /// Returns the rows, whose columns `schema` describes.
    fn start(&self, schema: &SchemaRef) -> SendableRecordBatchStream;
}

/// A plan without inputs and expressions, which emits all rows at its end, in unspecified order.
#[derive(Debug)]
pub(super) struct LeafExec<L> {
    leaf: L,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl<L> LeafExec<L> {
    pub(super) fn with_schema(leaf: L, schema: SchemaRef) -> Self {
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        ));
        Self { leaf, schema, properties }
    }
}

impl<L: Leaf> DisplayAs for LeafExec<L> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", L::NAME, self.leaf.describe(&self.schema))
    }
}

impl<L: Leaf> ExecutionPlan for LeafExec<L> {
    fn name(&self) -> &str {
        L::NAME
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
        Ok(self.leaf.start(&self.schema))
    }
}
