//! What the types of the public interface guarantee: unsound programs do not compile, and what the
//! compiler says of a wrong use names the remedy.
//!
//! Each file of `promises/` is a program about one guarantee; `xtasking_testing::refused` says how
//! it is checked.

// The types are the same under a model checker.
#![cfg(not(any(model = "loom", model = "shuttle")))]

use std::path::Path;
use xtasking_testing::refused;

#[test]
fn unsound_programs_do_not_compile() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("promises");
    let (wrong, cases) = refused::check(&here.join("tests/promises"), here, &["xtasking"], &scratch);
    assert!(cases > 100, "only {cases} cases");
    assert!(wrong.is_empty(), "{} of {cases} cases\n\n{}", wrong.len(), wrong.join("\n"));
}
