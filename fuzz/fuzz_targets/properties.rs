//! Fuzzes property files: any content is either read or refused with an error, and an accepted
//! workload is valid.

#![no_main]

use libfuzzer_sys::fuzz_target;
use xtasking_ycsb::Random;
use xtasking_ycsb::plan::OperationKind;
use xtasking_ycsb::workload::Workload;
use xtasking_ycsb::workload::properties::{Property, escape, parse};

fn pairs(properties: &[Property]) -> Vec<(&str, &str)> {
    properties.iter().map(|property| (&*property.name, &*property.value)).collect()
}

/// Checks that an accepted workload can run.
fn check_workload(workload: &Workload) {
    let kinds = [
        OperationKind::Read,
        OperationKind::Update,
        OperationKind::Insert,
        OperationKind::Scan,
        OperationKind::ReadModifyWrite,
    ];
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
    let again = parse(&written).expect("an escaped text is read back");
    assert_eq!(pairs(&again), pairs(&properties));

    let mut workload = Workload::new("fuzz");
    match workload.apply(&properties).and_then(|()| workload.validate()) {
        Ok(()) => check_workload(&workload),
        Err(message) => assert!(!message.contains('\n'), "an error of several lines: {message}"),
    }
});
