//! The experiment `store`.

use crate::{passes, refused, text, xtasking};

#[test]
fn every_reply_is_checked_for_each_kind_of_requests() {
    let options = ["store", "--quick", "--keys", "2000", "--time", "50", "--connections", "4"];
    let output = xtasking(&[&options[..], &["--pipeline", "1,16", "--workers", "1,2"]].concat());
    passes(&output);
    let printed = text(&output.stdout);
    for case in ["GET, 1 at once", "SET, 16 at once", "MGET of 32, 16 at once"] {
        assert!(printed.contains(&format!("│ {case} ")), "{case}: {printed}");
    }
    for words in ["xtasking: ", " bytes of resident memory a key", "every reply was checked"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    // Redis takes part where it is installed.
    assert!(printed.contains("redis-server is not installed") || printed.contains("redis: "), "{printed}");
}

#[test]
fn impossible_options_are_refused() {
    refused(&["store", "--quick", "--value", "0"], "--value is 0; choose 1 to 1000000 bytes");
    refused(&["store", "--quick", "--pipeline", "0"], "--pipeline is 0; choose 1 to 10000 requests");
}
