//! Commands to replay.

use crate::resp::{Args, Requests};
use smallvec::SmallVec;

/// Commands to replay, in order, each with its database.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    requests: Requests,
    databases: SmallVec<[usize; 4]>,
}

impl Commands {
    /// Returns the number of commands.
    pub fn len(&self) -> usize {
        self.databases.len()
    }

    /// Returns true if there are no commands.
    pub fn is_empty(&self) -> bool {
        self.databases.is_empty()
    }

    /// Iterates over the commands: the database of each, and its arguments.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Args<'_>)> {
        self.databases.iter().enumerate().map(|(index, database)| (*database, self.requests.args(index)))
    }

    pub(crate) fn push<A: AsRef<[u8]>>(&mut self, database: usize, args: impl IntoIterator<Item = A>) {
        self.requests.push(args);
        self.databases.push(database);
    }

    /// Inserts a command before the one of this index.
    pub(crate) fn insert<A: AsRef<[u8]>>(
        &mut self,
        index: usize,
        database: usize,
        args: impl IntoIterator<Item = A>,
    ) {
        let mut inserted = Self::default();
        let mut own = self.iter();
        own.by_ref().take(index).for_each(|(database, args)| inserted.push(database, args.iter()));
        inserted.push(database, args);
        own.for_each(|(database, args)| inserted.push(database, args.iter()));
        *self = inserted;
    }

    /// Removes all commands, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.databases.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Commands;

    #[test]
    fn a_command_is_inserted_between_others() {
        let mut commands = Commands::default();
        commands.push(1, ["a", "b"]);
        commands.push(2, ["c"]);
        commands.insert(1, 3, ["d", "e"]);
        let shown: Vec<_> = commands
            .iter()
            .map(|(database, args)| (database, args.iter().collect::<Vec<_>>().concat()))
            .collect();
        assert_eq!(shown, [(1, b"ab".to_vec()), (3, b"de".to_vec()), (2, b"c".to_vec())]);
        commands.clear();
        assert!(commands.is_empty() && commands.iter().next().is_none());
    }
}
