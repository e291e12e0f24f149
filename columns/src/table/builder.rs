//! How a table is made.

use super::Table;
use super::gate::{Gate, Parts};
use super::shares::Shares;
use crate::answer::Failure;
use crate::chunk::{rows_for, rows_possible};
use crate::partition::Partition;
use crate::plan::Columns;
use arrow_schema::SchemaRef;
use xtasking::{Runtime, Sequencing};

/// A table in the making; made by [`Table::builder`].
#[must_use = "a table is made by `build`"]
#[derive(Clone, Debug)]
pub struct TableBuilder {
    schema: SchemaRef,
    partitions: Option<usize>,
    chunk_rows: usize,
}

impl TableBuilder {
    /// Bytes that a first cache is taken to have about which nothing is said: those of most processors have as many, or more.
    pub const FIRST_CACHE: u64 = 32 << 10;

    pub(super) fn new(schema: SchemaRef) -> Self {
        Self { schema, partitions: None, chunk_rows: rows_for(Self::FIRST_CACHE) }
    }

    /// Number of partitions, at least one; without this one for each worker of the runtime.
    pub fn partitions(mut self, partitions: usize) -> Self {
        self.partitions = Some(partitions.max(1));
        self
    }

    /// Chunks for workers with a first cache of so many bytes each; of [`FIRST_CACHE`](Self::FIRST_CACHE) without this.
    ///
    /// A column of a chunk then takes half of it, and what is looked up for each row has the other half. Of caches so small
    /// or so great that no chunk is like that, the nearest chunk is made.
    pub fn first_cache(mut self, bytes: u64) -> Self {
        self.chunk_rows = rows_for(bytes);
        self
    }

    /// Chunks of so many rows, whatever the first cache: a multiple of 64, and at most 65536.
    pub fn chunk_rows(mut self, rows: usize) -> Self {
        self.chunk_rows = rows;
        self
    }

    /// Makes the table, which is empty. Its partitions have equal shares of the rows; the first belongs to the runtime's first
    /// worker, and so on.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] for a column of a type that a table cannot have, and [`Failure::ChunkRows`] for
    /// [chunks](Self::chunk_rows) of rows so few, so many or so odd.
    pub fn build(self, rt: &Runtime) -> Result<Table, Failure> {
        let Self { schema, partitions, chunk_rows } = self;
        if !rows_possible(chunk_rows) {
            return Err(Failure::ChunkRows(chunk_rows));
        }
        let columns = Columns::new(schema)?;
        let partitions = partitions.unwrap_or_else(|| rt.workers());
        let partition = |core| {
            let partition = Partition::new(columns.kinds.clone(), chunk_rows);
            rt.plain(partition).pin(Sequencing).core(core).build()
        };
        let shares = Shares::new(&vec![1.0; partitions]).expect("shares of equal weight");
        // At home with the first partition, so that no worker serves it that has no part in the table.
        let gate = rt.plain(Gate::new(&columns.kinds, shares)).pin(Sequencing).core(0).build();
        let partitions = (0..partitions).map(partition).collect();
        Ok(Table { columns, parts: Parts { partitions, gate }, chunk_rows })
    }
}
