//! Property files of any content: they are read or refused, never end the program, and what is accepted makes sense.

#![no_main]

use libfuzzer_sys::fuzz_target;
use xtasking_experiments::ycsb::distribution::Random;
use xtasking_experiments::ycsb::plan::Kind;
use xtasking_experiments::ycsb::workload::Workload;
use xtasking_experiments::ycsb::workload::properties::{Property, parse};

/// Writes a text so that it is read as itself.
fn escape(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => "\\n".to_string(),
            '\r' => "\\r".to_string(),
            ' ' | '\t' | '\x0c' | '=' | ':' | '#' | '!' | '\\' => format!("\\{character}"),
            // It would be taken for no part of the text where it comes first.
            '\u{feff}' => "\\ufeff".to_string(),
            _ => character.to_string(),
        })
        .collect()
}

fn pairs(properties: &[Property]) -> Vec<(&str, &str)> {
    properties.iter().map(|property| (&*property.name, &*property.value)).collect()
}

/// A workload that was accepted can be run.
fn makes_sense(workload: &Workload) {
    let kinds = [Kind::Read, Kind::Update, Kind::Insert, Kind::Scan, Kind::ReadModifyWrite];
    let sum: f64 = kinds.iter().map(|kind| workload.proportion(*kind)).sum();
    assert!((sum - 1.0).abs() <= 1e-6, "the proportions add up to {sum}");
    assert!(kinds.iter().all(|kind| (0.0..=1.0).contains(&workload.proportion(*kind))));
    assert!(1 <= workload.min_scan_length && workload.min_scan_length <= workload.max_scan_length);
    assert!(0.0 < workload.zipfian_constant && workload.zipfian_constant < 1.0);
    let (mix, mut random) = (workload.mix(), Random::new(1, &[]));
    assert!((0..20).all(|_| workload.proportion(mix.draw(&mut random)) > 0.0));
}

fuzz_target!(|text: &str| {
    let Ok(properties) = parse(text).inspect_err(|error| assert!(error.line >= 1)) else { return };
    let lines = text.split('\n').count();
    assert!(properties.iter().all(|property| (1..=lines).contains(&property.line)));
    assert!(properties.iter().all(|property| !property.name.is_empty()));

    let written: String = properties
        .iter()
        .map(|property| format!("{} = {}\n", escape(&property.name), escape(&property.value)))
        .collect();
    let again = parse(&written).expect("what was written is read");
    assert_eq!(pairs(&again), pairs(&properties));

    let mut workload = Workload::new("fuzz");
    match workload.apply(&properties).and_then(|()| workload.validate()) {
        Ok(()) => makes_sense(&workload),
        Err(message) => assert!(!message.contains('\n'), "an error of several lines: {message}"),
    }
});
