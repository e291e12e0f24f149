//! Databases get an order of their keys, and lose it.

use super::{Held, Keys, Shard};

impl Shard {
    /// Makes the orders of the databases that are to have one, and drops those of others. Returns
    /// by how many bytes the counted keys have grown.
    pub(crate) fn set_ordered(&mut self, is_ordered: impl Fn(usize) -> bool) -> i64 {
        (0..self.databases.len()).map(|number| self.order_database(number, is_ordered(number))).sum()
    }

    fn order_database(&mut self, number: usize, is_ordered: bool) -> i64 {
        let table = &mut self.databases[number].table;
        let before = table.bytes_of_place();
        table.set_ordered(is_ordered);
        let growth = (table.len() * table.bytes_of_place()) as i64 - (table.len() * before) as i64;
        if !self.is_counted {
            return 0;
        }
        self.databases[number].bytes += growth;
        growth
    }
}

impl Keys<'_> {
    /// Returns true if the task may write all its shards.
    pub(crate) fn may_write_all(&self) -> bool {
        self.held().iter().all(Held::is_written)
    }

    /// Drops the orders of all databases, if no shard has a key. The task holds all shards alone.
    pub(crate) fn drop_empty_orders(&mut self) {
        let mut tables = self.held().iter().flat_map(|held| &held.databases).map(|database| &database.table);
        if tables.all(|table| table.len() == 0) {
            self.held_mut().iter_mut().for_each(|held| _ = held.set_ordered(|_| false));
        }
    }

    /// Makes the order of the database. The task holds all shards alone.
    pub(crate) fn make_order(&mut self) {
        self.end_change();
        let database = self.database();
        for at in 0..self.held().len() {
            let growth = self.held_mut()[at].order_database(database, true);
            self.growth += growth;
        }
    }
}
