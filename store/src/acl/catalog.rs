//! All commands and subcommands by number, and their categories.

use crate::command::{Command, commands};
use ahash::RandomState;
use std::collections::HashMap;
use std::iter::once;
use std::ops::Range;
use std::sync::LazyLock;

/// The categories of commands, in the order of Redis.
pub(crate) const CATEGORIES: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// Commands and subcommands, each with its number. A container comes right before its subcommands.
pub(super) struct Catalog {
    entries: Vec<CatalogEntry>,
    numbers: HashMap<&'static str, usize, RandomState>,
}

struct CatalogEntry {
    command: &'static Command,
    categories: Vec<&'static str>,
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let all = commands().flat_map(|command| once(command).chain(command.subcommands));
    let entries: Vec<_> =
        all.map(|command| CatalogEntry { command, categories: command.all_categories() }).collect();
    // The names are the program's own, so the seeds need not be secret.
    let mut numbers = HashMap::with_hasher(RandomState::with_seeds(1, 2, 3, 4));
    numbers.extend(entries.iter().enumerate().map(|(number, entry)| (entry.command.name, number)));
    Catalog { entries, numbers }
});

impl Catalog {
    pub(super) fn get() -> &'static Self {
        &CATALOG
    }

    /// Returns how many commands there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of a command.
    pub(super) fn number(&self, command: &Command) -> Option<usize> {
        self.numbers.get(command.name).copied()
    }

    /// Finds a command or, as `config|get`, a subcommand, in letters of any case.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        let name = String::from_utf8(name.to_ascii_lowercase()).ok()?;
        self.numbers.get(&*name).copied()
    }

    /// Returns a command by its number.
    pub(super) fn command(&self, number: usize) -> &'static Command {
        self.entries[number].command
    }

    /// Returns the numbers of a command and of its subcommands.
    pub(super) fn family(&self, number: usize) -> Range<usize> {
        number..number + 1 + self.command(number).subcommands.len()
    }

    /// Returns the numbers of the commands of a category.
    pub(super) fn members(&self, category: &str) -> impl Iterator<Item = usize> {
        let has_it = move |entry: &CatalogEntry| entry.categories.contains(&category);
        self.entries.iter().enumerate().filter(move |(_, entry)| has_it(entry)).map(|(number, _)| number)
    }
}

/// Finds a category by its name, in letters of any case.
pub(crate) fn category(name: &[u8]) -> Option<&'static str> {
    CATEGORIES.into_iter().find(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// Returns the names of the commands of a category.
pub(crate) fn in_category(category: &str) -> impl Iterator<Item = &'static str> {
    let catalog = Catalog::get();
    catalog.members(category).map(|number| catalog.command(number).name)
}
