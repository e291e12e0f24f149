//! Databases get an order of their keys, and lose it.

use super::Shard;

impl Shard {
    /// Makes the orders of the databases that are to have one, and drops those of others. Returns
    /// by how many bytes the counted keys have grown.
    pub(crate) fn set_ordered(&mut self, is_ordered: impl Fn(usize) -> bool) -> i64 {
        let mut growth = 0;
        for (number, database) in self.databases.iter_mut().enumerate() {
            let table = &mut database.table;
            let before = table.bytes_of_place();
            table.set_ordered(is_ordered(number));
            if self.is_counted {
                let own = (table.len() * table.bytes_of_place()) as i64 - (table.len() * before) as i64;
                database.bytes += own;
                growth += own;
            }
        }
        growth
    }
}
