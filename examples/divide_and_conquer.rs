//! How to divide work recursively (fork-join): a parallel quicksort by `join`, and loops over
//! ranges and slices by `over`.
//!
//! `cargo run --release -p xtasking-examples --example divide_and_conquer`

#![forbid(unsafe_code)]

use xtasking::{Fork, Runtime};

/// Sorts numbers around their median, possibly both halves in parallel.
fn sort(numbers: &mut [u64], mut cx: Fork<'_>) {
    // A join costs a few nanoseconds: divide only what takes much longer to sort.
    if numbers.len() <= 32 {
        return numbers.sort_unstable();
    }
    let middle = numbers.len() / 2;
    numbers.select_nth_unstable(middle);
    let (left, right) = numbers.split_at_mut(middle);
    cx.join(|cx| sort(left, cx), |cx| sort(right, cx));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let mut numbers: Vec<u64> =
        (0..1_000_000u64).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();

    // A plain thread runs the work on the runtime and waits for it. So the closure may borrow.
    rt.run(|cx| sort(&mut numbers, cx))?;
    assert!(numbers.is_sorted());

    // Loops over ranges and slices. The runtime chooses the size of the pieces.
    let (gaps, widest) = rt.run(|mut cx| {
        let gaps = cx.over(1..numbers.len()).map(|index| numbers[index] - numbers[index - 1]);
        let widest = cx.over(&gaps[..]).reduce(|| 0, |widest, gap| widest.max(*gap), u64::max);
        (gaps, widest)
    })?;
    assert_eq!(gaps.iter().max(), Some(&widest));
    println!("{} numbers sorted; the widest gap between two neighbours is {widest}", numbers.len());
    Ok(())
}
