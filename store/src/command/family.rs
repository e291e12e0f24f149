//! What the entries of one family have in common.

use super::{Command, Flags};

/// The flags of commands on sessions and on the server: they run at any time, but in no script.
pub(super) const FOR_ALL: &[Flags] = &[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE];
/// The flags of those that only administrators may run.
pub(super) const FOR_ADMINISTRATORS: &[Flags] =
    &[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE];

/// A family of commands: their group in the documentation, and their categories for access control.
pub(super) struct Family {
    group: &'static str,
    categories: &'static [&'static str],
}

impl Family {
    pub(super) const fn new(group: &'static str, categories: &'static [&'static str]) -> Self {
        Self { group, categories }
    }

    /// Returns the entries with the family's group and categories, where they state no others. A
    /// container of subcommands belongs to no category.
    pub(super) const fn commands<const N: usize>(&self, mut entries: [Command; N]) -> [Command; N] {
        let mut at = 0;
        while at < N {
            let entry = &mut entries[at];
            if entry.group.is_empty() {
                entry.group = self.group;
            }
            if entry.categories.is_empty() && entry.subcommands.is_empty() {
                entry.categories = self.categories;
            }
            at += 1;
        }
        entries
    }
}
