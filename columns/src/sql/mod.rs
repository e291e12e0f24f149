//! Tables that DataFusion reads and changes, by SQL for example.
//!
//! A query asks the table for the columns that it needs, of the rows that pass those of its conditions which the table can
//! test itself; all else is left to DataFusion. These conditions are comparisons of a column with a literal of its type (`=`,
//! `<`, `<=`, `>`, `>=`, `BETWEEN`, and `LIKE` with the beginning of a text), `IS NULL` and `IS NOT NULL`, booleans, what
//! `AND` makes of them, and `IN` with up to 256 literals. As always in SQL a zero with a sign is equal to one without.
//!
//! | statement | how it is done |
//! |---|---|
//! | `SELECT` | each table that is named in it is asked once: one query, or one for each literal of `IN`, in one batch |
//! | `INSERT` | one change: all rows or none |
//! | `DELETE` | changes of one batch; any conditions such as above, also with `OR`, `IN` and `<>` |
//! | `UPDATE` | one change; conditions such as above, and literals as new values |
//! | `TRUNCATE` | one change |
//!
//! Statements of many sessions share scans if they are [collected](SqlTable::collecting).
//!
//! A `DELETE` or an `UPDATE` with other conditions, such as subqueries, is refused. This cannot be left to DataFusion: it
//! tells a table only those conditions that it could keep apart, so that a condition with a subquery would vanish, and *more*
//! rows would be changed than were asked for. Therefore [`register`] has each such statement looked at as a whole, before
//! anything of it is optimised; tables that were made known to DataFusion otherwise refuse them all.
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
//! session.sql("INSERT INTO bookings VALUES ('Hopper', 120), ('Kelly', 80)").await?.collect().await?;
//! session.sql("UPDATE bookings SET fare = 100 WHERE name = 'Kelly'").await?.collect().await?;
//! let found = session.sql("SELECT name FROM bookings WHERE fare BETWEEN 90 AND 110").await?;
//! assert_eq!(found.count().await?, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod conditions;
mod requests;
mod scan;
mod whole;

use crate::desk::{Desk, Terms};
use crate::request::{Change, Filter, Query};
use crate::table::Table;
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use change::{ChangeExec, Rows};
use conditions::{All, Conditions};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, TableReference, not_impl_err};
use datafusion::datasource::TableType;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use requests::Requests;
use scan::ScanExec;
use std::fmt;
use std::io;
use std::sync::Arc;
use whole::WholeStatements;
use xtasking::Runtime;

/// A table, as DataFusion sees it. Make it known by [`register`].
#[derive(Clone)]
pub struct SqlTable {
    requests: Requests,
}

impl SqlTable {
    /// Of a table of this runtime. Each statement is a batch of its own.
    pub fn new(rt: Arc<Runtime>, table: Arc<Table>) -> Self {
        Self { requests: Requests::new(rt, table, None) }
    }

    /// The same, where statements that come at about the same time share batches, and so their scans: a [`Desk`] on these
    /// terms collects them. Those that need several requests at the same time, for `OR` or `IN`, remain batches of their own.
    /// A statement that the desk refuses fails.
    ///
    /// # Errors
    ///
    /// If the desk cannot be [opened](Desk::open).
    pub fn collecting(rt: Arc<Runtime>, table: Arc<Table>, terms: Terms) -> io::Result<Self> {
        let desk = Desk::open(&rt, &table, terms)?;
        Ok(Self { requests: Requests::new(rt, table, Some(desk)) })
    }
}

/// Makes a table known to a session by a name, so that all statements that the [module](self) names can be used.
///
/// # Errors
///
/// Those of [`SessionContext::register_table`].
pub fn register(session: &SessionContext, name: impl Into<TableReference>, table: SqlTable) -> Result<()> {
    let state = session.state();
    if !state.analyzer().rules.iter().any(|rule| rule.name() == WholeStatements::NAME) {
        session.add_analyzer_rule(Arc::new(WholeStatements));
    }
    session.register_table(name, Arc::new(table))?;
    Ok(())
}

impl fmt::Debug for SqlTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlTable").field("schema", self.requests.schema()).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for SqlTable {
    fn schema(&self) -> SchemaRef {
        self.requests.schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.requests.conditions().one_of(filter) {
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
        // A row passes one of these at most.
        let mut any = vec![Filter::all()];
        for expr in filters {
            let one_of = self.requests.conditions().one_of(expr);
            let one_of =
                one_of.ok_or_else(|| DataFusionError::Internal(format!("{expr} was not to be tested")))?;
            any = any
                .iter()
                .flat_map(|filter| one_of.iter().map(|all| and(filter.clone(), all.clone())))
                .collect();
        }
        let schema = match projection {
            Some(columns) => Arc::new(self.schema().project(columns)?),
            None => self.schema(),
        };
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let queries = any.into_iter().map(|filter| Query::rows(filter, names.clone())).collect();
        let at_once = state.config().batch_size();
        Ok(Arc::new(ScanExec::new(self.requests.clone(), queries, schema, limit, at_once)))
    }

    async fn insert_into(
        &self,
        _state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if insert_op != InsertOp::Append {
            return not_impl_err!("{insert_op}: rows can only be added to a table of columns");
        }
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(Rows::new(self.requests.clone())), None)))
    }

    async fn delete_from(&self, _state: &dyn Session, _filters: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        not_whole()
    }

    async fn update(
        &self,
        _state: &dyn Session,
        _assignments: Vec<(String, Expr)>,
        _filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        not_whole()
    }

    async fn truncate(&self, _state: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let changes = vec![Change::Delete(Filter::all())];
        Ok(Arc::new(ChangeExec::new(self.requests.clone(), changes)))
    }
}

/// A filter with more tests.
fn and(filter: Filter, all: All) -> Filter {
    all.into_iter().fold(filter, |filter, (column, test)| filter.and(column, test))
}

/// A statement that was not looked at as a whole: what has become of it may concern more rows.
fn not_whole<T>() -> Result<T> {
    not_impl_err!(
        "rows of this table can be changed only if it was made known by xtasking_columns::sql::register"
    )
}
