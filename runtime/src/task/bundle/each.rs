//! Bundles made of an iterator of walks and a closure for their results.

use super::{Bundle, Start, Walk};
use crate::scheduler::Context;
use crate::task::JoinError;

/// A bundle made of an iterator and a closure; made by [`each`].
#[must_use = "a bundle does nothing until a task carries it"]
pub struct Each<I, D> {
    walks: I,
    done: D,
}

/// Returns a bundle of the walks of an iterator, each with the node where it begins. `done`
/// receives each walk that has ended and its result.
///
/// ```
/// use xtasking::arena::{Arena, Link};
/// use xtasking::bundle::{Hop, Walk, each};
/// use xtasking::{Runtime, Version, Word};
///
/// struct Cell(Word);
/// impl Version for Cell {}
///
/// struct Get(usize);
/// impl Walk for Get {
///     type Target = Cell;
///     type Output = u64;
///     fn read(&self, _: Link<Cell>, cell: &Cell) -> Hop<Cell, u64> {
///         Hop::End(cell.0.get())
///     }
/// }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let arena = Arena::new(&rt);
/// let cells: Vec<_> = (0..100).map(|value| arena.alloc_outside(Cell(Word::new(value)))).collect();
/// let mut sum = 0;
/// rt.task_scope(|scope| {
///     let gets = cells.iter().enumerate().map(|(index, cell)| (cell.read(), Get(index)));
///     scope.task(()).bundle(each(gets, |_, value, _| sum += value.unwrap_or(0)));
/// })?;
/// assert_eq!(sum, 4950);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn each<A, W, I, D>(walks: I, done: D) -> Each<I, D>
where
    A: Into<Start<W::Target>>,
    W: Walk,
    I: Iterator<Item = (A, W)> + Send,
    D: FnMut(W, Result<W::Output, JoinError>, &mut Context) + Send,
{
    Each { walks, done }
}

impl<A, W, I, D> Bundle for Each<I, D>
where
    A: Into<Start<W::Target>>,
    W: Walk,
    I: Iterator<Item = (A, W)> + Send,
    D: FnMut(W, Result<W::Output, JoinError>, &mut Context) + Send,
{
    type Walk = W;

    #[inline(always)]
    fn next(&mut self, _: &mut Context) -> Option<(Start<W::Target>, W)> {
        self.walks.next().map(|(start, walk)| (start.into(), walk))
    }

    #[inline(always)]
    fn done(&mut self, walk: W, outcome: Result<W::Output, JoinError>, cx: &mut Context) {
        (self.done)(walk, outcome, cx);
    }
}
