//! Commands, keys and channels that go together.

use super::needs::{ChannelNeed, KeyNeed};
use super::{CommandSet, Needs, RuleError};
use crate::command::{Command, Flags};
use crate::glob;
use crate::resp::{Args, words};

/// Why a request is refused, from what is least to what is most of interest: of several selectors
/// the last one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denial {
    /// The command is not allowed.
    Command,
    /// The key at this place among the arguments is not.
    Key(usize),
    /// The channel at this place is not.
    Channel(usize),
}

/// What is allowed together: a request runs if one selector of the user allows all of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    commands: CommandSet,
    has_all_keys: bool,
    keys: Vec<KeyPattern>,
    has_all_channels: bool,
    channels: Vec<Box<[u8]>>,
}

/// Keys that may be read, written, or both.
#[derive(Clone, Debug)]
struct KeyPattern {
    pattern: Box<[u8]>,
    can_read: bool,
    can_write: bool,
}

impl KeyPattern {
    /// Reads what stands after `%`: letters, and the pattern after `~`.
    fn parse(text: &[u8]) -> Result<Self, RuleError> {
        let mut found = Self { pattern: Box::default(), can_read: false, can_write: false };
        for (at, letter) in text.iter().enumerate() {
            match letter.to_ascii_uppercase() {
                b'R' if !found.can_read => found.can_read = true,
                b'W' if !found.can_write => found.can_write = true,
                b'~' if found.can_read || found.can_write => {
                    found.pattern = text[at + 1..].into();
                    return Ok(found);
                }
                _ => return Err(RuleError::Syntax),
            }
        }
        Err(RuleError::Syntax)
    }

    fn rule(&self) -> Vec<u8> {
        let kind: &[u8] = match (self.can_read, self.can_write) {
            (true, true) => b"~",
            (true, false) => b"%R~",
            _ => b"%W~",
        };
        [kind, &self.pattern].concat()
    }
}

/// Returns true if a name has spaces or zeros, which no pattern and no name of a user may have.
pub(super) fn has_spaces(name: &[u8]) -> bool {
    name.iter().any(|byte| matches!(byte, b' ' | 0 | 9..=13))
}

impl Selector {
    /// Makes one that allows nothing, but perhaps all channels.
    pub(super) fn new(has_all_channels: bool) -> Self {
        Self { has_all_channels, ..Self::default() }
    }

    /// Makes one that allows everything.
    pub(super) fn of_all() -> Self {
        Self {
            commands: CommandSet::of_all(true),
            has_all_keys: true,
            has_all_channels: true,
            ..Self::default()
        }
    }

    /// Reads a selector in parentheses. `has_all_channels` is what it has at first.
    pub(super) fn parse(text: &[u8], has_all_channels: bool) -> Result<Self, RuleError> {
        let mut selector = Self::new(has_all_channels);
        let rules = words(&text[1..text.len() - 1]).ok_or(RuleError::Syntax)?;
        rules.iter().try_for_each(|rule| selector.apply(rule))?;
        Ok(selector)
    }

    /// Applies a rule.
    pub(super) fn apply(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        match (rule.to_ascii_lowercase().as_slice(), rule) {
            (b"allkeys" | b"~*", _) => self.set_all_keys(true),
            (b"resetkeys", _) => self.set_all_keys(false),
            (b"allchannels" | b"&*", _) => self.set_all_channels(true),
            (b"resetchannels", _) => self.set_all_channels(false),
            (b"allcommands", _) => self.commands = CommandSet::of_all(true),
            (b"nocommands", _) => self.commands = CommandSet::of_all(false),
            (_, [b'~', pattern @ ..]) => {
                self.add_keys(KeyPattern { pattern: pattern.into(), can_read: true, can_write: true })?;
            }
            (_, [b'%', text @ ..]) => self.add_keys(KeyPattern::parse(text)?)?,
            (_, [b'&', pattern @ ..]) => self.add_channels(pattern)?,
            (_, [b'+', name @ ..]) => self.commands.apply(name, true)?,
            (_, [b'-', name @ ..]) => self.commands.apply(name, false)?,
            _ => return Err(RuleError::Syntax),
        }
        Ok(())
    }

