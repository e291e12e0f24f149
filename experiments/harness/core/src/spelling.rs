//! Suggestions for mistyped words.

/// Returns the known word that is closest to a mistyped one, or `None` if none is similar.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn only_close_words_are_suggested() {
        let known = ["recordcount", "readproportion", "updateproportion"];
        assert_eq!(closest("RecordCuont", known), Some("recordcount"));
        assert_eq!(closest("updatproportion", known), Some("updateproportion"));
        assert_eq!(closest("zebra", known), None);
        assert_eq!(closest("", known), None);
    }
}
