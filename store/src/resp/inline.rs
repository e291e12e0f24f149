//! Words of an inline request, with quotes as in a shell.

use std::ops::Range;

/// Splits a line into words, in place: quotes and escapes are resolved, so a word may become
/// shorter. Returns the ranges of the words, or `None` if a quote is not closed or is followed by
/// more of a word.
///
/// In double quotes `\n`, `\r`, `\t`, `\b`, `\a` and `\xHH` are bytes, and a backslash before
/// another byte stands for that byte. In single quotes only `\'` is an escape.
pub(super) fn split_words(line: &mut [u8]) -> Option<Vec<Range<usize>>> {
    let mut words = Vec::new();
    let (mut read, mut write) = (0, 0);
    loop {
        while line.get(read).is_some_and(|byte| is_space(*byte)) {
            read += 1;
        }
        // A line ends at a zero byte, as a string of C does.
        if line.get(read).is_none_or(|byte| *byte == 0) {
            return Some(words);
        }
        let start = write;
        loop {
            match line.get(read).copied() {
                None | Some(0) => break,
                Some(b' ' | b'\t' | b'\n' | b'\r') => break,
                Some(quote @ (b'"' | b'\'')) => {
                    (read, write) = copy_quoted(line, quote, read + 1, write)?;
                    if line.get(read).is_some_and(|byte| !is_space(*byte)) {
                        return None;
                    }
                    break;
                }
                Some(byte) => {
                    line[write] = byte;
                    (read, write) = (read + 1, write + 1);
                }
            }
        }
        words.push(start..write);
    }
}

/// Splits a line into words, as [`split_words`] does.
pub(crate) fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut line = line.to_vec();
    let words = split_words(&mut line)?;
    Some(words.into_iter().map(|word| line[word].to_vec()).collect())
}

/// Copies what stands in quotes. Returns where to go on reading and writing.
fn copy_quoted(line: &mut [u8], quote: u8, mut read: usize, mut write: usize) -> Option<(usize, usize)> {
    loop {
        let (byte, length) = match (quote, line.get(read..)?) {
            (_, []) => return None,
            (b'"', [b'\\', b'x', high, low, ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                (hex(*high) << 4 | hex(*low), 4)
            }
            (b'"', [b'\\', escaped, ..]) => (unescape(*escaped), 2),
            (b'\'', [b'\\', b'\'', ..]) => (b'\'', 2),
            (_, [byte, ..]) if *byte == quote => return Some((read + 1, write)),
            (_, [0, ..]) => return None,
            (_, [byte, ..]) => (*byte, 1),
        };
        line[write] = byte;
        (read, write) = (read + length, write + 1);
    }
}

fn unescape(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        other => (other | 0x20) - b'a' + 10,
    }
}

/// Returns true for the bytes that C's `isspace` takes for space.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

#[cfg(test)]
mod tests {
    use super::split_words;

    fn words(text: &str) -> Option<Vec<Vec<u8>>> {
        let mut line = text.as_bytes().to_vec();
        let ranges = split_words(&mut line)?;
        Some(ranges.into_iter().map(|range| line[range].to_vec()).collect())
    }

    #[test]
    fn words_are_split_as_in_a_shell() {
        let cases: [(&str, &[&[u8]]); 6] = [
            ("", &[]),
            ("  PING \r", &[b"PING"]),
            ("SET k 'a b'", &[b"SET", b"k", b"a b"]),
            (r#"SET k "a\x41\n\"""#, &[b"SET", b"k", b"aA\n\""]),
            (r"SET k 'it\'s'", &[b"SET", b"k", b"it's"]),
            ("a ''", &[b"a", b""]),
        ];
        for (text, expected) in cases {
            assert_eq!(
                words(text).as_deref(),
                Some(expected.iter().map(|word| word.to_vec()).collect::<Vec<_>>()).as_deref(),
                "{text}"
            );
        }
    }

    #[test]
    fn quotes_are_closed_before_a_space() {
        for text in ["SET k \"v", "SET k 'v", "SET k 'v'x", "\"", r#""\"#] {
            assert_eq!(words(text), None, "{text}");
        }
    }
}
