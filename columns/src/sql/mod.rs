//! Tables of columns as tables of DataFusion, for SQL.
//!
//! A query asks the table for the columns that it needs, of the rows that match the conditions that
//! the table can test. DataFusion evaluates the rest of the query. The table can test: comparisons
//! of a column with a literal of its type (`=`, `<`, `<=`, `>`, `>=`, `BETWEEN`, and `LIKE` with a
//! prefix), `IS NULL` and `IS NOT NULL`, boolean columns, conjunctions of these with `AND`, and
//! `IN` with up to 256 literals. Of several `IN`, the table tests those whose numbers of literals
//! multiply to at most 256; the others filter its rows. As always in SQL, -0.0 equals 0.0.
//!
//! | statement | execution |
//! |---|---|
//! | `SELECT` | for each table named: one query, or one for each literal of `IN`, in one batch |
//! | `INSERT` | one change: all rows or none |
//! | `DELETE` | changes of one batch; conditions as above, also with `OR`, `IN` and `<>` |
//! | `UPDATE` | one change; conditions as above, and literals as new values |
//! | `TRUNCATE` | one change |
//!
//! [Batched](SqlTable::batched) statements of many sessions share scans.
//!
//! A `DELETE` or an `UPDATE` with other conditions, such as subqueries, is rejected. It cannot be
//! left to DataFusion, which passes a table only the conditions that it could separate: a condition
//! with a subquery would vanish, and *more* rows would be changed than intended. Therefore
//! [`register`] adds a rule that analyzes these statements before the optimizer runs. Tables that
//! were added to a session without it reject all of them.
//!
//! ```
//! use std::sync::Arc;
//! use datafusion::prelude::SessionContext;
//! use arrow_schema::{DataType, Field, Schema};
//! use xtasking::Runtime;
//! use xtasking_columns::{Table, sql};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let rt = Arc::new(Runtime::builder().workers(2).build()?);
//! let schema = Schema::new(vec![
//!     Field::new("name", DataType::Utf8, false),
//!     Field::new("fare", DataType::Float64, true),
//! ]);
//! let table = Arc::new(Table::new(&rt, Arc::new(schema), 2)?);
//! let session = SessionContext::new();
//! sql::register(&session, "bookings", sql::SqlTable::new(rt, table))?;
//!
//! for statement in [
//!     "INSERT INTO bookings VALUES ('Hopper', 120), ('Kelly', 80)",
//!     "UPDATE bookings SET fare = 100 WHERE name = 'Kelly'",
//! ] {
//!     session.sql(statement).await?.collect().await?;
//! }
//! let found = session.sql("SELECT name FROM bookings WHERE fare BETWEEN 90 AND 110").await?;
//! assert_eq!(found.count().await?, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change_exec;
mod client;
mod dml_analyzer;
mod leaf_exec;
mod pushdown;
mod scan_exec;

use crate::batcher::{BatchPolicy, Batcher};
use crate::request::{Change, Filter, Query};
use crate::table::Table;
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use change_exec::{ChangeExec, InsertSink};
use client::TableClient;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, TableReference, ToDFSchema, not_impl_err};
use datafusion::datasource::TableType;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExecBuilder;
use dml_analyzer::DmlAnalyzer;
use pushdown::{FilterPushdown, MAX_QUERIES, TestList};
use scan_exec::ScanExec;
use std::fmt;
use std::io;
use std::sync::Arc;
use xtasking::Runtime;

/// A table of columns as a provider for DataFusion. [`register`] it with a session.
#[derive(Clone)]
pub struct SqlTable {
    client: TableClient,
}

impl SqlTable {
    /// Provides a table of this runtime. Each statement is a batch of its own.
    pub fn new(rt: Arc<Runtime>, table: Arc<Table>) -> Self {
        Self { client: TableClient::new(rt, table, None) }
    }