    fn set_all_keys(&mut self, has_all: bool) {
        self.has_all_keys = has_all;
        self.keys.clear();
    }

    fn set_all_channels(&mut self, has_all: bool) {
        self.has_all_channels = has_all;
        self.channels.clear();
    }

    fn add_keys(&mut self, added: KeyPattern) -> Result<(), RuleError> {
        if self.has_all_keys {
            return Err(RuleError::AllKeys);
        }
        if has_spaces(&added.pattern) {
            return Err(RuleError::Syntax);
        }
        match self.keys.iter_mut().find(|known| known.pattern == added.pattern) {
            Some(known) => {
                known.can_read |= added.can_read;
                known.can_write |= added.can_write;
            }
            None => self.keys.push(added),
        }
        Ok(())
    }

    fn add_channels(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        if self.has_all_channels {
            return Err(RuleError::AllChannels);
        }
        if has_spaces(pattern) {
            return Err(RuleError::Syntax);
        }
        if !self.channels.iter().any(|known| **known == *pattern) {
            self.channels.push(pattern.into());
        }
        Ok(())
    }

    /// Returns true if it allows everything.
    pub(super) fn has_all(&self) -> bool {
        self.commands.has_all() && self.has_all_keys && self.has_all_channels
    }

    /// Returns true if it allows to read all keys, or to write them.
    pub(super) fn allows_all_keys(&self, is_write: bool) -> bool {
        let has_right = |known: &KeyPattern| if is_write { known.can_write } else { known.can_read };
        self.has_all_keys || self.keys.iter().any(|known| has_right(known) && *known.pattern == *b"*")
    }

    /// Checks a request.
    pub(super) fn check(&self, command: &Command, args: Args<'_>, needs: &Needs) -> Result<(), Denial> {
        if !command.flags.has(Flags::NO_AUTH) && !self.commands.allows(command, args) {
            return Err(Denial::Command);
        }
        if let Some(need) = needs.keys.iter().find(|need| !self.allows_key(args.at(need.at), need)) {
            return Err(Denial::Key(need.at));
        }
        let forbidden =
            needs.channels.iter().find(|need| !self.allows_channel(args.at(need.at), need.is_pattern));
        forbidden.map_or(Ok(()), |&ChannelNeed { at, .. }| Err(Denial::Channel(at)))
    }

    fn allows_key(&self, key: &[u8], need: &KeyNeed) -> bool {
        let has_right =
            |known: &&KeyPattern| known.can_read >= need.needs_read && known.can_write >= need.needs_write;
        let mut known = self.keys.iter().filter(has_right);
        self.has_all_keys || known.any(|known| glob::matches(&known.pattern, key))
    }

    /// Returns true if it allows a channel. A pattern has to be allowed as it is.
    pub(super) fn allows_channel(&self, name: &[u8], is_pattern: bool) -> bool {
        let allows = |known: &[u8]| if is_pattern { known == name } else { glob::matches(known, name) };
        self.has_all_channels || self.channels.iter().any(|known| allows(known))
    }

    /// Returns the rules on commands.
    pub(crate) fn command_rules(&self) -> Vec<u8> {
        self.commands.describe()
    }

    /// Returns the rules on keys, with spaces between them.
    pub(crate) fn key_rules(&self) -> Vec<u8> {
        match self.has_all_keys {
            true => b"~*".to_vec(),
            false => self.keys.iter().map(KeyPattern::rule).collect::<Vec<_>>().join(&b' '),
        }
    }

    /// Returns the rules on channels, with spaces between them.
    pub(crate) fn channel_rules(&self) -> Vec<u8> {
        match self.has_all_channels {
            true => b"&*".to_vec(),
            false => {
                let rules = self.channels.iter().map(|known| [b"&", &**known].concat());
                rules.collect::<Vec<_>>().join(&b' ')
            }
        }
    }

    /// Returns rules that give this selector.
    pub(super) fn describe(&self) -> Vec<u8> {
        let reset: &[u8] = if self.has_all_channels { b"" } else { b"resetchannels" };
        let (keys, channels) = (self.key_rules(), self.channel_rules());
        let parts = [&*keys, reset, &*channels, &*self.command_rules()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&b' ')
    }
}
