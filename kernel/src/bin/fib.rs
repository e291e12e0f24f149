//! Fibonacci numbers by double recursion, which does little but fork and join: `fib [N]`.

#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use xkernel::{Cores, Machine, println};
use xtasking::{Fork, Runtime};

xkernel::program!(run);

/// The number that is computed unless the command line has another one.
const DEFAULT: u32 = 27;
/// Computations, of which the fastest counts.
const TURNS: usize = 3;

fn run(machine: &'static Machine) {
    let n = machine.arguments().next().map_or(DEFAULT, |n| n.parse().expect("a number to compute"));
    // Nothing is noted of single tasks, as this is measured.
    let rt = Runtime::builder().platform(Cores::new(machine)).build().expect("a worker on each core");
    let expected = (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    let joins = (0..n + 1).fold((0u64, 1u64), |(a, b), _| (b, a + b)).0 - 1;
    let mut fastest = u128::MAX;
    for _ in 0..TURNS {
        let began = machine.uptime();
        let result = rt.run(|cx| fib(n, cx)).expect("it does not panic");
        fastest = fastest.min((machine.uptime() - began).as_nanos());
        assert_eq!(result, expected, "a wrong number");
    }
    println!(
        "fib({n}) = {expected} on {} workers: {:.1} ns a join",
        rt.workers(),
        fastest as f64 / joins as f64
    );
}

fn fib(n: u32, mut cx: Fork<'_>) -> u64 {
    if n < 2 {
        return n.into();
    }
    cx.join_with(move |cx| fib(n - 1, cx), move |cx| fib(n - 2, cx), |a, b| a + b)
}
