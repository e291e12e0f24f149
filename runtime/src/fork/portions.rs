//! Sequences that several tasks take from, portion by portion.

use super::Divide;
use crate::sync::SpinMutex;
use alloc::sync::Arc;

/// The items that one task gets of a sequence, taken from the rest in portions; made by
/// [`TaskScope::portions`](crate::TaskScope::portions).
pub struct Portions<S: Divide> {
    /// The items that no task has taken yet.
    rest: Arc<SpinMutex<Option<S>>>,
    size: usize,
    portion: Option<S::IntoIter>,
}

impl<S: Divide> Portions<S> {
    pub(crate) fn new(items: S, size: usize) -> Self {
        Self { rest: Arc::new(SpinMutex::new(Some(items))), size: size.max(1), portion: None }
    }

    /// Returns another taker of the same items.
    pub(crate) fn share(&self) -> Self {
        Self { rest: self.rest.clone(), size: self.size, portion: None }
    }

    /// Takes the next portion of the rest.
    #[cold]
    #[inline(never)]
    fn next_portion(&self) -> Option<S> {
        let mut rest = self.rest.lock();
        let items = rest.take()?;
        let count = items.count();
        if count <= self.size {
            return (count > 0).then_some(items);
        }
        let (portion, others) = items.divide(self.size);
        *rest = Some(others);
        Some(portion)
    }
}

impl<S: Divide> Iterator for Portions<S> {
    type Item = S::Item;

    #[inline]
    fn next(&mut self) -> Option<S::Item> {
        loop {
            if let Some(item) = self.portion.as_mut().and_then(Iterator::next) {
                return Some(item);
            }
            self.portion = Some(self.next_portion()?.into_iter());
        }
    }
}
