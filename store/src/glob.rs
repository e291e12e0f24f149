//! Glob patterns as KEYS, SCAN and PSUBSCRIBE take them.
//!
//! `*` is any bytes, `?` any one, `[a-z]` one of a class, `[^a]` one of none, and a backslash takes
//! the next byte as it is.

/// Returns true if `pattern` covers all of `text`. Time is bounded by the product of their lengths.
///
/// As in Redis, only the empty pattern covers the empty text.
///
/// ```
/// use xtasking_store::glob;
///
/// assert!(glob::matches(b"h[ae]llo*", b"hello world"));
/// assert!(!glob::matches(b"h?llo", b"heello"));
/// ```
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut rest) = (pattern, text);
    // What follows the last star, and the text from which it is tried. An earlier star need not be
    // tried again: what the last one cannot find further on, no other can.
    let mut retry: Option<(&[u8], &[u8])> = None;
    while let Some((&byte, after)) = rest.split_first() {
        if let [b'*', following @ ..] = pattern {
            if following.is_empty() {
                return true;
            }
            retry = Some((following, rest));
            pattern = following;
            continue;
        }
        if let Some(following) = match_one(pattern, byte) {
            if !after.is_empty() {
                (pattern, rest) = (following, after);
                continue;
            }
            if following.iter().all(|&byte| byte == b'*') {
                return true;
            }
        }
        match retry {
            Some((following, [_, next @ ..])) if !next.is_empty() => {
                retry = Some((following, next));
                (pattern, rest) = (following, next);
            }
            _ => return false,
        }
    }
    // Only an empty text comes here.
    pattern.is_empty()
}

/// Returns the pattern after its first element, if that covers `byte`.
fn match_one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'[', class @ ..] => {
            let (is_negated, class) = match class {
                [b'^', class @ ..] => (true, class),
                class => (false, class),
            };
            let (is_member, rest) = match_class(class, byte);
            (is_member != is_negated).then_some(rest)
        }
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => (*literal == byte).then_some(rest),
    }
}

/// Returns true if a class has `byte`, and the pattern after its bracket. A class may end with the
/// pattern.
fn match_class(mut class: &[u8], byte: u8) -> (bool, &[u8]) {
    let mut is_member = false;
    loop {
        class = match class {
            [] => return (is_member, class),
            [b'\\', literal, rest @ ..] => {
                is_member |= *literal == byte;
                rest
            }
            [b']', rest @ ..] => return (is_member, rest),
            [start, b'-', end, rest @ ..] => {
                // Redis compares signed bytes.
                let (start, end, byte) = (*start as i8, *end as i8, byte as i8);
                is_member |= (start.min(end)..=start.max(end)).contains(&byte);
                rest
            }
            [literal, rest @ ..] => {
                is_member |= *literal == byte;
                rest
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_what_redis_says() {
        let covered = [
            ("", ""),
            ("*", "a"),
            ("**", "a"),
            ("a*", "a"),
            ("a**", "a"),
            ("*a", "ba"),
            ("a*c*e", "abcde"),
            ("a*b*", "ab"),
            ("h[^e]llo", "hallo"),
            ("h[a-c]llo", "hbllo"),
            ("h[c-a]llo", "hbllo"),
            ("[abc", "b"),
            ("\\*", "*"),
            ("[\\]]", "]"),
            ("a\\", "a\\"),
            ("*[0-9]", "key:7"),
        ];
        for (pattern, text) in covered {
            assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        let others = [
            ("*", ""),
            ("?", ""),
            ("a", ""),
            ("", "a"),
            ("a*b", "a"),
            ("h?llo", "hllo"),
            ("h[^a]llo", "hallo"),
            ("A", "a"),
            ("a*c", "abcd"),
            ("ab", "a"),
        ];
        for (pattern, text) in others {
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = b"a*".repeat(200);
        let text = [b"a".repeat(4000), b"b".to_vec()].concat();
        assert!(matches(&pattern, &text));
        assert!(!matches(&[pattern, b"c".to_vec()].concat(), &text));
    }
}
