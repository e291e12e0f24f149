//! The arguments of commands: what COMMAND DOCS says of them, and the lines of HELP.
//!
//! They are read once, from `arguments.txt`, which says how it is written.

use ahash::RandomState;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// The lines of all commands.
const TEXT: &str = include_str!("arguments.txt");

/// The deepest that arguments are within others.
const MOST_DEPTH: usize = 8;

/// An argument of a command, or several that go together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: Cow<'static, str>,
    /// Redis' word for its type.
    pub(super) kind: &'static str,
    /// The word that comes before it, or that it is.
    pub(super) token: Option<&'static str>,
    /// The number of the key specification that has the key.
    pub(super) key_spec: Option<u8>,
    pub(super) since: Option<&'static str>,
    pub(super) deprecated_since: Option<&'static str>,
    pub(super) is_optional: bool,
    pub(super) is_multiple: bool,
    /// Whether the word comes again with each one.
    pub(super) repeats_token: bool,
    /// What one of is given, or one after the other.
    pub(super) parts: Vec<Argument>,
}

static ARGUMENTS: LazyLock<HashMap<&'static str, Vec<Argument>, RandomState>> = LazyLock::new(|| {
    // The names are the program's own, so the seeds need not be secret.
    let mut all = HashMap::with_hasher(RandomState::with_seeds(1, 2, 3, 4));
    // A test reads all lines.
    all.extend(lines().filter_map(|(name, line)| Some((name, parse(line)?))));
    all
});

/// Iterates over the lines: the name of each command, and its arguments.
fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    TEXT.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '))
}

/// Returns the arguments of a command or subcommand.
pub(super) fn arguments_of(command: &str) -> &'static [Argument] {
    ARGUMENTS.get(command).map_or(&[], Vec::as_slice)
}

/// Reads the arguments of a line; `None` if it is not well-formed.
fn parse(line: &'static str) -> Option<Vec<Argument>> {
    let mut parser = ArgumentParser { rest: line, depth: 0 };
    let (arguments, is_choice) = parser.list()?;
    (parser.rest.is_empty() && !is_choice).then_some(arguments)
}

/// What is left of a line.
struct ArgumentParser {
    rest: &'static str,
    depth: usize,
}

impl ArgumentParser {
    /// Takes a text if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes the letters up to one that is not of a word. Versions have dots, and `...` is none.
    fn letters(&mut self, is_letter: impl Fn(char) -> bool) -> &'static str {
        let end = self.rest.find(|letter: char| !is_letter(letter)).unwrap_or(self.rest.len());
        let end = self.rest[..end].find("..").unwrap_or(end);
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Takes a word, in quotes of this kind or without.
    fn word(&mut self, quote: char) -> Option<&'static str> {
        let Some(quoted) = self.rest.strip_prefix(quote) else {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
            return Some(self.letters(is_letter)).filter(|word| !word.is_empty());
        };
        let (word, rest) = quoted.split_once(quote)?;
        self.rest = rest;
        Some(word)
    }

    /// Takes arguments, and says whether they are a choice.
    fn list(&mut self) -> Option<(Vec<Argument>, bool)> {
        let mut arguments = vec![self.argument()?];
        let mut is_choice = false;
        loop {
            is_choice |= self.rest.starts_with('|');
            if !self.take(if is_choice { "|" } else { " " }) {
                return Some((arguments, is_choice));
            }
            // A choice of one ends like this.
            if !self.rest.starts_with(')') {
                arguments.push(self.argument()?);
            }
        }
    }

    fn argument(&mut self) -> Option<Argument> {
        if self.take("[") {
            let argument = Argument { is_optional: true, ..self.argument()? };
            return self.take("]").then_some(argument);
        }
        let mut argument = self.named()?;
        if self.take("(") {
            self.depth += 1;
            let (parts, is_choice) = (self.depth <= MOST_DEPTH).then(|| self.list())??;
            self.depth -= 1;
            argument.kind = if is_choice { "oneof" } else { "block" };
            argument.parts = parts;
            self.take(")").then_some(())?;
        } else if self.take(":") {
            argument.kind = self.word('`')?;
        } else if argument.kind.is_empty() {
            argument.kind = match &*argument.name {
                "key" => "key",
                "pattern" => "pattern",
                _ => "string",
            };
        }
        argument.key_spec = (argument.kind == "key").then_some(0);
        self.end(&mut argument)?;
        Some(argument)
    }

    /// Takes the name of an argument, and the word that it is or that comes before it.
    fn named(&mut self) -> Option<Argument> {
        let is_token = |first: char| first.is_ascii_uppercase() || first == '\'';
        if !self.rest.starts_with(is_token) {
            let name = Cow::Borrowed(self.word('`')?);
            let token = if self.take("!") { Some(self.word('\'')?) } else { None };
            let kind = if token.is_some() { "pure-token" } else { "" };
            return Some(Argument { name, kind, token, ..Argument::default() });
        }
        let token = self.word('\'')?;
        if self.take("=") {
            let name = Cow::Borrowed(self.word('`')?);
            return Some(Argument { name, token: Some(token), ..Argument::default() });
        }
        let name = Cow::Owned(token.to_ascii_lowercase());
        Some(Argument { name, kind: "pure-token", token: Some(token), ..Argument::default() })
    }

    /// Takes what stands behind an argument.
    fn end(&mut self, argument: &mut Argument) -> Option<()> {
        let is_of_version = |letter: char| letter.is_ascii_digit() || letter == '.';
        if self.take("#") {
            let number = self.letters(is_of_version);
            argument.key_spec = if self.take("-") { None } else { Some(number.parse().ok()?) };
        }
        if self.take("@") {
            argument.since = Some(self.letters(is_of_version));
        }
        if self.take("~") {
            argument.deprecated_since = Some(self.letters(is_of_version));
        }
        argument.is_multiple = self.take("...");
        argument.repeats_token = argument.is_multiple && self.take("+");
        Some(())
    }
}

