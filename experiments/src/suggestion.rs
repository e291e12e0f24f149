//! "Did you mean …?"

/// The known word that is closest to a mistyped one, if one is close enough to have been meant.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Those of a list that take part, as places in it: the first, and those asked for, in their order.
pub fn take_part(noun: &str, known: &[&str], against: &[String]) -> Result<Vec<usize>, String> {
    let mut selected = vec![0];
    for name in against {
        let place = known.iter().position(|known| known == name).ok_or_else(|| {
            let meant = closest(name, known.iter().copied());
            let meant = meant.map(|name| format!("did you mean '{name}'? ")).unwrap_or_default();
            format!("--against: unknown {noun} '{name}'; {meant}known are {}", known.join(", "))
        })?;
        if !selected.contains(&place) {
            selected.push(place);
        }
    }
    Ok(selected)
}

#[cfg(test)]
mod tests {
    use super::{closest, take_part};

    #[test]
    fn the_first_always_takes_part() {
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
    fn only_close_words_are_suggested() {
        let known = ["recordcount", "readproportion", "updateproportion"];
        assert_eq!(closest("RecordCuont", known), Some("recordcount"));
        assert_eq!(closest("updatproportion", known), Some("updateproportion"));
        assert_eq!(closest("zebra", known), None);
        assert_eq!(closest("", known), None);
    }
}
