//! Many operations at once: a bundle of walks for each worker, which takes operations from a slice
//! and puts their results into another.

use crate::root::{Root, RootRef};
use core::slice::{Iter, IterMut};
use xtasking::{
    Context, JoinError, Part, Runtime,
    arena::{Link, Written},
    bundle::{Bundle, Hop, Next, Start, Walk},
};

/// A kind of operation: how its walk is made from an item, and what becomes of the result.
pub(crate) trait Kind: Send + Sync {
    /// What the operations share.
    type Root: Root;
    /// The key of the operation, with what else it needs.
    type Item: Sync;
    /// The caller's result.
    type Place: Clone + Send;
    /// The walk of the operation.
    type Walk: Walk;

    /// Returns the walk of an operation, and where it begins.
    fn begin(
        &self,
        item: &Self::Item,
        root: &Self::Root,
    ) -> (Start<<Self::Walk as Walk>::Target>, Self::Walk);

    /// Returns the caller's result, and starts what the operation leaves to be done.
    fn finish(
        &self,
        walk: &Self::Walk,
        output: <Self::Walk as Walk>::Output,
        root: RootRef<Self::Root>,
        cx: &mut Context,
    ) -> Self::Place;
}

/// Runs an operation for each item, with all workers, and returns the results in the order of the
/// items. `nothing` stands in the place of each until its result is there. The caller has a handle
/// of what the root belongs to.
pub(crate) fn run<M: Kind>(
    rt: &Runtime,
    root: &M::Root,
    kind: &M,
    items: &[M::Item],
    nothing: M::Place,
) -> Result<Vec<M::Place>, JoinError> {
    let mut results = vec![nothing; items.len()];
    let share = items.len().div_ceil(rt.workers()).max(LEAST_SHARE);
    let mut failures: Vec<Option<JoinError>> = Vec::new();
    failures.resize_with(items.len().div_ceil(share), || None);
    let root = RootRef::new(root);
    rt.task_scope(|scope| {
        let shares = items.chunks(share).zip(results.chunks_mut(share)).zip(&mut failures);
        for (worker, ((items, places), failure)) in shares.enumerate() {
            let (items, places) = (items.iter(), places.iter_mut());
            let operations = Operations { kind, root, items, places, failure };
            scope.task(()).core(worker as u16).bundle(operations);
        }
    })?;
    failures.into_iter().flatten().next().map_or(Ok(results), Err)
}

/// Below this number of operations one worker runs them all: to wake another takes longer.
const LEAST_SHARE: usize = 256;

/// The operations of one worker.
struct Operations<'s, M: Kind> {
    kind: &'s M,
    root: RootRef<M::Root>,
    items: Iter<'s, M::Item>,
    places: IterMut<'s, M::Place>,
    /// The first failure of an operation.
    failure: &'s mut Option<JoinError>,
}

impl<'s, M: Kind> Bundle for Operations<'s, M> {
    type Walk = Placed<'s, M::Walk, M::Place>;

    #[inline(always)]
    fn next(&mut self, cx: &mut Context) -> Next<Self::Walk> {
        let (item, place) = (self.items.next()?, self.places.next()?);
        let (start, walk) = self.kind.begin(item, self.root.get(cx));
        Some((start, Placed { walk, place }))
    }

    #[inline(always)]
    fn done(
        &mut self,
        Placed { walk, place }: Self::Walk,
        outcome: Result<<M::Walk as Walk>::Output, JoinError>,
        cx: &mut Context,
    ) {
        match outcome {
            Ok(output) => *place = self.kind.finish(&walk, output, self.root, cx),
            Err(error) => _ = self.failure.get_or_insert(error),
        }
    }
}

/// A walk, and the place for the result of its operation.
pub(crate) struct Placed<'s, W, R> {
    walk: W,
    place: &'s mut R,
}

impl<W: Walk, R: Send> Walk for Placed<'_, W, R> {
    type Target = W::Target;
    type Output = W::Output;

    const LOCATES: bool = W::LOCATES;

    #[inline(always)]
    fn locate(&mut self, at: Link<W::Target>, node: &W::Target) -> Part {
        self.walk.locate(at, node)
    }

    #[inline(always)]
    fn read(&self, at: Link<W::Target>, node: &W::Target) -> Hop<W::Target, W::Output> {
        self.walk.read(at, node)
    }

    #[inline(always)]
    fn write(
        &mut self,
        at: Link<W::Target>,
        node: Written<'_, W::Target>,
        cx: &mut Context,
    ) -> Hop<W::Target, W::Output> {
        self.walk.write(at, node, cx)
    }
}
