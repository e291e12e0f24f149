//! Bundles that fold the results of their walks into one value.

use super::{Bundle, Start, Walk};
use crate::scheduler::Context;
use crate::task::JoinError;

/// A bundle made of an iterator, a value and a closure; made by [`fold`].
#[must_use = "a bundle does nothing until a task carries it"]
pub struct Fold<I, S, D> {
    walks: I,
    state: S,
    done: D,
}

/// Returns a bundle of the walks of an iterator, each with the node where it begins. `done` takes
/// each walk that has ended and its result into `state`, in any order. The value lies in the
/// bundle, away from those of other workers.
///
/// ```
/// use xtasking::arena::{Array, Link};
/// use xtasking::bundle::{Hop, Walk, fold};
/// use xtasking::{Runtime, Version, Word};
///
/// struct Cell(Word);
/// impl Version for Cell {}
///
/// struct Get;
/// impl Walk for Get {
///     type Target = Cell;
///     type Output = u64;
///     fn read(&self, _: Link<Cell>, cell: &Cell) -> Hop<Cell, u64> {
///         Hop::End(cell.0.get())
///     }
/// }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let array = Array::new(&rt, 100, |index| Cell(Word::new(index as u64)));
/// let (cells, mut sums) = (array.links(), [0; 2]);
/// rt.task_scope(|scope| {
///     for ((task, indexes), sum) in scope.shares(0..100).zip(&mut sums) {
///         let gets = indexes.map(move |index| (cells.link(index).read(), Get));
///         let bundle = fold(gets, 0, |sum, _, value, _| *sum += value.unwrap_or(0));
///         task.bundle_then(bundle, |bundle, _| *sum = bundle.into_state());
///     }
/// })?;
/// assert_eq!(sums[0] + sums[1], 4950);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fold<A, W, I, S, D>(walks: I, state: S, done: D) -> Fold<I, S, D>
where
    A: Into<Start<W::Target>>,
    W: Walk,
    I: Iterator<Item = (A, W)> + Send,
    S: Send,
    D: FnMut(&mut S, W, Result<W::Output, JoinError>, &mut Context) + Send,
{
    Fold { walks, state, done }
}

impl<I, S, D> Fold<I, S, D> {
    /// Returns the value.
    pub fn into_state(self) -> S {
        self.state
    }
}

impl<A, W, I, S, D> Bundle for Fold<I, S, D>
where
    A: Into<Start<W::Target>>,
    W: Walk,
    I: Iterator<Item = (A, W)> + Send,
    S: Send,
    D: FnMut(&mut S, W, Result<W::Output, JoinError>, &mut Context) + Send,
{
    type Walk = W;

    #[inline(always)]
    fn next(&mut self, _: &mut Context) -> Option<(Start<W::Target>, W)> {
        self.walks.next().map(|(start, walk)| (start.into(), walk))
    }

    #[inline(always)]
    fn done(&mut self, walk: W, outcome: Result<W::Output, JoinError>, cx: &mut Context) {
        (self.done)(&mut self.state, walk, outcome, cx);
    }
}
