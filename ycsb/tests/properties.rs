//! Any property file is parsed or refused; none makes the program panic.

use proptest::prelude::*;
use xtasking_ycsb::workload::Workload;
use xtasking_ycsb::workload::properties::{escape, parse};

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn any_text_of_special_characters_is_parsed_or_refused(text in "[a\\\\=: \t\r\n#!u0é\u{feff}]{0,64}") {
        if let Ok(properties) = parse(&text) {
            let lines = text.split('\n').count();
            prop_assert!(properties.iter().all(|property| (1..=lines).contains(&property.line)));
            prop_assert!(properties.iter().all(|property| !property.name.is_empty()));
        }
    }

    #[test]
    fn escaped_text_is_parsed_unchanged(pairs in prop::collection::vec((".{1,8}", ".{0,8}"), 0..8)) {
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
