//! Which commands a selector allows.

use super::RuleError;
use super::catalog::{CATEGORIES, Catalog, category};
use super::selector::has_spaces;
use crate::command::Command;
use crate::resp::Args;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Commands that are allowed.
#[derive(Clone, Debug)]
pub(crate) struct CommandSet {
    /// By the number of the command.
    allowed: Vec<bool>,
    /// Whether it began with all commands, and so shows those that are missing.
    is_subtractive: bool,
    /// First arguments with which a command is allowed that is not without them.
    first_args: BTreeMap<usize, Vec<Vec<u8>>>,
}

impl Default for CommandSet {
    /// Allows nothing.
    fn default() -> Self {
        Self::of_all(false)
    }
}

impl CommandSet {
    /// Allows all commands, or none.
    pub(super) fn of_all(is_allowed: bool) -> Self {
        let allowed = vec![is_allowed; Catalog::get().len()];
        Self { allowed, is_subtractive: is_allowed, first_args: BTreeMap::new() }
    }

    /// Returns true if it allows every command.
    pub(super) fn has_all(&self) -> bool {
        self.allowed.iter().all(|is_allowed| *is_allowed)
    }

    /// Returns true if it allows a request.
    pub(super) fn allows(&self, command: &Command, args: Args<'_>) -> bool {
        let Some(number) = Catalog::get().number(command) else { return false };
        let first_args = || self.first_args.get(&number).into_iter().flatten();
        let first = || args.get(1).unwrap_or_default();
        self.allowed[number] || first_args().any(|known| known.eq_ignore_ascii_case(first()))
    }

    /// Allows or forbids a command with its subcommands.
    fn set(&mut self, number: usize, is_allowed: bool) {
        self.allowed[Catalog::get().family(number)].fill(is_allowed);
        self.first_args.remove(&number);
    }

    fn set_category(&mut self, category: &str, is_allowed: bool) {
        Catalog::get().members(category).for_each(|number| self.set(number, is_allowed));
    }

    /// Applies a rule without its sign: the name of a command, of a category after `@`, or of a
    /// command with a subcommand or a first argument after a bar.
    pub(super) fn apply(&mut self, name: &[u8], is_allowed: bool) -> Result<(), RuleError> {
        if let Some(name) = name.strip_prefix(b"@") {
            if name.eq_ignore_ascii_case(b"all") {
                *self = Self::of_all(is_allowed);
                return Ok(());
            }
            let category = category(name).ok_or(RuleError::UnknownCommand)?;
            self.set_category(category, is_allowed);
            return Ok(());
        }
        let catalog = Catalog::get();
        let bar = name.iter().rposition(|byte| *byte == b'|').filter(|_| is_allowed);
        let Some(bar) = bar else {
            let number = catalog.find(name).ok_or(RuleError::UnknownCommand)?;
            self.set(number, is_allowed);
            return Ok(());
        };
        let (container, first) = (&name[..bar], &name[bar + 1..]);
        let number = catalog.find(container).ok_or(RuleError::UnknownCommand)?;
        if container.contains(&b'|') {
            return Err(RuleError::OfSubcommand);
        }
        if first.is_empty() || has_spaces(first) {
            return Err(RuleError::Syntax);
        }
        if !catalog.command(number).subcommands.is_empty() {
            self.set(catalog.find(name).ok_or(RuleError::UnknownCommand)?, true);
            return Ok(());
        }
        let known = self.first_args.entry(number).or_default();
        if !known.iter().any(|known| known.eq_ignore_ascii_case(first)) {
            known.push(first.to_vec());
        }
        Ok(())
    }

