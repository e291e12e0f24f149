//! Parallel loops over the items of a range or slice.

use super::{Divide, Fork};
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, forget, needs_drop};
use core::ptr::NonNull;

/// A parallel loop over items; made by [`Fork::over`].
#[must_use = "does nothing until `for_each`, `map`, `filter` or `reduce` is called"]
pub struct Over<'a, S> {
    cx: Fork<'a>,
    items: S,
    grain: usize,
}

/// Pieces a worker by default: enough to balance items of unequal cost, and few enough for a piece
/// to be worth a join.
const PIECES_PER_WORKER: usize = 64;

impl Fork<'_> {
    /// Begins a parallel loop over the items of a range or slice.
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let words = ["many", "small", "tasks"];
    /// let (lengths, total) = rt.run(|mut cx| {
    ///     let lengths = cx.over(&words[..]).map(|word| word.len());
    ///     let sum = |a: usize, b: usize| a + b;
    ///     let total = cx.over(&lengths[..]).reduce(|| 0, |sum, length| sum + length, sum);
    ///     (lengths, total)
    /// })?;
    /// assert_eq!((lengths, total), (vec![4, 5, 5], 14));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over<S: Divide>(&mut self, items: S) -> Over<'_, S> {
        let grain = items.count() / (PIECES_PER_WORKER * self.workers());
        Over { cx: self.reborrow(), items, grain: grain.max(1) }
    }
}

impl<'a, S: Divide + Send> Over<'a, S> {
    /// Sets the largest number of items that are processed without a check for idle workers. By
    /// default the runtime chooses: about a sixty-fourth of each worker's share.
    pub fn grain(mut self, items: usize) -> Self {
        self.grain = items.max(1);
        self
    }

    /// Passes a [`Fork`] to the loop's functions, which divide the work of an item by it.
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let mut rows = vec![vec![3, 1, 2], (0..1000).rev().collect()];
    /// rt.run(|mut cx| {
    ///     cx.over(&mut rows[..]).nested().for_each(|row, mut cx| {
    ///         row.sort();
    ///         cx.over(&mut row[..]).for_each(|number| *number += 1);
    ///     });
    /// })?;
    /// assert_eq!(rows[0], [2, 3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The fork of the loop itself is that of its own worker, and other workers may run the
    /// function:
    ///
    /// ```compile_fail,E0277
    /// # use xtasking::Fork;
    /// # fn example(rows: &mut [Vec<u64>], mut cx: Fork<'_>, mut outer: Fork<'_>) {
    /// cx.over(rows).for_each(|row| outer.over(&mut row[..]).for_each(|number| *number += 1));
    /// # }
    /// ```
    pub fn nested(self) -> NestedOver<'a, S> {
        NestedOver(self)
    }

    /// Calls a function for each item.
    ///
    /// # Panics
    ///
    /// Panics if the function does, after all items that were begun are over.
    pub fn for_each(self, act: impl Fn(S::Item) + Sync) {
        self.reduce(|| (), |(), item| act(item), |(), ()| ());
    }

    /// Returns what a function returns for each item, in order.
    ///
    /// # Panics
    ///
    /// Panics if the function does, after all items that were begun are over.
    pub fn map<R: Send>(self, map: impl Fn(S::Item) -> R + Sync) -> Vec<R> {
        self.nested().map(|item, _| map(item))
    }

    /// Returns the items for which a function returns true, in order.
    ///
    /// # Panics
    ///
    /// Panics if the function does, after all items that were begun are over.
    pub fn filter(self, is_wanted: impl Fn(&S::Item) -> bool + Sync) -> Vec<S::Item>
    where
        S::Item: Send,
    {
        let keep = |mut kept: Vec<S::Item>, item| {
            if is_wanted(&item) {
                kept.push(item);
            }
            kept
        };
        let append = |mut left: Vec<S::Item>, mut right| {
            left.append(&mut right);
            left
        };
        self.reduce(Vec::new, keep, append)
    }

    /// Reduces all items to one value. Each piece starts from what `begin` returns and takes in its
    /// items one by one; then the values of neighbouring pieces are combined, in order.
    ///
    /// # Panics
    ///
    /// Panics if one of the functions does, after all items that were begun are over.
    pub fn reduce<T: Send>(
        self,
        begin: impl Fn() -> T + Sync,
        take_in: impl Fn(T, S::Item) -> T + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> T {
        self.nested().reduce(begin, |value, item, _| take_in(value, item), combine)
    }
}

/// A parallel loop whose functions may divide their own work; made by [`Over::nested`].
#[must_use = "does nothing until `for_each`, `map` or `reduce` is called"]
pub struct NestedOver<'a, S>(Over<'a, S>);

