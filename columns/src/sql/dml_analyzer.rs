//! Analysis of `DELETE` and `UPDATE` statements, before the optimizer changes them.

use super::change_exec::ChangeExec;
use super::pushdown::{TestList, value};
use super::{SqlTable, and, not_analyzed};
use crate::request::{Change, ColumnName, Filter};
use crate::value::Value;
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchemaRef, Result, TableReference, not_impl_err};
use datafusion::datasource::{DefaultTableSource, TableType};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{DmlStatement, Expr, LogicalPlan, Projection, WriteOp};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Translates each `DELETE` and `UPDATE` of a table of columns into changes, or rejects it.
#[derive(Debug)]
pub(super) struct DmlAnalyzer;

impl DmlAnalyzer {
    pub const NAME: &str = "xtasking_columns_dml_analyzer";
}

impl AnalyzerRule for DmlAnalyzer {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let understand = |node: LogicalPlan| {
            let LogicalPlan::Dml(statement) = node else { return Ok(Transformed::no(node)) };
            Ok(match table_of(&statement) {
                Some(table) => Transformed::yes(LogicalPlan::Dml(analyzed(statement, table, config)?)),
                None => Transformed::no(LogicalPlan::Dml(statement)),
            })
        };
        plan.transform_down(understand).map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        Self::NAME
    }
}

/// Returns the table of a statement that changes rows, if it is a [`SqlTable`].
fn table_of(statement: &DmlStatement) -> Option<SqlTable> {
    if !matches!(statement.op, WriteOp::Delete | WriteOp::Update) {
        return None;
    }
    let source = statement.target.downcast_ref::<DefaultTableSource>()?;
    source.table_provider.downcast_ref::<SqlTable>().cloned()
}

/// Returns the statement with a target that holds the changes, regardless of the plan of its input.
fn analyzed(statement: DmlStatement, table: SqlTable, config: &ConfigOptions) -> Result<DmlStatement> {
    let name = &statement.table_name;
    let (from, set) = match (&statement.op, &*statement.input) {
        (WriteOp::Update, LogicalPlan::Projection(projection)) => {
            (&projection.input, Some(set(projection, name, &table, config)?))
        }
        (WriteOp::Update, _) => {
            return rejected(&statement, "its plan does not list the new values of columns");
        }
        _ => (&statement.input, None),
    };
    let Some(any) = tests(from, name, &table, config)? else {
        return rejected(
            &statement,
            "WHERE must compare columns with literals, without functions, subqueries or other tables",
        );
    };
    let filter = |all: TestList| and(Filter::all(), all);
    let changes: Vec<Change> = match set {
        // A deleted row is not counted again by another change.
        None => any.into_iter().map(|all| Change::Delete(filter(all))).collect(),
        // An updated row would be counted again.
        Some(_) if any.len() > 1 => {
            return rejected(
                &statement,
                "WHERE must be a conjunction, without OR, IN or <>; use one UPDATE for each alternative",
            );
        }
        Some(set) => any.into_iter().map(|all| Change::Update(filter(all), set.clone())).collect(),
    };
    let target = Arc::new(DefaultTableSource::new(Arc::new(AnalyzedTarget { table, changes })));
    Ok(DmlStatement::new(statement.table_name, target, statement.op, statement.input))
}

fn rejected<T>(statement: &DmlStatement, why: &str) -> Result<T> {
    not_impl_err!("{} of table {} is rejected and changes nothing: {why}", statement.op, statement.table_name)
}

/// Returns the disjuncts of tests that select rows; `None` if the selection needs more than tests.
fn tests(
    mut plan: &Arc<LogicalPlan>,
    name: &TableReference,
    table: &SqlTable,
    config: &ConfigOptions,
) -> Result<Option<Vec<TestList>>> {
    let mut condition = datafusion::logical_expr::lit(true);
    loop {
        match &**plan {
            LogicalPlan::Filter(filter) => {
                condition = condition.and(simplify(filter.predicate.clone(), filter.input.schema(), config)?);
                plan = &filter.input;
            }
            LogicalPlan::SubqueryAlias(alias) => plan = &alias.input,
            LogicalPlan::TableScan(scan) if scan.table_name.resolved_eq(name) && scan.fetch.is_none() => {
                condition = scan.filters.iter().cloned().fold(condition, Expr::and);
                return Ok(table.client.pushdown().tests_for(&condition));
            }
            _ => return Ok(None),
        }
    }
}

/// Evaluates the constant parts of an expression.
fn simplify(expr: Expr, schema: &DFSchemaRef, config: &ConfigOptions) -> Result<Expr> {
    let context = SimplifyContext::builder()
        .with_schema(schema.clone())
        .with_config_options(Arc::new(config.clone()))
        .with_current_time()
        .build();
    ExprSimplifier::new(context).simplify(expr)
}

/// Returns the columns that an `UPDATE` sets, and their new values.
fn set(
    projection: &Projection,
    name: &TableReference,
    table: &SqlTable,
    config: &ConfigOptions,
) -> Result<Vec<(ColumnName, Option<Value>)>> {
    let schema = table.schema();
    let mut set = Vec::new();
    for expr in &projection.expr {
        let (column, expr) = match expr {
            Expr::Alias(alias) => (&alias.name, &*alias.expr),
            Expr::Column(column) => (&column.name, expr),
            _ => {
                return not_impl_err!(
                    "UPDATE of table {name} is rejected and changes nothing: {expr} sets no column"
                );
            }
        };
        // The projection also lists the columns that keep their values.
        if matches!(expr, Expr::Column(Column { name, .. }) if name == column) {
            continue;
        }
        let field = schema.field_with_name(column)?;
        let literal = simplify(expr.clone(), projection.input.schema(), config)?;
        let value = match &literal {
            Expr::Literal(literal, _) if literal.is_null() => Some(None),
            Expr::Literal(literal, _) => value(literal, field.data_type()).map(Some),
            _ => None,
        };
        match value {
            Some(value) => set.push((column.clone().into(), value)),
            None => {
                return not_impl_err!(
                    "UPDATE of table {name} is rejected and changes nothing: column {column} must be \
                     set to a literal, not to {expr}"
                );
            }
        }
    }
    Ok(set)
}

/// The target of an analyzed statement.
#[derive(Debug)]
struct AnalyzedTarget {
    table: SqlTable,
    changes: Vec<Change>,
}

#[async_trait]
impl TableProvider for AnalyzedTarget {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // It is the target of statements only, which do not read it.
        not_analyzed()
    }

    async fn delete_from(&self, _state: &dyn Session, _filters: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ChangeExec::new(self.table.client.clone(), self.changes.clone())))
    }

    async fn update(
        &self,
        _state: &dyn Session,
        _assignments: Vec<(String, Expr)>,
        _filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ChangeExec::new(self.table.client.clone(), self.changes.clone())))
    }
}
