//! The table of a turn, and the runtime that it belongs to.

use crate::tables::versioned::{Table, Tables};
use std::time::{Duration, Instant};
use xtasking::Runtime;

/// A table and its runtime. Dropping this ends both.
pub(super) struct RuntimeWithTable {
    tables: Tables,
    table: Table,
}

impl RuntimeWithTable {
    /// Makes an empty table with room for a number of records. Returns the time that the table
    /// takes.
    pub(super) fn make(rt: Runtime, records: usize) -> (Self, Duration) {
        let tables = Tables::new(rt);
        let began = Instant::now();
        let table = tables.add(records);
        let time = began.elapsed();
        (Self { tables, table }, time)
    }

    /// Returns the runtime.
    pub(super) fn runtime(&self) -> &Runtime {
        self.tables.runtime()
    }

    /// Returns the table, for tasks of the runtime.
    pub(super) fn table(&self) -> Table {
        self.table
    }
}
