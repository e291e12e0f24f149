//! The parser of Java property files, the format of YCSB's workloads.
//!
//! - A line is `name=value`, `name: value` or `name value`.
//! - A line whose first character is `#` or `!` is a comment.
//! - A line that ends in a backslash continues in the next one, whose indentation is dropped.
//! - `\t`, `\n`, `\r`, `\f`, and `\u` with four hexadecimal digits stand for one character.
//! - A backslash before any other character removes the special meaning of that character.

use std::fmt;

/// One property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The text before the separator.
    pub name: String,
    /// The text after the separator.
    pub value: String,
    /// The number of its first line, counted from one.
    pub line: usize,
}

/// A line that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line number, counted from one.
    pub line: usize,
    /// The reason.
    pub message: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// Parses all properties in order. A name may occur more than once; the last value wins.
///
/// # Errors
///
/// The first line that cannot be parsed.
pub fn parse(text: &str) -> Result<Vec<Property>, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).enumerate();
    let mut properties = Vec::new();
    while let Some((index, first)) = lines.next() {
        let first = first.trim_start_matches(is_blank);
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut line = first.to_string();
        while continues(&line) {
            line.pop();
            // A backslash at the end of the file continues with nothing.
            let Some((_, next)) = lines.next() else { break };
            line.push_str(next.trim_start_matches(is_blank));
        }
        let (name, value) = split(&line);
        let line = index + 1;
        let [name, value] = [name, value].map(|part| unescape(part, line));
        let name = name?;
        if name.is_empty() {
            return Err(SyntaxError { line, message: "there is no name before the separator".to_string() });
        }
        properties.push(Property { name, value: value?, line });
    }
    Ok(properties)
}

/// Returns true for the blanks of a property file, which do not include line feeds.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\x0c')
}

/// Returns true if the next line continues this one: it ends in an odd number of backslashes. An
/// even number is escaped backslashes.
fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Splits a line at the first separator that is not escaped: `=` or `:` with any blanks around it,
/// or blanks.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.char_indices().find_map(|(position, character)| {
        let separates = !escaped && (is_blank(character) || matches!(character, '=' | ':'));
        escaped = !escaped && character == '\\';
        separates.then_some(position)
    });
    let Some(end) = end else { return (line, "") };
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start_matches(is_blank);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (name, rest.trim_start_matches(is_blank))
}

fn unescape(text: &str, line: usize) -> Result<String, SyntaxError> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match rest.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\x0c'),
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                let code = (digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
                    .then(|| u32::from_str_radix(&digits, 16).ok())
                    .flatten();
                let message = || format!("\\u{digits} is not a character");
                let character = code.and_then(char::from_u32);
                plain.push(character.ok_or_else(|| SyntaxError { line, message: message() })?);
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    Ok(plain)
}

/// Escapes a name or a value so that [`parse`] returns it unchanged.
pub fn escape(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => "\\n".to_string(),
            '\r' => "\\r".to_string(),
            ' ' | '\t' | '\x0c' | '=' | ':' | '#' | '!' | '\\' => format!("\\{character}"),
            // At the start of a file it would be taken for a byte-order mark.
            '\u{feff}' => "\\ufeff".to_string(),
            _ => character.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().into_iter().map(|property| (property.name, property.value)).collect()
    }

    fn one(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_string(), value.to_string())]
    }

    #[test]
    fn equals_signs_colons_and_blanks_separate() {
        for text in ["a=b", "a:b", "a b", "a = b", "a : b", "  a\t=\tb", "a   b", "a\tb\r\n", "\u{feff}a=b"] {
            assert_eq!(pairs(text), one("a", "b"), "{text:?}");
        }
        assert_eq!(pairs("a"), one("a", ""));
        assert_eq!(pairs("a=="), one("a", "="));
        assert_eq!(pairs("a= b c "), one("a", "b c "));
    }

    #[test]
    fn comments_and_empty_lines_are_skipped() {
        assert_eq!(pairs("# a=b\n! c=d\n\n   \n\t# e=f\nx=y # no comment"), one("x", "y # no comment"));
        assert_eq!(pairs(""), vec![]);
    }

    #[test]
    fn a_backslash_continues_a_line() {
        assert_eq!(pairs("a=b\\\n   c"), one("a", "bc"));
        assert_eq!(pairs("a\\\n  b\\\r\n =c"), one("ab", "c"));
        assert_eq!(pairs("a=b\\"), one("a", "b"));
        assert_eq!(pairs("a=b\\\\\nc=d").len(), 2);
        // A comment does not continue.
        assert_eq!(pairs("# a\\\nb=c"), one("b", "c"));
        assert_eq!(parse("a=\\\nb\n\nc=d").unwrap()[1].line, 4);
    }

    #[test]
    fn escapes_stand_for_characters() {
        assert_eq!(pairs(r"a\=b\ c=d\te\u0041\q\\"), one("a=b c", "d\teAq\\"));
        for text in [r"a=\u00", r"a=\uzzzz", r"a=\ud800", "a=\\u00é0"] {
            assert_eq!(parse(text).unwrap_err().line, 1, "{text}");
        }
    }

    #[test]
    fn a_line_without_a_name_is_an_error() {
        let error = parse("a=b\n=c").unwrap_err();
        assert_eq!(error.to_string(), "line 2: there is no name before the separator");
    }
}
