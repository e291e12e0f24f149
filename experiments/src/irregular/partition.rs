//! The division of a slice by a pivot, for quicksort.

/// The length up to which slices are sorted at once.
pub(super) const SMALL: usize = 1024;

/// Divides a slice of at least three items into those that are less than a pivot and those that are
/// not; both are shorter than the slice. The items between them are equal to the pivot.
pub(super) fn partition(items: &mut [u64]) -> (&mut [u64], &mut [u64]) {
    let pivot = median(items);
    let less = move_to_front(items, |item| item < pivot);
    let (left, rest) = items.split_at_mut(less);
    // The pivot itself is one of them, so that the rest shrinks as well.
    let equal = if less == 0 { move_to_front(rest, |item| item == pivot) } else { 0 };
    (left, &mut rest[equal..])
}

/// Moves the items that are wanted before all others, and returns their number. It has no branch
/// that depends on an item, as half of them would be mispredicted.
fn move_to_front(items: &mut [u64], is_wanted: impl Fn(u64) -> bool) -> usize {
    let mut front = 0;
    for at in 0..items.len() {
        let item = items[at];
        items.swap(at, front);
        front += usize::from(is_wanted(item));
    }
    front
}

/// Returns the median of three medians of three items each, which are spread over the slice.
fn median(items: &[u64]) -> u64 {
    let middle = |a: u64, b: u64, c: u64| a.max(b).min(a.min(b).max(c));
    let at = |ninth: usize| items[ninth * (items.len() - 1) / 8];
    middle(middle(at(0), at(1), at(2)), middle(at(3), at(4), at(5)), middle(at(6), at(7), at(8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_shorter_and_in_order() {
        let patterns: [fn(u64) -> u64; 5] = [|n| n, |n| 1000 - n, |_| 7, |n| n % 2, |n| n * 7919 % 1000];
        for pattern in patterns {
            for length in 3..200 {
                let mut items: Vec<_> = (0..length).map(pattern).collect();
                let mut sorted = items.clone();
                sorted.sort();
                let (left, right) = partition(&mut items);
                assert!(left.len() < length as usize && right.len() < length as usize);
                left.sort();
                right.sort();
                assert_eq!(items, sorted);
            }
        }
    }
}
