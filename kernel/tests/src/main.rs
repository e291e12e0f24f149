//! The runtime's own tests, on this kernel.
//!
//! The image has all that the test programs have: `#[test]` puts each into a list. It runs them one
//! after the other, but for those that `left-out.txt` names with a reason. A test that fails ends
//! the machine.
//!
//! | arguments | what it does |
//! |---|---|
//! | none | runs all tests |
//! | `from NUMBER` | runs all from this one on |
//! | `only NAME` | runs the test of this name, even if it is left out, on any number of cores |
//! | `only NAME TIMES` | runs it several times |
//! | `list` | prints the names of all |

#![no_main]

extern crate behaviour as _;
extern crate resources as _;

use std::collections::{HashMap, HashSet};
use xkernel::{ExitStatus, Machine};

xkernel::program!(run);

/// The tests that do not run, a line each: `name | why`.
const LEFT_OUT: &str = include_str!("../left-out.txt");

/// The least number of cores: some tests have 16 workers and threads besides, each on its own core.
const LEAST_CORES: usize = 24;

/// A test and its name.
type Test = (&'static str, fn());

/// Returns all tests that are linked into this image.
fn tests() -> &'static [Test] {
    unsafe extern "C" {
        static __tests_start: u8;
        static __tests_end: u8;
    }
    let (start, end) = ((&raw const __tests_start).cast::<Test>(), (&raw const __tests_end).cast::<Test>());
    // SAFETY: `linker.ld` puts all of the section `.tests` between these two, aligned, and all that
    // is in it are tests, which the attribute `test` puts there.
    unsafe { core::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

/// Returns the names of the tests that do not run, with the reasons.
fn left_out() -> HashMap<&'static str, &'static str> {
    let lines = LEFT_OUT.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(" | ")).collect()
}

fn run(machine: &'static Machine) {
    xtasking::platform::set_machine(machine);
    let mut all: Vec<_> = tests().to_vec();
    all.sort_unstable_by_key(|(name, _)| *name);
    let left_out = left_out();
    let (cores, mut words) = (machine.topology().cores.len(), machine.arguments());
    match (words.next(), words.next()) {
        (None, None) => run_all(cores, &all, 0, &left_out),
        (Some("from"), Some(number)) => run_all(cores, &all, number.parse().expect("a number"), &left_out),
        (Some("only"), Some(name)) => match all.iter().find(|test| test.0 == name) {
            Some(test) => {
                let times = words.next().map_or(1, |times| times.parse().expect("a number"));
                (0..times).for_each(|time| run_test(time, test));
            }
            None => fail(name, "there is no such test"),
        },
        (Some("list"), None) => all.iter().for_each(|(name, _)| println!("TEST {name}")),
        _ => fail("arguments", "none, `from NUMBER`, `only NAME`, `only NAME TIMES` or `list`"),
    }
}

fn fail(what: &str, why: &str) -> ! {
    println!("{what}: {why}");
    xkernel::exit(ExitStatus::Failure)
}

fn run_all(cores: usize, all: &[Test], from: usize, left_out: &HashMap<&str, &str>) {
    if cores < LEAST_CORES {
        fail("tests", "a worker is a core here, and so is a thread: some tests need 24 cores");
    }
    let names: HashSet<_> = all.iter().map(|(name, _)| *name).collect();
    if names.len() < all.len() {
        fail("tests", "two have the same name");
    }
    let mut passed = 0;
    for (number, test) in all.iter().enumerate().skip(from) {
        if !left_out.contains_key(test.0) {
            run_test(number, test);
            passed += 1;
        }
    }
    let tested = all.len().saturating_sub(from);
    println!("{passed} of {tested} tests pass, {} are left out with reasons", tested - passed);
}

fn run_test(number: usize, &(name, test): &Test) {
    println!("RUN {number} {name}");
    test();
    println!("OK {number} {name}");
}
