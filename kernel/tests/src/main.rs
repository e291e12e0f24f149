//! The runtime's own tests, on this kernel.
//!
//! The image has all that the test programs have: `#[test]` puts each into a list. It runs them one
//! after the other, but for those that `left-out.txt` names with a reason. Without the feature
//! `unwind` a test that fails ends the machine. With it, the next ones run all the same; also those
//! that provoke a panic.
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

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use xkernel::{ExitStatus, Machine};

xkernel::program!(run);

/// The tests that do not run, a line each: `name | why`.
const LEFT_OUT: &str = include_str!("../left-out.txt");

/// The least number of cores: some tests have 16 workers and threads besides, each on its own core.
const LEAST_CORES: usize = 24;

/// The reason of tests that run where a panic unwinds.
const PANICS: &str = "provokes a panic";

/// A test with its name, and what its panic must say if it must end with one.
type Test = (&'static str, fn(), Option<&'static str>);

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
    let runs = |why: &str| cfg!(feature = "unwind") && why.starts_with(PANICS);
    lines.filter_map(|line| line.split_once(" | ")).filter(|(_, why)| !runs(why)).collect()
}

fn run(machine: &'static Machine) {
    xtasking::platform::set_machine(machine);
    let mut all: Vec<_> = tests().to_vec();
    all.sort_unstable_by_key(|test| test.0);
    let left_out = left_out();
    let (cores, mut words) = (machine.topology().cores.len(), machine.arguments());
    match (words.next(), words.next()) {
        (None, None) => run_all(cores, &all, 0, &left_out),
        (Some("from"), Some(number)) => run_all(cores, &all, number.parse().expect("a number"), &left_out),
        (Some("only"), Some(name)) => match all.iter().find(|test| test.0 == name) {
            Some(test) => {
                let times = words.next().map_or(1, |times| times.parse().expect("a number"));
                let failed = (0..times).filter(|&time| !run_test(time, test)).count();
                if failed > 0 {
                    fail(name, "failed");
                }
            }
            None => fail(name, "there is no such test"),
        },
        (Some("list"), None) => all.iter().for_each(|test| println!("TEST {}", test.0)),
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
    let names: HashSet<_> = all.iter().map(|test| test.0).collect();
    if names.len() < all.len() {
        fail("tests", "two have the same name");
    }
    let mut failed = Vec::new();
    let (mut passed, mut left) = (0, 0);
    for (number, test) in all.iter().enumerate().skip(from) {
        if left_out.contains_key(test.0) {
            left += 1;
        } else if run_test(number, test) {
            passed += 1;
        } else {
            failed.push(test.0);
        }
    }
    let tested = all.len().saturating_sub(from);
    println!("{passed} of {tested} tests pass, {left} are left out with reasons");
    if !failed.is_empty() {
        fail("failed", &failed.join(" "));
    }
}

/// Runs a test. Returns whether it passes; without the feature `unwind` it returns only then.
fn run_test(number: usize, &(name, test, expected): &Test) -> bool {
    println!("RUN {number} {name}");
    // Unwind safe: tests share nothing that a panic leaves half-done.
    let said = catch_unwind(AssertUnwindSafe(test)).err().map(|panic| text_of(&*panic));
    let passes = match (expected, &said) {
        (None, None) => true,
        (Some(expected), Some(said)) => said.contains(expected),
        _ => false,
    };
    println!("{} {number} {name}", if passes { "OK" } else { "FAILED" });
    if let (false, Some(expected)) = (passes, expected) {
        println!("  it is to panic with {expected:?}, and it does with {said:?}");
    }
    passes
}

/// Returns what a panic says.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a value that is no text").into()
}
