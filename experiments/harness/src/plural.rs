//! Counts with their nouns, for messages.

/// Returns a count with its noun, to which an `s` is added unless the count is 1.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn only_one_is_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "worker")), ["0 workers", "1 worker", "2 workers"]);
    }
}
