//! Fibonacci numbers by iteration, to check results, and the number of joins that computing them
//! takes.

/// Returns a Fibonacci number.
pub(crate) fn fibonacci(n: u32) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// Returns the number of joins of the recursive function: one for each call with `n` of 2 or more.
pub(super) fn joins(n: u32) -> u64 {
    fibonacci(n + 1) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fibonacci_numbers_and_joins_match_the_recursive_function() {
        assert_eq!((fibonacci(0), fibonacci(1), fibonacci(10), fibonacci(35)), (0, 1, 55, 9_227_465));
        fn count(n: u32) -> u64 {
            if n < 2 { 0 } else { 1 + count(n - 1) + count(n - 2) }
        }
        assert!((0..20).all(|n| joins(n) == count(n)));
    }
}
