//! A column store in memory whose requests share their scans.
//!
//! Requests come in batches. A batch is a snapshot: its changes are made first, in the order in which they came, and then
//! its queries are answered, all by one pass over the data. Not the rows are looked up in the queries' answers, but the
//! queries that a row concerns in an index of the batch, which is made anew each time: so nothing has to be kept up, and
//! any column can be asked for. This is the scan of CSCS (Giceva et al., "COD: Database/Operating System Co-Design",
//! CIDR 2013, section 4), after Crescando's (Unterbrunner et al., "Predictable Performance for Unpredictable Workloads",
//! VLDB 2009).
//!
//! A table is cut into partitions, each an object of the runtime whose tasks run in line, so that the batches pass over it
//! one after another, side by side with those of other partitions.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Int64Array, RecordBatch};
//! use arrow_schema::{DataType, Field, Schema};
//! use xtasking::Runtime;
//! use xtasking_columns::{Batch, Filter, Query, Table};
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let schema = Arc::new(Schema::new(vec![
//!     Field::new("flight", DataType::Int64, false),
//!     Field::new("fare", DataType::Int64, true),
//! ]));
//! let table = Table::new(&rt, schema.clone(), 2)?;
//! let flights = Arc::new(Int64Array::from(vec![7, 8, 7]));
//! let fares = Arc::new(Int64Array::from(vec![Some(100), Some(120), None]));
//!
//! let mut batch = Batch::new();
//! let insert = batch.insert(RecordBatch::try_new(schema, vec![flights, fares])?);
//! let query = batch.query(Query::rows(Filter::all().equals("flight", 7), ["fare"]));
//! let answers = table.run(&rt, batch)?;
//! assert_eq!(answers.changed(insert)?, 3);
//! assert_eq!(answers.rows(query)?.num_rows(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `table` | a table, its partitions, and the tasks of a batch |
//! | `desk` | single requests, collected into batches |
//! | `request` | what can be asked for and changed |
//! | `answer` | what comes back |
//! | `value` | values, and the kinds of words that they are kept as |
//! | `types` | Arrow's types, as words and texts |
//! | `text` | texts, and the words that stand for them |
//! | `plan` | requests, checked against a schema |
//! | `partition` | a part of the rows, and what a batch does to it |
//! | `found` | what queries have found, and how it becomes Arrow's |
//! | `chunk` | rows that fit into the first cache, column by column |
//! | `scan` | the queries that a row concerns |
//! | `statistics` | what is known of a table's rows without looking at them |
//! | [`load`] | rows from files |
//! | `sql` | tables that DataFusion reads and changes (feature `sql`) |

mod answer;
mod chunk;
mod desk;
mod found;
pub mod load;
mod partition;
mod plan;
mod request;
mod scan;
#[cfg(feature = "sql")]
pub mod sql;
mod statistics;
mod table;
mod text;
mod types;
mod value;

pub use answer::{Answers, Failure};
pub use desk::{Desk, Terms};
pub use request::{Aggregate, Batch, Change, Filter, Name, Query, Test};
pub use table::{PartitionMemory, Table, TableBuilder};
pub use value::Value;
