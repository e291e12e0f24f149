//! Requests checked against a table's schema and translated for the scan: column names become
//! column numbers, values become words and texts.
//!
//! | module | contents |
//! |---|---|
//! | `table_schema` | the fields of a table and the word columns that store them |
//! | `predicate` | conditions on one column of a row, and their conjunction |
//! | `filter` | filters, translated into conjunctions |
//! | `change` | inserts, updates and deletes |
//! | `query` | queries, grouped by the columns that they return |

mod change;
mod filter;
mod predicate;
mod query;
mod table_schema;

#[cfg(test)]
pub(crate) use change::NewColumn;
pub(crate) use change::{ChangePlan, NewRows};
#[cfg(test)]
pub(crate) use predicate::TextPredicate;
pub(crate) use predicate::{Conjunction, WordPredicate};
pub(crate) use query::{AggregatePlan, OutputPlan, QueryBatch, QueryPlan, Shape};
pub(crate) use table_schema::TableSchema;
