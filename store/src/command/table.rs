//! The table of all commands.

use super::spec::Command;
use super::{
    acl, bitmaps, connection, diagnostics, generic, geo, hashes, hyperloglogs, lists, pubsub, ranges, server,
    sets, sort, sorted_sets, streams, strings, transactions,
};
use ahash::RandomState;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The entries of each family.
const FAMILIES: &[&[Command]] = &[
    acl::COMMANDS,
    bitmaps::COMMANDS,
    connection::COMMANDS,
    diagnostics::COMMANDS,
    generic::COMMANDS,
    geo::COMMANDS,
    hashes::COMMANDS,
    hyperloglogs::COMMANDS,
    lists::COMMANDS,
    pubsub::COMMANDS,
    ranges::COMMANDS,
    server::COMMANDS,
    sets::COMMANDS,
    sort::COMMANDS,
    sorted_sets::COMMANDS,
    streams::COMMANDS,
    strings::COMMANDS,
    transactions::COMMANDS,
    #[cfg(test)]
    super::probes::COMMANDS,
];

/// Commands by name.
#[derive(Debug)]
struct Table {
    by_name: HashMap<&'static [u8], &'static Command, RandomState>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // The names are the program's own, so the seeds need not be secret.
    let mut by_name = HashMap::with_hasher(RandomState::with_seeds(1, 2, 3, 4));
    by_name.extend(commands().map(|command| (command.name.as_bytes(), command)));
    Table { by_name }
});

/// The longest name of a command or subcommand that is looked up.
const LONGEST_NAME: usize = 32;

/// Iterates over all commands, family by family. Subcommands are with their containers.
pub fn commands() -> impl Iterator<Item = &'static Command> {
    FAMILIES.iter().copied().flatten()
}

/// Finds a command by its name, in letters of any case.
pub fn find(name: &[u8]) -> Option<&'static Command> {
    let mut lower = [0; LONGEST_NAME];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    TABLE.by_name.get(&*lower).copied()
}

impl Command {
    /// Finds a subcommand by its name, in letters of any case.
    pub fn subcommand(&self, name: &[u8]) -> Option<&'static Command> {
        let subcommands: &'static [Command] = self.subcommands;
        let is_it = |command: &&Command| {
            let own = command.name.split_once('|').map_or("", |(_, own)| own);
            own.as_bytes().eq_ignore_ascii_case(name)
        };
        subcommands.iter().find(is_it)
    }
}
