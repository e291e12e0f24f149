//! A user: passwords and selectors.

use super::selector::has_spaces;
use super::{Denial, RuleError, Selector, needs_of, password};
use crate::command::Command;
use crate::resp::Args;
use std::iter::once;

/// A user, as the rules so far have made it.
#[derive(Clone, Debug)]
pub(crate) struct User {
    is_on: bool,
    /// Whether any password is right.
    accepts_any_password: bool,
    /// The flags on RESTORE, which change nothing: what it takes is always checked.
    sanitizing: Option<&'static str>,
    /// The hashes of its passwords.
    passwords: Vec<String>,
    /// What the rules outside of parentheses allow.
    root: Selector,
    /// What those in parentheses allow.
    others: Vec<Selector>,
}

/// Returns true if a user may have this name.
pub(crate) fn is_user_name(name: &[u8]) -> bool {
    !has_spaces(name)
}

impl User {
    /// Makes a user that is off and may do nothing, but perhaps has all channels.
    pub(crate) fn new(has_all_channels: bool) -> Self {
        Self {
            is_on: false,
            accepts_any_password: false,
            sanitizing: None,
            passwords: Vec::new(),
            root: Selector::new(has_all_channels),
            others: Vec::new(),
        }
    }

    /// Makes the default user: it takes any password, and may do everything.
    pub(crate) fn default_user() -> Self {
        Self { is_on: true, accepts_any_password: true, root: Selector::of_all(), ..Self::new(true) }
    }

    /// Applies a rule. `has_all_channels` says what new users and selectors have.
    pub(crate) fn apply(&mut self, rule: &[u8], has_all_channels: bool) -> Result<(), RuleError> {
        match (rule.to_ascii_lowercase().as_slice(), rule) {
            (b"", _) => {}
            (b"on", _) => self.is_on = true,
            (b"off", _) => self.is_on = false,
            (b"skip-sanitize-payload", _) => self.sanitizing = Some("skip-sanitize-payload"),
            (b"sanitize-payload", _) => self.sanitizing = Some("sanitize-payload"),
            (b"nopass", _) => self.reset_passwords(true),
            (b"resetpass", _) => self.reset_passwords(false),
            (b"clearselectors", _) => self.others.clear(),
            (b"reset", _) => {
                *self = Self { sanitizing: Some("sanitize-payload"), ..Self::new(has_all_channels) };
            }
            (_, [b'>', text @ ..]) => self.add_password(password::hash(text)),
            (_, [b'#', text @ ..]) => self.add_password(password::parse_hash(text).ok_or(RuleError::Hash)?),
            (_, [b'<', text @ ..]) => self.remove_password(&password::hash(text))?,
            (_, [b'!', text @ ..]) => {
                self.remove_password(&password::parse_hash(text).ok_or(RuleError::Hash)?)?;
            }
            (_, [b'(', .., b')']) => self.others.push(Selector::parse(rule, has_all_channels)?),
            _ => self.root.apply(rule)?,
        }
        Ok(())
    }

    fn reset_passwords(&mut self, accepts_any: bool) {
        self.accepts_any_password = accepts_any;
        self.passwords.clear();
    }

    fn add_password(&mut self, hash: String) {
        self.accepts_any_password = false;
        if !self.passwords.contains(&hash) {
            self.passwords.push(hash);
        }
    }

    fn remove_password(&mut self, hash: &str) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|known| known == hash).ok_or(RuleError::NoSuchPassword)?;
        self.passwords.remove(at);
        Ok(())
    }

    /// Sets the only password, or that any is right if it is empty: the setting `requirepass`.
    pub(super) fn set_only_password(&mut self, password: &str) {
        self.reset_passwords(password.is_empty());
        if !password.is_empty() {
            self.add_password(password::hash(password.as_bytes()));
        }
    }

    /// Returns true if a client may log in with this password.
    pub(super) fn accepts_password(&self, password: &[u8]) -> bool {
        let hash = || password::hash(password);
        let is_right = || {
            let hash = hash();
            self.passwords.iter().fold(false, |is_right, known| is_right | password::is_same(known, &hash))
        };
        self.is_on && (self.accepts_any_password || is_right())
    }

    /// Returns true if any password is right.
    pub(crate) fn accepts_any_password(&self) -> bool {
        self.accepts_any_password
    }

    /// Returns true if a new connection has this user without a password.
    pub(super) fn is_open(&self) -> bool {
        self.is_on && self.accepts_any_password
    }

    fn selectors(&self) -> impl Iterator<Item = &Selector> {
        once(&self.root).chain(&self.others)
    }

    /// Returns true if nothing is forbidden.
    pub(super) fn has_all_rights(&self) -> bool {
        self.selectors().any(Selector::has_all)
    }

    /// Checks a request, whose number of arguments is right.
    pub(crate) fn check(&self, command: &Command, args: Args<'_>) -> Result<(), Denial> {
        let needs = needs_of(command, args);
        let mut denial = Denial::Command;
        for selector in self.selectors() {
            match selector.check(command, args, &needs) {
                Ok(()) => return Ok(()),
                Err(other) => denial = denial.max(other),
            }
        }
        Err(denial)
    }

    /// Returns true if a selector that allows a request also allows to read all keys, or to write
    /// them.
    pub(crate) fn allows_all_keys(&self, command: &Command, args: Args<'_>, is_write: bool) -> bool {
        let needs = needs_of(command, args);
        let allows = |selector: &Selector| selector.check(command, args, &needs).is_ok();
        self.selectors().any(|selector| selector.allows_all_keys(is_write) && allows(selector))
    }

    /// Returns true if it may listen to a channel or by a pattern.
    pub(crate) fn can_listen(&self, name: &[u8], is_pattern: bool) -> bool {
        self.selectors().any(|selector| selector.allows_channel(name, is_pattern))
    }

    /// Returns its flags, in the order of Redis.
    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let state = if self.is_on { "on" } else { "off" };
        let any = self.accepts_any_password.then_some("nopass");
        once(state).chain(any).chain(self.sanitizing).collect()
    }

    /// Returns the hashes of its passwords.
    pub(crate) fn passwords(&self) -> &[String] {
        &self.passwords
    }

    /// Returns what the rules outside of parentheses allow.
    pub(crate) fn root(&self) -> &Selector {
        &self.root
    }

    /// Returns what those in parentheses allow.
    pub(crate) fn other_selectors(&self) -> &[Selector] {
        &self.others
    }

    /// Returns rules that give this user.
    pub(crate) fn describe(&self) -> Vec<u8> {
        let flags = self.flags().into_iter().map(|flag| flag.as_bytes().to_vec());
        let passwords = self.passwords.iter().map(|hash| format!("#{hash}").into_bytes());
        let others = self.others.iter().map(|other| [b"(", &*other.describe(), b")"].concat());
        let all = flags.chain(passwords).chain(once(self.root.describe())).chain(others);
        all.collect::<Vec<_>>().join(&b' ')
    }
}
