//! Two sequences that are divided together.

use super::Divide;
use core::iter;

/// Two sequences that are divided together; made by [`zip`].
#[derive(Clone, Debug)]
pub struct Zip<A, B> {
    left: A,
    right: B,
}

/// Returns the pairs of the items of two sequences, to be divided by [`Fork::over`] or
/// [`TaskScope::shares`]. They end with the shorter sequence.
///
/// ```
/// use xtasking::fork::zip;
///
/// let rt = xtasking::Runtime::builder().workers(2).build()?;
/// let (words, mut lengths) = (["many", "small", "tasks"], [0; 3]);
/// rt.run(|mut cx| {
///     let pairs = cx.over(zip(&words[..], &mut lengths[..]));
///     pairs.for_each(|(word, length)| *length = word.len());
/// })?;
/// assert_eq!(lengths, [4, 5, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Fork::over`]: crate::Fork::over
/// [`TaskScope::shares`]: crate::TaskScope::shares
pub fn zip<A: Divide, B: Divide>(left: A, right: B) -> Zip<A, B> {
    Zip { left, right }
}

impl<A: Divide, B: Divide> IntoIterator for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type IntoIter = iter::Zip<A::IntoIter, B::IntoIter>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.left.into_iter().zip(self.right)
    }
}

impl<A: Divide, B: Divide> Divide for Zip<A, B> {
    fn count(&self) -> usize {
        self.left.count().min(self.right.count())
    }

    fn divide(self, at: usize) -> (Self, Self) {
        let ((left, left_rest), (right, right_rest)) = (self.left.divide(at), self.right.divide(at));
        (zip(left, right), zip(left_rest, right_rest))
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn pairs_stay_together_and_end_with_the_shorter_sequence() {
        let pairs = zip(zip(0..7u32, &[10, 11, 12, 13, 14][..]), 20..30u8);
        assert_eq!(pairs.count(), 5);
        let (first, rest) = pairs.divide(2);
        assert_eq!((first.count(), rest.count()), (2, 3));
        assert!(first.into_iter().eq([((0, &10), 20), ((1, &11), 21)]));
        assert!(rest.into_iter().eq([((2, &12), 22), ((3, &13), 23), ((4, &14), 24)]));
    }
}