impl Argument {
    /// Writes it once, without what says that it is optional.
    fn write_once(&self, f: &mut fmt::Formatter<'_>, has_token: bool) -> fmt::Result {
        let is_token = self.kind == "pure-token";
        match self.token.filter(|_| has_token) {
            Some("") => f.write_str("\"\"")?,
            Some(token) => f.write_str(token)?,
            None => {}
        }
        if is_token {
            return Ok(());
        }
        if has_token && self.token.is_some() {
            f.write_str(" ")?;
        }
        match self.kind {
            "oneof" if self.is_optional && self.token.is_none() => write_joined(f, &self.parts, " | "),
            "oneof" => {
                f.write_str("<")?;
                write_joined(f, &self.parts, " | ")?;
                f.write_str(">")
            }
            "block" => write_joined(f, &self.parts, " "),
            _ => f.write_str(&self.name),
        }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, arguments: &[Argument], between: &str) -> fmt::Result {
    for (index, argument) in arguments.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        write!(f, "{argument}")?;
    }
    Ok(())
}

/// As the documentation of Redis writes it.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_optional {
            f.write_str("[")?;
        }
        self.write_once(f, true)?;
        if self.is_multiple {
            f.write_str(" [")?;
            self.write_once(f, self.repeats_token)?;
            f.write_str(" ...]")?;
        }
        if self.is_optional {
            f.write_str("]")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::super::table::commands;
    use super::*;
    use std::collections::BTreeSet;
    use std::iter::once;

    /// The names of the commands whose arguments Redis describes otherwise than it counts them.
    const COUNTED_OTHERWISE: &[&str] = &[
        "client|kill",
        "command|getkeys",
        "command|getkeysandflags",
        "debug",
        "geohash",
        "geopos",
        "pfmerge",
        "quit",
    ];

    fn all() -> impl Iterator<Item = &'static Command> {
        let all = commands().flat_map(|command| once(command).chain(command.subcommands));
        // The entries for tests have no group.
        all.filter(|command| !command.summary.is_empty())
    }

    /// Returns how many words they are at least, and whether they may be more.
    fn words(arguments: &[Argument]) -> (usize, bool) {
        let counts = arguments.iter().map(|argument| {
            let word = usize::from(argument.token.is_some());
            let parts: Vec<_> = argument.parts.iter().map(|part| words(std::slice::from_ref(part))).collect();
            let (least, may_vary) = match argument.kind {
                "pure-token" => (0, false),
                "oneof" => {
                    let least = parts.iter().map(|part| part.0).min().unwrap_or(0);
                    (least, parts.iter().any(|&(count, may_vary)| may_vary || count != least))
                }
                "block" => words(&argument.parts),
                _ => (1, false),
            };
            let least = if argument.is_optional { 0 } else { word + least };
            (least, may_vary || argument.is_optional || argument.is_multiple)
        });
        counts.fold((0, false), |sum, count| (sum.0 + count.0, sum.1 || count.1))
    }

    #[test]
    fn each_command_has_the_arguments_that_it_counts() {
        let names: BTreeSet<&str> = all().map(|command| command.name).collect();
        for (name, line) in lines() {
            assert!(names.contains(name), "there is no command {name}");
            assert!(parse(line).is_some(), "{name} {line}");
        }
        let mut differing = Vec::new();
        for command in all().filter(|command| command.subcommands.is_empty()) {
            let (least, may_vary) = words(arguments_of(command.name));
            let counted = (least + command.name.split('|').count()) as i32;
            let is_same = command.arity == if may_vary { -counted } else { counted };
            if !is_same && !COUNTED_OTHERWISE.contains(&command.name) {
                differing.push((command.name, command.arity, counted, may_vary));
            }
        }
        assert!(differing.is_empty(), "{differing:?}");
    }

    #[test]
    fn lines_are_read_and_shown() {
        for (line, shown) in [
            ("key value [condition(NX|XX)@2.6.12] [GET]", "key value [NX | XX] [GET]"),
            ("key [GET=pattern#1...+] [sorting!ALPHA]", "key [GET pattern [GET pattern ...]] [ALPHA]"),
            ("[WEIGHTS=weight:integer...]", "[WEIGHTS weight [weight ...]]"),
            ("field_value(field value)...", "field value [field value ...]"),
            ("id(id|new_id!'$') [trim(MAXLEN [operator('='|'~')])]", "<id | $> [MAXLEN [= | ~]]"),
            ("`ip:port`~2.8.12 key_or_not(key|empty!'')", "ip:port <key | \"\">"),
        ] {
            let arguments = parse(line).unwrap_or_else(|| panic!("{line}"));
            let texts: Vec<_> = arguments.iter().map(Argument::to_string).collect();
            assert_eq!(texts.join(" "), shown);
        }
        let key = parse("key#2@6.2.0...").unwrap().remove(0);
        assert_eq!((key.kind, key.key_spec, key.since), ("key", Some(2), Some("6.2.0")));
        assert!(key.is_multiple && !key.repeats_token && !key.is_optional);
        for line in ["", "a(b", "a)", "[a", "a|b", "a#x", "a:", "A=", "a b "] {
            assert_eq!(parse(line), None, "{line}");
        }
        assert_eq!(parse("a(a(a(a(a(a(a(a(a(a(a))))))))))"), None, "too deep");
    }
}
