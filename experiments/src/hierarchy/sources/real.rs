//! Checks that files are those that `docs/results/hierarchies-sweeps.md` describes. They are not
//! part of the repository: environment variables name their paths.

use super::{Hierarchy, ShapeProfile, taxonomy, wordnet};
use std::path::Path;
use xtasking_harness::failure::Failure;

fn load(variable: &str, read: fn(&Path) -> Result<Hierarchy, Failure>) -> ShapeProfile {
    let path = std::env::var_os(variable)
        .unwrap_or_else(|| panic!("{variable} is not set; set it to the path of the file"));
    let hierarchy = read(path.as_ref()).unwrap();
    assert!(hierarchy.notes.is_empty(), "{:?}", hierarchy.notes);
    let profile = ShapeProfile::of(&hierarchy.shape);
    println!("{}\n{profile}", hierarchy.title);
    // The mean is documented with two digits.
    ShapeProfile { mean_depth: (profile.mean_depth * 100.0).round() / 100.0, ..profile }
}

#[test]
#[ignore = "needs XTASKING_TAXONOMY, the path of taxa.marisa: docs/results/hierarchies-sweeps.md"]
fn the_taxonomy_is_the_documented_one() {
    let expected = ShapeProfile {
        nodes: 2_609_295,
        edges: 2_609_294,
        roots: 1,
        leaves: 2_372_846,
        deepest: 39,
        mean_depth: 19.15,
        shared: 0,
        widest: 43_705,
    };
    assert_eq!(load("XTASKING_TAXONOMY", taxonomy::read), expected);
}

#[test]
#[ignore = "needs XTASKING_WORDNET, the path of data.noun: docs/results/hierarchies-sweeps.md"]
fn wordnet_is_the_documented_one() {
    let expected = ShapeProfile {
        nodes: 82_115,
        edges: 84_427,
        roots: 1,
        leaves: 64_958,
        deepest: 20,
        mean_depth: 9.55,
        shared: 2_213,
        widest: 664,
    };
    assert_eq!(load("XTASKING_WORDNET", wordnet::read), expected);
}
