//! Patterns with `*`, `?`, `[…]` and `\`, as KEYS and SCAN take them.

/// Returns true if the text matches the pattern, as Redis decides it.
///
/// ```
/// use xtasking_store::glob;
///
/// assert!(glob::matches(b"h[a-e]llo*", b"hello, world"));
/// assert!(!glob::matches(b"h[^e]llo", b"hello"));
/// ```
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // Where to go on after a mismatch: the last star, and the text it has taken so far. Only the
    // last one need be tried again, so the time is bounded by the product of the lengths.
    let mut retry: Option<(usize, usize)> = None;
    let (mut at, mut read) = (0, 0);
    loop {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                retry = Some((at, read));
                continue;
            }
            Some(_) if read < text.len() => {
                if let Some(length) = match_one(&pattern[at..], text[read]) {
                    at += length;
                    read += 1;
                    continue;
                }
            }
            None if read == text.len() => return true,
            _ => {}
        }
        match retry {
            Some((star, taken)) if taken < text.len() => {
                retry = Some((star, taken + 1));
                (at, read) = (star, taken + 1);
            }
            _ => return false,
        }
    }
}

/// Matches a byte with the first part of a pattern. Returns the length of that part.
fn match_one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'[', rest @ ..] => match_class(rest, byte).map(|length| length + 1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [literal, ..] => (*literal == byte).then_some(1),
        [] => None,
    }
}

/// Matches a byte with a class, given without its first bracket. Returns the length of the class.
fn match_class(class: &[u8], byte: u8) -> Option<usize> {
    let is_negated = class.first() == Some(&b'^');
    let mut at = usize::from(is_negated);
    let mut is_in = false;
    loop {
        match &class[at.min(class.len())..] {
            [b'\\', escaped, ..] => {
                is_in |= *escaped == byte;
                at += 2;
            }
            [b']', ..] => {
                at += 1;
                break;
            }
            // A class that is not closed ends with the pattern.
            [] => break,
            [from, b'-', to, ..] => {
                is_in |= (*from.min(to)..=*from.max(to)).contains(&byte);
                at += 3;
            }
            [literal, ..] => {
                is_in |= *literal == byte;
                at += 1;
            }
        }
    }
    (is_in != is_negated).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_in_redis() {
        let yes = [
            ("*", ""),
            ("", ""),
            ("a*b*c", "a--b--c"),
            ("?", "x"),
            ("[abc]", "b"),
            ("[^abc]", "d"),
            ("[a-c]x", "bx"),
            ("[c-a]x", "bx"),
            ("\\*", "*"),
            ("[\\]]", "]"),
            ("a**b", "ab"),
            ("[a", "a"),
            ("*ab", "aab"),
            ("[]a", "a"),
        ];
        for (pattern, text) in yes {
            let expected = pattern != "[]a";
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("?", ""), ("a", ""), ("[abc]", "d"), ("[^a]", "a"), ("a*b", "a")]
        {
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = "a*".repeat(50) + "b";
        assert!(!matches(pattern.as_bytes(), "a".repeat(10_000).as_bytes()));
    }
}
