//! Defines the texts of documents and of the manual, and the operations on them.

/// The initial form of sentences.
const INITIAL_FORM: &str = "I am";
/// The other form, after a toggle.
const OTHER_FORM: &str = "This is";

/// Writes the title of a composite part's document to `title`.
pub fn write_title(title: &mut String, composite: u32) {
    use std::fmt::Write;
    title.clear();
    write!(title, "Composite part #{composite}").expect("writing to a string cannot fail");
}

/// Returns a document: as many whole lines as fit.
pub fn documentation(composite: u32, characters: usize) -> String {
    let line = format!("{INITIAL_FORM} the documentation of composite part #{composite}.\n");
    line.repeat((characters / line.len()).max(1))
}

/// Returns the manual, of `characters` characters.
pub fn manual(module: u32, characters: usize) -> Vec<u8> {
    format!("{INITIAL_FORM} the manual of module #{module}.\n").bytes().cycle().take(characters).collect()
}

/// Returns the number of occurrences of a letter.
pub fn count(text: &[u8], letter: u8) -> u64 {
    // In chunks whose sums fit in a byte, so that the loop is vectorized.
    text.chunks(255).map(|chunk| u64::from(chunk.iter().map(|&at| u8::from(at == letter)).sum::<u8>())).sum()
}

/// Toggles each sentence of a document to its other form, and returns their number. The old text is
/// left in `spare`.
pub fn toggle(text: &mut String, spare: &mut String) -> u64 {
    match replace(text, spare, INITIAL_FORM, OTHER_FORM) {
        0 => replace(text, spare, OTHER_FORM, INITIAL_FORM),
        count => count,
    }
}

fn replace(text: &mut String, spare: &mut String, from: &str, to: &str) -> u64 {
    spare.clear();
    let (mut count, mut copied) = (0, 0);
    for (at, _) in text.match_indices(from) {
        spare.push_str(&text[copied..at]);
        spare.push_str(to);
        copied = at + from.len();
        count += 1;
    }
    if count > 0 {
        spare.push_str(&text[copied..]);
        std::mem::swap(text, spare);
    }
    count
}

/// Turns all `I` of a text into `i`, or, if there are none, all `i` into `I`. Returns their number.
pub fn change_case(text: &mut [u8]) -> u64 {
    match exchange(text, b'I', b'i') {
        0 => exchange(text, b'i', b'I'),
        count => count,
    }
}

fn exchange(text: &mut [u8], from: u8, to: u8) -> u64 {
    let count = count(text, from);
    if count > 0 {
        text.iter_mut().for_each(|at| *at = if *at == from { to } else { *at });
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_two_forms() {
        let first = documentation(7, 20_000);
        assert!((19_900..=20_000).contains(&first.len()));
        let lines = first.lines().count() as u64;
        assert_eq!(count(first.as_bytes(), b'I'), lines);
        let (mut text, mut spare) = (first.clone(), String::new());
        assert_eq!(toggle(&mut text, &mut spare), lines);
        assert!(text.lines().all(|line| line == "This is the documentation of composite part #7."));
        assert_eq!(count(text.as_bytes(), b'I'), 0);
        assert_eq!(toggle(&mut text, &mut spare), lines);
        assert_eq!(text, first);
    }

    #[test]
    fn the_manual_has_one_case() {
        let first = manual(1, 1_000_000);
        let mut text = first.clone();
        let letters = count(&first, b'I');
        assert_eq!(letters as usize, first.iter().filter(|&&at| at == b'I').count());
        assert!(letters > 30_000 && count(&first, b'i') == 0);
        assert_eq!(change_case(&mut text), letters);
        assert_eq!((count(&text, b'I'), count(&text, b'i')), (0, letters));
        assert_eq!(change_case(&mut text), letters);
        assert_eq!(text, first);
    }
}