    /// Provides a table whose concurrent statements share batches, and so their scans: a
    /// [`Batcher`] with this policy collects them. Statements that need several requests on one
    /// snapshot, for `OR` or `IN`, remain batches of their own. A statement that the batcher
    /// refuses fails.
    ///
    /// # Errors
    ///
    /// If the batcher cannot be [opened](Batcher::open).
    pub fn batched(rt: Arc<Runtime>, table: Arc<Table>, policy: BatchPolicy) -> io::Result<Self> {
        let batcher = Batcher::open(&rt, &table, policy)?;
        Ok(Self { client: TableClient::new(rt, table, Some(batcher)) })
    }

    /// Returns a scan of the rows that match one of the filters.
    fn scan_exec(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        any: Vec<Filter>,
        limit: Option<usize>,
    ) -> Result<ScanExec> {
        let schema = match projection {
            Some(columns) => Arc::new(self.client.schema().project(columns)?),
            None => self.client.schema().clone(),
        };
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let queries = any.into_iter().map(|filter| Query::rows(filter, names.clone())).collect();
        let batch_rows = state.config().batch_size();
        Ok(ScanExec::new(self.client.clone(), queries, schema, limit, batch_rows))
    }
}

/// Registers a table with a session, and enables all statements that the [module](self) lists.
///
/// # Errors
///
/// Those of [`SessionContext::register_table`].
pub fn register(session: &SessionContext, name: impl Into<TableReference>, table: SqlTable) -> Result<()> {
    let state = session.state();
    if !state.analyzer().rules.iter().any(|rule| rule.name() == DmlAnalyzer::NAME) {
        session.add_analyzer_rule(Arc::new(DmlAnalyzer));
    }
    session.register_table(name, Arc::new(table))?;
    Ok(())
}

impl fmt::Debug for SqlTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlTable").field("schema", self.client.schema()).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for SqlTable {
    fn schema(&self) -> SchemaRef {
        self.client.schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.client.pushdown().disjoint_tests(filter) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // A row matches at most one of these filters.
        let mut any = vec![Filter::all()];
        let mut residual = Vec::new();
        for expr in filters {
            let disjoint_tests = self.client.pushdown().disjoint_tests(expr);
            let disjoint_tests = disjoint_tests.ok_or_else(|| {
                DataFusionError::Internal(format!("filter {expr} was pushed down, but cannot be translated"))
            })?;
            if any.len() * disjoint_tests.len() > MAX_QUERIES {
                residual.push(expr.clone());
                continue;
            }
            any = any
                .iter()
                .flat_map(|filter| disjoint_tests.iter().map(|all| and(filter.clone(), all.clone())))
                .collect();
        }
        let Some(predicate) = conjunction(residual) else {
            return Ok(Arc::new(self.scan_exec(state, projection, any, limit)?));
        };
        let predicate = state.create_physical_expr(predicate, &self.schema().to_dfschema()?)?;
        let rows = Arc::new(self.scan_exec(state, None, any, None)?);
        let filter = FilterExecBuilder::new(predicate, rows).apply_projection(projection.cloned())?;
        Ok(Arc::new(filter.with_fetch(limit).build()?))
    }

    async fn insert_into(
        &self,
        _state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if insert_op != InsertOp::Append {
            return not_impl_err!("{insert_op} is not supported; use INSERT INTO");
        }
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(InsertSink::new(self.client.clone())), None)))
    }

    async fn delete_from(&self, _state: &dyn Session, _filters: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        not_analyzed()
    }

    async fn update(
        &self,
        _state: &dyn Session,
        _assignments: Vec<(String, Expr)>,
        _filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        not_analyzed()
    }

    async fn truncate(&self, _state: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let changes = vec![Change::Delete(Filter::all())];
        Ok(Arc::new(ChangeExec::new(self.client.clone(), changes)))
    }
}

/// Adds tests to a filter.
fn and(filter: Filter, all: TestList) -> Filter {
    all.into_iter().fold(filter, |filter, (column, test)| filter.and(column, test))
}

/// Rejects a statement that was not analyzed: the optimizer may have removed conditions, so that it
/// would change more rows.
fn not_analyzed<T>() -> Result<T> {
    not_impl_err!("DELETE and UPDATE require that the table was added by xtasking_columns::sql::register")
}