    /// Returns rules that give this set: all or nothing first, then the categories that fit best,
    /// then single commands.
    pub(super) fn describe(&self) -> Vec<u8> {
        let (catalog, adds) = (Catalog::get(), !self.is_subtractive);
        let sign = |is_allowed: bool| if is_allowed { '+' } else { '-' };
        let mut rules = vec![format!("{}@all", sign(!adds)).into_bytes()];
        // What the rules so far give, and what they are still to give.
        let (mut given, mut wanted) = (Self::of_all(!adds), self.clone());
        let mut left = CATEGORIES.to_vec();
        loop {
            let fit = |category: &str| {
                let right =
                    catalog.members(category).filter(|number| wanted.allowed[*number] == adds).count();
                (right, catalog.members(category).count() - right)
            };
            let fitting = left.iter().enumerate().map(|(at, category)| (at, fit(category)));
            let fitting = fitting.filter(|(_, (right, wrong))| right > wrong);
            let best = fitting.min_by_key(|(_, (right, wrong))| (*wrong, Reverse(*right)));
            let Some((at, _)) = best else { break };
            let category = left.remove(at);
            given.set_category(category, adds);
            wanted.set_category(category, !adds);
            rules.push(format!("{}@{category}", sign(adds)).into_bytes());
        }
        for number in 0..catalog.len() {
            let (is_allowed, name) = (self.allowed[number], catalog.command(number).name);
            if given.allowed[number] != is_allowed {
                given.set(number, is_allowed);
                rules.push(format!("{}{name}", sign(is_allowed)).into_bytes());
            }
            let first_args = self.first_args.get(&number).filter(|_| !is_allowed);
            for first in first_args.into_iter().flatten() {
                rules.push([b"+", name.as_bytes(), b"|", first].concat());
            }
        }
        debug_assert_eq!(given.allowed, self.allowed, "the rules give the same set");
        rules.join(&b' ')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(rules: &str) -> CommandSet {
        let mut set = CommandSet::default();
        for rule in rules.split_whitespace() {
            set.apply(&rule.as_bytes()[1..], rule.starts_with('+')).unwrap();
        }
        set
    }

    fn shown(rules: &str) -> String {
        String::from_utf8(set(rules).describe()).unwrap()
    }

    #[test]
    fn sets_are_shown_in_short_rules() {
        for (rules, short) in [
            ("", "-@all"),
            ("+@all", "+@all"),
            ("+@all -client|kill", "+@all -client|kill"),
            ("+memory|doctor", "-@all +memory|doctor"),
            ("+memory|doctor +memory", "-@all +memory"),
            ("+@all +client|id", "+@all"),
            ("+@all -get +GET", "+@all"),
            ("+config -config|set", "-@all +config -config|set"),
            ("+select|0 +SELECT|0 +select|1", "-@all +select|0 +select|1"),
            ("+@all -select +select|0", "+@all -select +select|0"),
            ("+select|0 +select", "-@all +select"),
        ] {
            assert_eq!(shown(rules), short, "{rules}");
        }
        for category in CATEGORIES.into_iter().filter(|name| Catalog::get().members(name).count() > 0) {
            assert_eq!(shown(&format!("+@all -@{category}")), format!("+@all -@{category}"));
            assert_eq!(shown(&format!("+@{category}")), format!("-@all +@{category}"));
        }
    }

    #[test]
    fn what_is_shown_gives_the_same_set() {
        for rules in ["+@string -incr +acl", "+@all -@string +incr", "+@read +@write -@dangerous +keys"] {
            let (first, again) = (set(rules), set(&shown(rules)));
            assert_eq!(first.allowed, again.allowed, "{rules}");
        }
    }

    #[test]
    fn rules_that_are_not_understood_are_refused() {
        for (rule, error) in [
            ("nothing", RuleError::UnknownCommand),
            ("@nothing", RuleError::UnknownCommand),
            ("config|nothing", RuleError::UnknownCommand),
            ("get|a|b", RuleError::UnknownCommand),
            ("config|get|a", RuleError::OfSubcommand),
            ("select|", RuleError::Syntax),
            ("select|0 1", RuleError::Syntax),
            ("select|0\nuser x", RuleError::Syntax),
        ] {
            assert_eq!(CommandSet::default().apply(rule.as_bytes(), true), Err(error), "{rule}");
        }
        assert_eq!(set("+@all").apply(b"select|0", false), Err(RuleError::UnknownCommand));
    }
}
