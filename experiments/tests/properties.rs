//! Property files of any content are read or refused, but never end the program.

use proptest::prelude::*;
use xtasking_experiments::ycsb::workload::Workload;
use xtasking_experiments::ycsb::workload::properties::parse;

/// Writes a text so that it is read as itself.
fn escape(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => "\\n".to_string(),
            '\r' => "\\r".to_string(),
            ' ' | '\t' | '\x0c' | '=' | ':' | '#' | '!' | '\\' => format!("\\{character}"),
            _ => character.to_string(),
        })
        .collect()
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn any_text_of_the_special_characters_is_read_or_refused(text in "[a\\\\=: \t\r\n#!u0é\u{feff}]{0,64}") {
        if let Ok(properties) = parse(&text) {
            let lines = text.split('\n').count();
            prop_assert!(properties.iter().all(|property| (1..=lines).contains(&property.line)));
            prop_assert!(properties.iter().all(|property| !property.name.is_empty()));
        }
    }

    #[test]
    fn what_is_escaped_is_read_as_it_was(pairs in prop::collection::vec((".{1,8}", ".{0,8}"), 0..8)) {
        // Not the byte-order mark, which is no part of a text where it comes first.
        prop_assume!(!pairs.first().is_some_and(|(name, _)| name.starts_with('\u{feff}')));
        let text: String =
            pairs.iter().map(|(name, value)| format!("{} = {}\n", escape(name), escape(value))).collect();
        let read: Vec<_> =
            parse(&text).unwrap().into_iter().map(|property| (property.name, property.value)).collect();
        prop_assert_eq!(read, pairs);
    }

    #[test]
    fn any_workload_is_accepted_or_refused_in_one_line(name in "[a-z.]{1,30}", value in any::<String>()) {
        let mut workload = Workload::new("test");
        let property = format!("{name}={}", escape(&value));
        let result = workload.apply(&parse(&property).unwrap()).and_then(|()| workload.validate());
        if let Err(message) = result {
            prop_assert!(message.contains(&name) || message.contains("proportions"), "{}", message);
        }
    }
}