impl<S: Divide + Send> NestedOver<'_, S> {
    /// Calls a function for each item, as [`Over::for_each`] does.
    ///
    /// # Panics
    ///
    /// Panics if the function does, after all items that were begun are over.
    pub fn for_each(self, act: impl Fn(S::Item, Fork<'_>) + Sync) {
        self.reduce(|| (), |(), item, cx| act(item, cx), |(), ()| ());
    }

    /// Returns what a function returns for each item, in order, as [`Over::map`] does.
    ///
    /// # Panics
    ///
    /// Panics if the function does, after all items that were begun are over.
    pub fn map<R: Send>(self, map: impl Fn(S::Item, Fork<'_>) -> R + Sync) -> Vec<R> {
        let Over { cx, items, grain } = self.0;
        let count = items.count();
        let mut results = Vec::with_capacity(count);
        let room = ResultSlice::into(&mut results.spare_capacity_mut()[..count]);
        let written = write(cx, items, room, grain, &map).keep();
        // SAFETY: `written` results are initialised, from the beginning of the spare capacity.
        unsafe { results.set_len(written) };
        results
    }

    /// Reduces all items to one value, as [`Over::reduce`] does.
    ///
    /// # Panics
    ///
    /// Panics if one of the functions does, after all items that were begun are over.
    pub fn reduce<T: Send>(
        self,
        begin: impl Fn() -> T + Sync,
        take_in: impl Fn(T, S::Item, Fork<'_>) -> T + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> T {
        let piece = |items: S, mut cx: Fork<'_>| {
            items.into_iter().fold(begin(), |value, item| take_in(value, item, cx.reborrow()))
        };
        gather(self.0.cx, self.0.items, self.0.grain, &piece, &combine)
    }
}

/// Divides items until pieces are no larger than the grain, and combines their values.
fn gather<S: Divide + Send, T: Send>(
    mut cx: Fork<'_>,
    items: S,
    grain: usize,
    piece: &(impl Fn(S, Fork<'_>) -> T + Sync),
    combine: &(impl Fn(T, T) -> T + Sync),
) -> T {
    let count = items.count();
    if count <= grain {
        return piece(items, cx);
    }
    let (left, right) = items.divide(count / 2);
    cx.join_with(
        |cx| gather(cx, left, grain, piece, combine),
        |cx| gather(cx, right, grain, piece, combine),
        combine,
    )
}

/// Writes the results of all items into `room`.
fn write<'r, S: Divide + Send, R: Send>(
    mut cx: Fork<'_>,
    items: S,
    mut room: ResultSlice<'r, R>,
    grain: usize,
    map: &(impl Fn(S::Item, Fork<'_>) -> R + Sync),
) -> ResultSlice<'r, R> {
    let count = items.count();
    if count <= grain {
        items.into_iter().take(room.room).for_each(|item| room.push(map(item, cx.reborrow())));
        return room;
    }
    let (left, right) = items.divide(count / 2);
    let (left_room, right_room) = room.divide(count / 2);
    let (left, right) =
        cx.join(|cx| write(cx, left, left_room, grain, map), |cx| write(cx, right, right_room, grain, map));
    left.and(right)
}

/// A part of the results' memory, with the results written to its beginning. Drops them unless they
/// are kept: another piece may have panicked.
struct ResultSlice<'r, R> {
    /// Derived from the pointer to the whole memory, so that it may cover more of it again.
    start: NonNull<R>,
    count: usize,
    room: usize,
    lifetime: PhantomData<&'r mut [MaybeUninit<R>]>,
}

// SAFETY: it owns results, which are `Send`.
unsafe impl<R: Send> Send for ResultSlice<'_, R> {}

impl<'r, R> ResultSlice<'r, R> {
    fn into(room: &'r mut [MaybeUninit<R>]) -> Self {
        Self { start: NonNull::from(&mut *room).cast(), count: 0, room: room.len(), lifetime: PhantomData }
    }

    /// Splits off the room from index `at` on. No result must have been written yet.
    fn divide(mut self, at: usize) -> (Self, Self) {
        assert!(self.count == 0 && at <= self.room);
        // SAFETY: `at` is within the room, as asserted.
        let start = unsafe { self.start.add(at) };
        let right = Self { start, count: 0, room: self.room - at, lifetime: PhantomData };
        self.room = at;
        (self, right)
    }

    /// Writes one more result; drops it if the room is full.
    fn push(&mut self, result: R) {
        if self.count < self.room {
            // SAFETY: the index is within the room, which this value alone writes to.
            unsafe { self.start.add(self.count).write(result) };
            self.count += 1;
        }
    }

    /// Merges with the room that follows, if this one is full.
    fn and(mut self, next: Self) -> Self {
        // An iterator may yield fewer items than it says; results after a gap are dropped.
        if self.count == self.room {
            self.room += next.room;
            self.count += next.keep();
        }
        self
    }

    /// Releases the results to the caller. Returns how many there are.
    fn keep(self) -> usize {
        let count = self.count;
        forget(self);
        count
    }
}

impl<R> Drop for ResultSlice<'_, R> {
    fn drop(&mut self) {
        if needs_drop::<R>() {
            // SAFETY: the first `count` results are initialised, and this value owns them.
            unsafe { NonNull::slice_from_raw_parts(self.start, self.count).drop_in_place() };
        }
    }
}
