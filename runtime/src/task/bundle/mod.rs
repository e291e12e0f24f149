//! Bundles: one task that carries many walks of one kind.
//!
//! A task for each node costs more than a node that is in the cache. A [`Bundle`] has a fixed
//! number of *lanes*, each with a walk. Its task steps through the lanes in one loop that is
//! compiled for the walk: a step reads one node, names what the walk touches next, and gives way to
//! the other lanes while that is fetched. A lane whose walk ends takes the next walk from the
//! bundle.
//!
//! | file | contents |
//! |---|---|
//! | `walk` | what one lane does: [`Walk`], [`Hop`], [`Start`] |
//! | `each` | bundles made of an iterator and a closure |
//! | `fold` | bundles that fold their results into one value |
//! | `lane` | one lane: a walk, and where it goes |
//! | `lanes` | the lanes, and the loop that steps through them |
//! | `step` | one step of one lane |
//! | `short_walks` | the loop for walks that mostly end at their first node |
//! | `turns` | the bundle as a task: its turns, its epoch, its end |
//! | `errand` | one node of a walk as a task of its own, where the bundle would have to wait |
//! | `spawn` | spawning bundles |
//!
//! # Turns
//!
//! A bundle is a task that runs in turns of a bounded number of steps. Between two turns it is in
//! the run queue like any other task, so that tasks of the same priority get their turn and more
//! urgent ones go first.
//!
//! # Writers
//!
//! A step that meets a writer is repeated in the next round. After more than
//! [`OPTIMISTIC_ATTEMPTS`](crate::scheduler::Worker::OPTIMISTIC_ATTEMPTS) the lane's next node
//! becomes an *errand*: a task that enters the node as its primitive requires, perhaps at its home,
//! makes this one step, and returns the walk to the bundle. The other lanes continue meanwhile.
//! Nodes whose primitive has no optimistic readers are always visited so.
//!
//! # Epochs
//!
//! Each walk of a bundle that begins an operation of its own (or was spawned from outside) is an
//! operation that begins when [`Bundle::next`] returns it. So a long bundle need not hold up the
//! reclamation of memory: when the epoch advances, its lanes run empty without taking further
//! walks, and then it moves to the new epoch.
//!
//! # Panics
//!
//! A panic in a walk ends this walk; the bundle receives the error, and the other lanes continue. A
//! panic in the bundle's own methods ends the bundle: its walks are dropped, and its handle, group
//! or hook receives the error.

mod each;
mod errand;
mod fold;
mod lane;
mod lanes;
mod short_walks;
mod spawn;
mod step;
mod turns;
mod walk;

pub use each::{Each, each};
pub use fold::{Fold, fold};
pub(crate) use spawn::launch;
pub use walk::{Hop, Next, Start, Walk};

use super::JoinError;
use crate::scheduler::Context;

/// A source of walks that one task carries, and the receiver of their results.
///
/// Its methods run on the worker of the task, one at a time, and hold no object. For an iterator of
/// walks and a closure for their results see [`each`] and [`fold`].
///
/// ```
/// use xtasking::arena::{Arena, Link};
/// use xtasking::bundle::{Bundle, Hop, Start, Walk};
/// use xtasking::{Context, JoinError, Runtime, Version, Word};
///
/// /// A node of a list, and the link of the next one.
/// struct Item { value: Word, next: Option<Link<Item>> }
/// impl Version for Item {}
///
/// /// Searches a list for a value.
/// struct Search { wanted: u64, query: usize }
///
/// impl Walk for Search {
///     type Target = Item;
///     type Output = bool;
///     fn read(&self, _: Link<Item>, item: &Item) -> Hop<Item, bool> {
///         match item.next {
///             _ if item.value.get() == self.wanted => Hop::End(true),
///             Some(next) => Hop::Go(next, xtasking::Part::HEAD),
///             None => Hop::End(false),
///         }
///     }
/// }
///
/// /// Searches a list for many values.
/// struct Searches { list: Link<Item>, wanted: Vec<u64>, begun: usize, found: Vec<bool> }
///
/// impl Bundle for Searches {
///     type Walk = Search;
///     fn next(&mut self, _: &mut Context) -> Option<(Start<Item>, Search)> {
///         let query = self.begun;
///         self.begun += 1;
///         let wanted = *self.wanted.get(query)?;
///         Some((self.list.read().into(), Search { wanted, query }))
///     }
///     fn done(&mut self, walk: Search, outcome: Result<bool, JoinError>, _: &mut Context) {
///         self.found[walk.query] = outcome.unwrap_or(false);
///     }
/// }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let arena = Arena::new(&rt);
/// let last = arena.alloc_outside(Item { value: Word::new(2), next: None });
/// let list = arena.alloc_outside(Item { value: Word::new(1), next: Some(last) });
/// let searches = Searches { list, wanted: vec![2, 3, 1], begun: 0, found: vec![false; 3] };
/// assert_eq!(rt.task(()).submit_bundle(searches).join()?.found, [true, false, true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle of walks",
    label = "does not implement `Bundle`",
    note = "`bundle::each` and `bundle::fold` make a bundle of an iterator of walks and a closure"
)]
pub trait Bundle: Send {
    /// The kind of walk.
    type Walk: Walk;

    /// Returns the next walk and the node where it begins; `None` if there are no more. After that
    /// it is not called again.
    ///
    /// An operation begins here, as by
    /// [`TaskBuilder::begin_operation`](crate::TaskBuilder::begin_operation). (In a bundle that was
    /// spawned by a task without it, all walks belong to the operation of that task.) The bundle is
    /// no operation itself: a link that one walk has found may be out of date when `next`, `done`
    /// of another walk or the continuation of the bundle is called.
    fn next(&mut self, cx: &mut Context) -> Next<Self::Walk>;

    /// Receives a walk that has ended, and its result. Walks end in any order.
    ///
    /// The error of a walk is the one that a task with the same walk would have: a panic,
    /// [`JoinError::Poisoned`], [`JoinError::Foreign`], [`JoinError::Abandoned`],
    /// [`JoinError::OutOfMemory`], or [`JoinError::Cancelled`] at a shutdown.
    fn done(
        &mut self,
        walk: Self::Walk,
        outcome: Result<<Self::Walk as Walk>::Output, JoinError>,
        cx: &mut Context,
    );
}
