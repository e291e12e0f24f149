//! The experiment `service`.

use crate::{passes, refused, text, xtasking};

#[test]
fn every_bank_serves_under_every_load() {
    let options = ["service", "--quick", "--time", "50", "--accounts", "50", "--connections", "4"];
    let output = xtasking(&[&options[..], &["--service", "100"]].concat());
    passes(&output);
    let printed = text(&output.stdout);
    for bank in ["calls", "tasks", "sharded", "async"] {
        assert!(printed.matches(&format!(" {bank} ")).count() >= 6, "{bank}: {printed}");
    }
    assert!(printed.contains("calls: of "), "{printed}");
}

#[test]
fn impossible_options_are_refused() {
    refused(&["service", "--quick", "--accounts", "1"], "--accounts is 1; choose 2 to 10000000");
    refused(&["service", "--quick", "--load", "0"], "--load is 0; choose 1 to 10000 %");
}
