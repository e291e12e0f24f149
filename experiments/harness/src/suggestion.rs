//! Selection by name, with a suggestion for a mistyped name.

use xtasking_harness_core::spelling::closest;

/// Returns "did you mean …? " for the known word closest to a mistyped one, or nothing.
fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    closest(word, known).map(|name| format!("did you mean '{name}'? ")).unwrap_or_default()
}

/// Selects the first of a list and those named in `against`, in the order of `against`; returns
/// their indexes.
///
/// # Errors
///
/// If a name is unknown; the text suggests a known one.
pub fn take_part(noun: &str, known: &[&str], against: &[String]) -> Result<Vec<usize>, String> {
    let mut selected = vec![0];
    for name in against {
        let index = known.iter().position(|known| known == name).ok_or_else(|| {
            let hint = hint(name, known.iter().copied());
            format!("--against: unknown {noun} '{name}'; {hint}known are {}", known.join(", "))
        })?;
        if !selected.contains(&index) {
            selected.push(index);
        }
    }
    Ok(selected)
}

/// Selects the cases whose names contain one of some words, in the order of `known`; returns
/// their indexes. A word that is a whole name selects that case only. Without words it selects
/// none.
///
/// # Errors
///
/// If a word selects no case; the text suggests a known name.
pub fn matching_cases(words: &[String], known: &[&str]) -> Result<Vec<usize>, String> {
    let mut selected = vec![false; known.len()];
    for word in words {
        let word = word.trim().to_lowercase();
        let is_name = known.contains(&word.as_str());
        let is_match = |name: &str| name == word || (!is_name && name.contains(&word));
        if !known.iter().any(|name| is_match(name)) {
            let hint = hint(&word, known.iter().copied());
            return Err(format!("no case has '{word}' in its name; {hint}--help lists all cases"));
        }
        for (selected, name) in selected.iter_mut().zip(known) {
            *selected |= is_match(name);
        }
    }
    Ok((0..known.len()).filter(|&index| selected[index]).collect())
}

#[cfg(test)]
mod tests {
    use super::{matching_cases, take_part};

    #[test]
    fn the_first_is_always_selected() {
        let select = |against: &[&str]| {
            let against: Vec<_> = against.iter().map(|name| name.to_string()).collect();
            take_part("contender", &["xtasking", "rayon", "tokio"], &against)
        };
        assert_eq!(select(&[]), Ok(vec![0]));
        assert_eq!(select(&["tokio", "xtasking", "tokio"]), Ok(vec![0, 2]));
        let error = select(&["rayn"]).unwrap_err();
        assert!(
            error.contains("unknown contender 'rayn'; did you mean 'rayon'? known are xtasking, "),
            "{error}"
        );
    }

    #[test]
    fn a_word_selects_the_cases_that_contain_it() {
        let known = ["spawn", "spawn deep", "round trip"];
        let select = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| word.to_string()).collect();
            matching_cases(&words, &known)
        };
        assert_eq!(select(&["Trip", "deep"]), Ok(vec![1, 2]));
        assert_eq!(select(&["spawn"]), Ok(vec![0]), "a whole name selects one case");
        assert_eq!(select(&["spaw"]), Ok(vec![0, 1]));
        assert_eq!(select(&[]), Ok(vec![]));
        let error = select(&["rond trip"]).unwrap_err();
        assert!(error.contains("no case has 'rond trip' in its name; did you mean 'round trip'?"), "{error}");
    }
}
