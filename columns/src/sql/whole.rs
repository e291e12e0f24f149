//! Statements that change rows, looked at as a whole before they are optimised.

use super::change::ChangeExec;
use super::conditions::{All, value};
use super::{SqlTable, and, not_whole};
use crate::request::{Change, Filter, Name};
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

/// Finds out what each `DELETE` and each `UPDATE` asks for, or refuses it.
#[derive(Debug)]
pub(super) struct WholeStatements;

impl WholeStatements {
    pub const NAME: &str = "xtasking_columns_whole_statements";
}

impl AnalyzerRule for WholeStatements {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let understand = |node: LogicalPlan| {
            let LogicalPlan::Dml(statement) = node else { return Ok(Transformed::no(node)) };
            Ok(match table_of(&statement) {
                Some(table) => Transformed::yes(LogicalPlan::Dml(understood(statement, table, config)?)),
                None => Transformed::no(LogicalPlan::Dml(statement)),
            })
        };
        plan.transform_down(understand).map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        Self::NAME
    }
}

/// The table that rows are changed of, if it is one of ours.
fn table_of(statement: &DmlStatement) -> Option<SqlTable> {
    if !matches!(statement.op, WriteOp::Delete | WriteOp::Update) {
        return None;
    }
    let source = statement.target.downcast_ref::<DefaultTableSource>()?;
    source.table_provider.downcast_ref::<SqlTable>().cloned()
}

/// The statement with a target that knows what is to be done, whatever becomes of its input.
fn understood(statement: DmlStatement, table: SqlTable, config: &ConfigOptions) -> Result<DmlStatement> {
    let name = &statement.table_name;
    let (from, set) = match (&statement.op, &*statement.input) {
        (WriteOp::Update, LogicalPlan::Projection(projection)) => {
            (&projection.input, Some(set(projection, name, &table, config)?))
        }
        (WriteOp::Update, _) => return refused(&statement, "its new values cannot be told apart"),
        _ => (&statement.input, None),
    };
    let Some(any) = tests(from, name, &table, config)? else {
        return refused(
            &statement,
            "rows are chosen by comparisons of columns with literals alone, and by no other table",
        );
    };
    let filter = |all: All| and(Filter::all(), all);
    let changes: Vec<Change> = match set {
        // A row that is gone after one of them does not count for another.
        None => any.into_iter().map(|all| Change::Delete(filter(all))).collect(),
        // A row that has been changed by one of them would.
        Some(_) if any.len() > 1 => {
            return refused(
                &statement,
                "rows are chosen by conditions that all have to be met: no OR, IN or <>",
            );
        }
        Some(set) => any.into_iter().map(|all| Change::Update(filter(all), set.clone())).collect(),
    };
    let target = Arc::new(DefaultTableSource::new(Arc::new(Understood { table, changes })));
    Ok(DmlStatement::new(statement.table_name, target, statement.op, statement.input))
}

fn refused<T>(statement: &DmlStatement, why: &str) -> Result<T> {
    not_impl_err!("{} of table {} is refused, and changes nothing: {why}", statement.op, statement.table_name)
}

/// The tests that choose rows, of which one or another has to be passed; `None` if there is more to it.
fn tests(
    mut plan: &Arc<LogicalPlan>,
    name: &TableReference,
    table: &SqlTable,
    config: &ConfigOptions,
) -> Result<Option<Vec<All>>> {
    let mut condition = datafusion::logical_expr::lit(true);
    loop {
        match &**plan {
            LogicalPlan::Filter(filter) => {
                condition = condition.and(simple(filter.predicate.clone(), filter.input.schema(), config)?);
                plan = &filter.input;
            }
            LogicalPlan::SubqueryAlias(alias) => plan = &alias.input,
            LogicalPlan::TableScan(scan) if scan.table_name.resolved_eq(name) && scan.fetch.is_none() => {
                condition = scan.filters.iter().cloned().fold(condition, Expr::and);
                return Ok(table.requests.conditions().any_of(&condition));
            }
            _ => return Ok(None),
        }
    }
}

/// An expression with all that can be computed computed.
fn simple(expr: Expr, schema: &DFSchemaRef, config: &ConfigOptions) -> Result<Expr> {
    let context = SimplifyContext::builder()
        .with_schema(schema.clone())
        .with_config_options(Arc::new(config.clone()))
        .with_current_time()
        .build();
    ExprSimplifier::new(context).simplify(expr)
}

/// The columns that are set, and their new values.
fn set(
    projection: &Projection,
    name: &TableReference,
    table: &SqlTable,
    config: &ConfigOptions,
) -> Result<Vec<(Name, Option<Value>)>> {
    let schema = table.schema();
    let mut set = Vec::new();
    for expr in &projection.expr {
        let (column, expr) = match expr {
            Expr::Alias(alias) => (&alias.name, &*alias.expr),
            Expr::Column(column) => (&column.name, expr),
            _ => return not_impl_err!("UPDATE of table {name} is refused: {expr} is the value of no column"),
        };
        // Each column that is not set is there as well.
        if matches!(expr, Expr::Column(Column { name, .. }) if name == column) {
            continue;
        }
        let field = schema.field_with_name(column)?;
        let literal = simple(expr.clone(), projection.input.schema(), config)?;
        let value = match &literal {
            Expr::Literal(literal, _) if literal.is_null() => Some(None),
            Expr::Literal(literal, _) => value(literal, field.data_type()).map(Some),
            _ => None,
        };
        match value {
            Some(value) => set.push((column.clone().into(), value)),
            None => {
                return not_impl_err!(
                    "UPDATE of table {name} is refused, and changes nothing: column {column} can be set to a literal \
                     alone, not to {expr}"
                );
            }
        }
    }
    Ok(set)
}

/// The target of a statement that was understood.
#[derive(Debug)]
struct Understood {
    table: SqlTable,
    changes: Vec<Change>,
}

#[async_trait]
impl TableProvider for Understood {
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
        // Only statements have it as their target; they do not read.
        not_whole()
    }

    async fn delete_from(&self, _state: &dyn Session, _filters: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ChangeExec::new(self.table.requests.clone(), self.changes.clone())))
    }

    async fn update(
        &self,
        _state: &dyn Session,
        _assignments: Vec<(String, Expr)>,
        _filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ChangeExec::new(self.table.requests.clone(), self.changes.clone())))
    }
}
