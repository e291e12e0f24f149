//! An in-memory column store that answers batches of requests with shared scans.
//!
//! It suits many concurrent queries by any column of a table that also changes: an index on the
//! table would have to be maintained by every change; an index on the batch of queries would not.
//! The scan indexes the queries of a batch and probes that index with each row. This is the shared
//! scan of CSCS (Giceva et al., "COD: Database/Operating System Co-Design", CIDR 2013, section 4)
//! and Crescando (Unterbrunner et al., "Predictable Performance for Unpredictable Workloads", VLDB
//! 2009).
//!
//! A [`Table`] keeps its rows in partitions, each an object of the runtime that one worker scans.
//! A [`Batch`] holds changes and queries; the changes are made first, in order, and then every
//! query sees the same snapshot. The table serves batches one after another and returns an
//! [`Answers`] for each: the number of rows that each change affected, and the rows or aggregates
//! that each query found. A [`Batcher`] collects single requests of many threads into batches.
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
//! let inserted = batch.insert(RecordBatch::try_new(schema, vec![flights, fares])?);
//! let query = batch.query(Query::rows(Filter::all().equals("flight", 7), ["fare"]));
//! let answers = table.run(&rt, batch)?;
//! assert_eq!(answers.rows_affected(inserted)?, 3);
//! assert_eq!(answers.rows(query)?.num_rows(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `request` | [`Batch`], [`Query`], [`Filter`] and [`Change`]: the requests |
//! | `answers`, `failure` | [`Answers`] to a batch; [`Failure`] of a request |
//! | `table` | [`Table`]: partitions, the dispatch of batches, the balance of rows |
//! | `batcher` | [`Batcher`]: single requests, collected into batches |
//! | [`load`] | rows from CSV, Arrow and Parquet files |
//! | `sql` | tables of DataFusion |
//! | `value`, `types`, `text` | values, and their representation as words of 64 bits and texts |
//! | `chunk` | the rows of a table, in chunks that fit into the L1 cache |
//! | `plan` | requests, checked against the schema |
//! | `statistics` | bounds and a sample of each column, for estimates of selectivity |
//! | `scan` | the index of a batch's queries, and its probing with the rows of a chunk |
//! | `partition` | the rows of one worker, and the execution of a batch on them |
//! | `result` | partial results of the partitions, and their merge into Arrow arrays |
//!
//! # Features
//!
//! None is on by default, as their dependencies take long to build.
//!
//! | feature | adds |
//! |---|---|
//! | `csv` | [`load`] reads CSV files |
//! | `ipc` | [`load`] reads Arrow's files and streams |
//! | `parquet` | [`load`] reads Parquet files |
//! | `sql` | the module `sql`: tables as providers for DataFusion |
//!
//! # Types of other crates
//!
//! The interface names types of `xtasking`, of `arrow-array`, `arrow-schema` and their kin 59, and
//! with `sql` of `datafusion` 55. A newer major version of one of them is a breaking change of this
//! crate.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[macro_use(planted)]
extern crate xtasking;

/// Compiles the code of the package's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod answers;
mod batcher;
mod chunk;
mod failure;
pub mod load;
mod partition;
mod plan;
mod request;
mod result;
mod scan;
#[cfg(feature = "sql")]
pub mod sql;
mod statistics;
mod table;
mod text;
mod types;
mod value;

pub use answers::Answers;
pub use batcher::{BatchPolicy, Batcher};
pub use failure::Failure;
pub use request::{Aggregate, Batch, Change, ColumnName, Filter, Query, Test};
pub use table::{PartitionMemory, Table, TableBuilder};
pub use value::Value;
