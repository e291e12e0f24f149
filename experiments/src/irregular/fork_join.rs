//! What a library offers to forked work, so that the work is written once for all.

use xtasking::Fork;

/// A piece of work that may fork further ones.
pub(super) trait Piece: Send {
    /// The result.
    type Output: Send;

    /// Runs the piece.
    fn run(self, cx: impl ForkJoin) -> Self::Output;
}

/// A point at which work can be forked.
pub(super) trait ForkJoin: Sized {
    /// Runs two pieces, possibly in parallel, and returns what `then` makes of their results.
    fn join<A: Piece, B: Piece, R>(self, a: A, b: B, then: impl FnOnce(A::Output, B::Output) -> R) -> R;
}

impl ForkJoin for Fork<'_> {
    #[inline(always)]
    fn join<A: Piece, B: Piece, R>(mut self, a: A, b: B, then: impl FnOnce(A::Output, B::Output) -> R) -> R {
        self.join_with(move |cx| a.run(cx), move |cx| b.run(cx), then)
    }
}

/// A thread of rayon's pool.
pub(super) struct Rayon;

impl ForkJoin for Rayon {
    #[inline(always)]
    fn join<A: Piece, B: Piece, R>(self, a: A, b: B, then: impl FnOnce(A::Output, B::Output) -> R) -> R {
        let (first, second) = rayon::join(move || a.run(Self), move || b.run(Self));
        then(first, second)
    }
}

impl ForkJoin for &mut chili::Scope<'_> {
    #[inline(always)]
    fn join<A: Piece, B: Piece, R>(self, a: A, b: B, then: impl FnOnce(A::Output, B::Output) -> R) -> R {
        let (first, second) = self.join(move |cx| a.run(cx), move |cx| b.run(cx));
        then(first, second)
    }
}
