//! The same for each of many items, by all workers that have nothing else to do.

use super::{Divide, Fork};
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, forget, needs_drop};
use core::ptr::NonNull;

/// Many items, of which each is worked on by one worker; made by [`Fork::over`].
#[must_use = "nothing is done before one of the last methods"]
pub struct Over<'a, S> {
    cx: Fork<'a>,
    items: S,
    grain: usize,
}

/// Unless a grain is given, there are so many pieces for each worker: enough for those to be about equally busy whose
/// items differ, and few enough for the pieces to be worth a join.
const PIECES: usize = 64;

impl Fork<'_> {
    /// Work on each item of a range or slice.
    ///
    /// ```
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let words = ["many", "small", "tasks"];
    /// let (lengths, total) = rt.run(|mut cx| {
    ///     let lengths = cx.over(&words[..]).map(|word| word.len());
    ///     let total = cx.over(&lengths[..]).reduce(|| 0, |sum, length| sum + length, |a, b| a + b);
    ///     (lengths, total)
    /// })?;
    /// assert_eq!((lengths, total), (vec![4, 5, 5], 14));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over<S: Divide>(&mut self, items: S) -> Over<'_, S> {
        let grain = items.count() / (PIECES * self.workers());
        Over { cx: self.reborrow(), items, grain: grain.max(1) }
    }
}

impl<S: Divide + Send> Over<'_, S> {
    /// At most how many items are worked on without a look whether somebody could take a part. Without this the runtime
    /// chooses: about a sixty-fourth of each worker's share.
    pub fn grain(mut self, items: usize) -> Self {
        self.grain = items.max(1);
        self
    }

    /// Calls a function for each item.
    ///
    /// # Panics
    ///
    /// If it does: when all that was begun is over.
    pub fn for_each(self, act: impl Fn(S::Item) + Sync) {
        self.reduce(|| (), |(), item| act(item), |(), ()| ());
    }

    /// What a function returns for each item, in order.
    ///
    /// # Panics
    ///
    /// If it does: when all that was begun is over.
    pub fn map<R: Send>(self, map: impl Fn(S::Item) -> R + Sync) -> Vec<R> {
        let count = self.items.count();
        let mut results = Vec::with_capacity(count);
        let room = Written::into(&mut results.spare_capacity_mut()[..count]);
        let written = write(self.cx, self.items, room, self.grain, &map).keep();
        // SAFETY: so many were written.
        unsafe { results.set_len(written) };
        results
    }

    /// The items that a function says yes to, in order.
    ///
    /// # Panics
    ///
    /// If it does: when all that was begun is over.
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

    /// One value from all items: each piece starts from what `begin` returns and takes in its items one by one, and the
    /// values of neighbouring pieces are put together, in order.
    ///
    /// # Panics
    ///
    /// If one of the functions does: when all that was begun is over.
    pub fn reduce<T: Send>(
        self,
        begin: impl Fn() -> T + Sync,
        take_in: impl Fn(T, S::Item) -> T + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> T {
        let piece = |items: S| items.into_iter().fold(begin(), &take_in);
        gather(self.cx, self.items, self.grain, &piece, &combine)
    }
}

/// Cuts items until pieces are no larger than the grain, and puts their values together.
fn gather<S: Divide + Send, T: Send>(
    mut cx: Fork<'_>,
    items: S,
    grain: usize,
    piece: &(impl Fn(S) -> T + Sync),
    combine: &(impl Fn(T, T) -> T + Sync),
) -> T {
    let count = items.count();
    if count <= grain {
        return piece(items);
    }
    let (left, right) = items.divide(count / 2);
    cx.join_with(
        |cx| gather(cx, left, grain, piece, combine),
        |cx| gather(cx, right, grain, piece, combine),
        combine,
    )
}

/// Writes what the items are mapped to.
fn write<'r, S: Divide + Send, R: Send>(
    mut cx: Fork<'_>,
    items: S,
    mut room: Written<'r, R>,
    grain: usize,
    map: &(impl Fn(S::Item) -> R + Sync),
) -> Written<'r, R> {
    let count = items.count();
    if count <= grain {
        items.into_iter().take(room.room).for_each(|item| room.push(map(item)));
        return room;
    }
    let (left, right) = items.divide(count / 2);
    let (left_room, right_room) = room.divide(count / 2);
    let (left, right) =
        cx.join(|cx| write(cx, left, left_room, grain, map), |cx| write(cx, right, right_room, grain, map));
    left.and(right)
}

/// Some room, and the results that were written to its beginning. Unless they are kept they are dropped, when a function has
/// panicked elsewhere.
struct Written<'r, R> {
    /// Of what was the whole room once: so this may stand for more of it again.
    start: NonNull<R>,
    count: usize,
    room: usize,
    lifetime: PhantomData<&'r mut [MaybeUninit<R>]>,
}

// SAFETY: it stands for the results, which are `Send`.
unsafe impl<R: Send> Send for Written<'_, R> {}

impl<'r, R> Written<'r, R> {
    fn into(room: &'r mut [MaybeUninit<R>]) -> Self {
        Self { start: NonNull::from(&mut *room).cast(), count: 0, room: room.len(), lifetime: PhantomData }
    }

    /// Cuts off the room from that place on. Nothing was written yet.
    fn divide(mut self, at: usize) -> (Self, Self) {
        assert!(self.count == 0 && at <= self.room);
        // SAFETY: within the room.
        let start = unsafe { self.start.add(at) };
        let right = Self { start, count: 0, room: self.room - at, lifetime: PhantomData };
        self.room = at;
        (self, right)
    }

    /// Writes one more; what there is no room for is dropped.
    fn push(&mut self, result: R) {
        if self.count < self.room {
            // SAFETY: within the room, which is this one's alone.
            unsafe { self.start.add(self.count).write(result) };
            self.count += 1;
        }
    }

    /// Both, if this has filled its room, which the next one's follows.
    fn and(mut self, next: Self) -> Self {
        // An iterator may have fewer items than it says; what it has after a gap is dropped.
        if self.count == self.room {
            self.room += next.room;
            self.count += next.keep();
        }
        self
    }

    /// Leaves the results to the caller, who is told how many there are.
    fn keep(self) -> usize {
        let count = self.count;
        forget(self);
        count
    }
}

impl<R> Drop for Written<'_, R> {
    fn drop(&mut self) {
        if needs_drop::<R>() {
            // SAFETY: so many were written, one after another, and nobody else knows of them.
            unsafe { NonNull::slice_from_raw_parts(self.start, self.count).drop_in_place() };
        }
    }
}
