//! The texts of documents and of the manual, and what is done with them.

/// The form in which texts are written first.
const FIRST: &str = "I am";
/// The form that changes make of it.
const OTHER: &str = "This is";

/// The title of the document of a composite part, written over what is in `title`.
pub fn write_title(title: &mut String, composite: u32) {
    use std::fmt::Write;
    title.clear();
    write!(title, "Composite part #{composite}").expect("a string takes what is written to it");
}

/// A document: whole lines, as many as have room.
pub fn documentation(composite: u32, characters: usize) -> String {
    let line = format!("{FIRST} the documentation of composite part #{composite}.\n");
    line.repeat((characters / line.len()).max(1))
}

/// The manual, of so many characters.
pub fn manual(module: u32, characters: usize) -> Vec<u8> {
    format!("{FIRST} the manual of module #{module}.\n").bytes().cycle().take(characters).collect()
}

/// How often a letter occurs.
pub fn count(text: &[u8], letter: u8) -> u64 {
    // In steps whose sums fit in a byte: then they are made for many letters at once.
    text.chunks(255).map(|chunk| u64::from(chunk.iter().map(|&at| u8::from(at == letter)).sum::<u8>())).sum()
}

/// Puts each sentence of a document into its other form, and says how many. What was there before is in `spare` then.
pub fn toggle(text: &mut String, spare: &mut String) -> u64 {
    match replace(text, spare, FIRST, OTHER) {
        0 => replace(text, spare, OTHER, FIRST),
        count => count,
    }
}

fn replace(text: &mut String, spare: &mut String, from: &str, to: &str) -> u64 {
    spare.clear();
    let (mut count, mut done) = (0, 0);
    for (at, _) in text.match_indices(from) {
        spare.push_str(&text[done..at]);
        spare.push_str(to);
        done = at + from.len();
        count += 1;
    }
    if count > 0 {
        spare.push_str(&text[done..]);
        std::mem::swap(text, spare);
    }
    count
}

/// Makes all `I` of a text `i`, or, if there is none, all `i` `I`; says how many.
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
