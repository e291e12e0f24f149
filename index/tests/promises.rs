//! Wrong keys, values and layouts do not compile, and the compiler names the remedy.
//!
//! `xtasking_testing::refused` says how the programs of `promises/` are checked.

use std::path::Path;
use xtasking_testing::refused;

#[test]
fn wrong_keys_and_values_do_not_compile() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("promises");
    let packages = ["xtasking", "xtasking-index"];
    let (wrong, cases) = refused::check(&here.join("tests/promises"), here, &packages, &scratch);
    assert!(cases > 5, "only {cases} cases");
    assert!(wrong.is_empty(), "{} of {cases} cases\n\n{}", wrong.len(), wrong.join("\n"));
}
