//! The experiment `cholesky`.

use crate::{passes, refused, xtasking};

#[test]
fn every_factor_is_checked() {
    let output = xtasking(&["cholesky", "--quick", "--order", "64", "--tiles", "32,8", "--workers", "1,2"]);
    let stdout = passes(&output);
    let expected =
        ["cholesky of order 64 · tiles 32, 8", "│ tiles of 8 ", "xtasking-joins", "plain", "rayon"];
    for words in expected {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    assert!(stdout.ends_with("every factor was multiplied out and compared\n"), "{stdout}");
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["cholesky"], arguments].concat(), reason);
    refused(&["--order", "0"], "--order is 0; choose 1 to 16384");
    refused(&["--tiles", "48"], "--tiles: 48 is not possible; choose divisors of 1024");
    refused(&["--tiles", "0"], "--tiles: 0 is not possible");
    refused(&["--tiles", "1"], "that give at most 512 rows");
    refused(&["--against", "rayn"], "unknown implementation 'rayn'; did you mean 'rayon'?");
}
