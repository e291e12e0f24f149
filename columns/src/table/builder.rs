//! Options of a table.

use super::Table;
use super::dispatcher::{Dispatcher, TableObjects};
use super::shares::Shares;
use crate::chunk::{chunk_rows_for, is_valid_chunk_rows};
use crate::failure::Failure;
use crate::partition::Partition;
use crate::plan::TableSchema;
use arrow_schema::SchemaRef;
use xtasking::{Runtime, primitive::Sequencing};

/// Options of a table; created by [`Table::builder`].
#[must_use = "call `build` to create the table"]
#[derive(Clone, Debug)]
pub struct TableBuilder {
    schema: SchemaRef,
    partitions: Option<usize>,
    chunk_rows: usize,
}

impl TableBuilder {
    /// The size of the L1 cache, in bytes, that is assumed without
    /// [`l1_cache_bytes`](Self::l1_cache_bytes). Most processors have at least as much.
    pub const L1_CACHE_BYTES: u64 = 32 << 10;

    pub(super) fn new(schema: SchemaRef) -> Self {
        Self { schema, partitions: None, chunk_rows: chunk_rows_for(Self::L1_CACHE_BYTES) }
    }

    /// Sets the number of partitions, at least 1. The default is one for each worker of the
    /// runtime.
    pub fn partitions(mut self, partitions: usize) -> Self {
        self.partitions = Some(partitions.max(1));
        self
    }

    /// Sizes chunks for workers whose L1 caches have this many bytes each. The default is
    /// [`L1_CACHE_BYTES`](Self::L1_CACHE_BYTES).
    ///
    /// A column of a chunk takes half of the cache; the other half is left to the data that the
    /// scan looks up for each row. If no chunk suits a cache of this size, the nearest possible one
    /// is used.
    pub fn l1_cache_bytes(mut self, bytes: u64) -> Self {
        self.chunk_rows = chunk_rows_for(bytes);
        self
    }

    /// Sets the rows of a chunk, regardless of the cache: a multiple of 64, from 64 to 65536.
    pub fn chunk_rows(mut self, rows: usize) -> Self {
        self.chunk_rows = rows;
        self
    }

    /// Creates the table, without rows. Its partitions have equal shares; the first belongs to the
    /// runtime's first worker, and so on.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] for a column of a type that a table cannot store, and
    /// [`Failure::InvalidChunkRows`] for an invalid number of [rows a chunk](Self::chunk_rows).
    pub fn build(self, rt: &Runtime) -> Result<Table, Failure> {
        let Self { schema, partitions, chunk_rows } = self;
        if !is_valid_chunk_rows(chunk_rows) {
            return Err(Failure::InvalidChunkRows(chunk_rows));
        }
        let columns = TableSchema::new(schema)?;
        let partitions = partitions.unwrap_or_else(|| rt.workers());
        let partition = |core| {
            let partition = Partition::new(columns.kinds.clone(), chunk_rows);
            rt.plain(partition).pin(Sequencing).core(core).build()
        };
        let shares = Shares::new(&vec![1.0; partitions]).expect("equal weights are valid");
        // On the first partition's worker, so that no worker without a partition takes part.
        let dispatcher = rt.plain(Dispatcher::new(&columns.kinds, shares)).pin(Sequencing).core(0).build();
        let partitions = (0..partitions).map(partition).collect();
        Ok(Table { columns, objects: TableObjects { partitions, dispatcher }, chunk_rows })
    }
}
