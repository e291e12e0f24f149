//! Many operations at once: bundles of walks, which take operations from an iterator and pass their
//! results to a closure; and batches of them, a bundle for each worker.

use crate::root::{Root, RootRef};
use core::marker::PhantomData;
use xtasking::{
    Context, JoinError, Part, Runtime,
    arena::{Link, Written},
    bundle::{Bundle, Hop, Next, Start, Walk},
};

/// A kind of operation: how its walk is made from an item, and what becomes of the result.
pub(crate) trait Kind: Send {
    /// What the operations share.
    type Root: Root;
    /// The key of the operation, with what else it needs.
    type Item;
    /// The caller's result.
    type Output;
    /// The walk of the operation.
    type Walk: Walk;

    /// Returns the walk of an operation, and where it begins.
    fn begin(&self, item: Self::Item, root: &Self::Root)
    -> (Start<<Self::Walk as Walk>::Target>, Self::Walk);

    /// Returns the caller's result, and starts what the operation leaves to be done.
    fn finish(
        &self,
        walk: &Self::Walk,
        output: <Self::Walk as Walk>::Output,
        root: RootRef<Self::Root>,
        cx: &mut Context,
    ) -> Self::Output;
}

/// Runs an operation for each item, with all workers, and returns the results in the order of the
/// items. `nothing` stands in the place of each until its result is there. The caller has a handle
/// of what the root belongs to.
pub(crate) fn run<M: Kind<Item: Clone + Sync, Output: Clone + Send>>(
    rt: &Runtime,
    root: &M::Root,
    kind: impl Fn() -> M,
    items: &[M::Item],
    nothing: M::Output,
) -> Result<Vec<M::Output>, JoinError> {
    let mut results = vec![nothing; items.len()];
    let share = items.len().div_ceil(rt.workers()).max(LEAST_SHARE);
    let mut failures: Vec<Option<JoinError>> = Vec::new();
    failures.resize_with(items.len().div_ceil(share), || None);
    rt.task_scope(|scope| {
        let shares = items.chunks(share).zip(results.chunks_mut(share)).zip(&mut failures);
        for (worker, ((items, places), failure)) in shares.enumerate() {
            let items = items.iter().cloned().zip(places);
            let done = |place: &mut M::Output, outcome, _: &mut Context| match outcome {
                Ok(output) => *place = output,
                Err(error) => _ = failure.get_or_insert(error),
            };
            let operations = Operations::new(kind(), root, (), items, done);
            scope.task(()).core(worker as u16).bundle(operations);
        }
    })?;
    failures.into_iter().flatten().next().map_or(Ok(results), Err)
}

/// Below this number of operations one worker runs them all: to wake another takes longer.
const LEAST_SHARE: usize = 256;

/// Operations of one kind, as a bundle.
pub(crate) struct Operations<M: Kind, H, T, I, D> {
    kind: M,
    root: RootRef<M::Root>,
    /// Keeps what the root belongs to.
    _handle: H,
    items: I,
    done: D,
    tags: PhantomData<fn(T)>,
}

impl<M, H, T, I, D> Operations<M, H, T, I, D>
where
    M: Kind,
    I: Iterator<Item = (M::Item, T)>,
    D: FnMut(T, Result<M::Output, JoinError>, &mut Context),
{
    /// Returns a bundle of the operations for these items. The handle, or else the caller, keeps
    /// what the root belongs to until the bundle has ended.
    pub(crate) fn new(kind: M, root: &M::Root, handle: H, items: I, done: D) -> Self {
        Self { kind, root: RootRef::new(root), _handle: handle, items, done, tags: PhantomData }
    }
}

impl<M, H, T, I, D> Bundle for Operations<M, H, T, I, D>
where
    M: Kind,
    H: Send,
    T: Send,
    I: Iterator<Item = (M::Item, T)> + Send,
    D: FnMut(T, Result<M::Output, JoinError>, &mut Context) + Send,
{
    type Walk = Tagged<M::Walk, T>;

    #[inline(always)]
    fn next(&mut self, cx: &mut Context) -> Next<Self::Walk> {
        let (item, tag) = self.items.next()?;
        let (start, walk) = self.kind.begin(item, self.root.get(cx));
        Some((start, Tagged { walk, tag }))
    }

    #[inline(always)]
    fn done(
        &mut self,
        Tagged { walk, tag }: Self::Walk,
        outcome: Result<<M::Walk as Walk>::Output, JoinError>,
        cx: &mut Context,
    ) {
        let outcome = outcome.map(|output| self.kind.finish(&walk, output, self.root, cx));
        (self.done)(tag, outcome, cx);
    }
}

/// A walk, and what its caller knows it by.
pub(crate) struct Tagged<W, T> {
    walk: W,
    tag: T,
}

impl<W: Walk, T: Send> Walk for Tagged<W, T> {
    type Target = W::Target;
    type Output = W::Output;

    const LOCATES: bool = W::LOCATES;
    const ENDS_AT_ONCE: bool = W::ENDS_AT_ONCE;

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
