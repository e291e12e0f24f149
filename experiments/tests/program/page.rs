//! The live page of a run.

use super::{passes, refused, text, xtasking};

#[test]
fn a_run_says_where_its_page_is() {
    let arguments = ["cholesky", "--quick", "--order", "64", "--tiles", "32", "--workers", "1,2"];
    let output = xtasking(&[&arguments[..], &["--http", "127.0.0.1:0"]].concat());
    passes(&output);
    assert!(text(&output.stderr).contains("see http://127.0.0.1:"), "{output:?}");
}

#[test]
fn an_address_that_is_none_is_refused() {
    refused(&["fib", "--quick", "--http", "127.0.0.1"], "--http 127.0.0.1: the page cannot be served");
}
