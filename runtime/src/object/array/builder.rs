//! The builder of an array.

use super::Array;
use super::fill::fill;
use super::owner::Owner;
use super::segments::Parameters;
use crate::annotation::Frequency;
use crate::object::primitive::{Expectation, choose};
use crate::object::{Cell, Class, LegalFor, Primitive, WrittenInPlace};
use crate::scheduler::Runtime;
use alloc::alloc::handle_alloc_error;
use core::alloc::Layout;
use core::marker::PhantomData;

/// An array under construction; made by [`Array::builder`] and its siblings.
#[must_use = "an array is made by `build`"]
pub struct ArrayBuilder<'rt, T, C: Class<Target = T>> {
    runtime: &'rt Runtime,
    pinned: Option<Primitive>,
    frequency: Frequency,
    is_kept_on_panic: bool,
    array: PhantomData<fn() -> C>,
}

impl<'rt, T, C: Class<Target = T>> ArrayBuilder<'rt, T, C> {
    pub(super) fn new(runtime: &'rt Runtime) -> Self {
        Self {
            runtime,
            pinned: None,
            frequency: Frequency::Normal,
            is_kept_on_panic: false,
            array: PhantomData,
        }
    }

    /// Sets how often tasks will touch each element. As for an
    /// [object](crate::ObjectBuilder::frequency), the primitive depends on it unless that is
    /// pinned.
    pub fn frequency(mut self, frequency: Frequency) -> Self {
        self.frequency = frequency;
        self
    }

    /// Pins the primitive of the elements. An illegal one for this class does not compile.
    pub fn pin<P: LegalFor<C>>(mut self, _: P) -> Self {
        self.pinned = Some(P::PRIMITIVE);
        self
    }

    /// Makes the array, with `len` elements; see [`Array::new`].
    ///
    /// # Panics
    ///
    /// Panics if `value` does.
    pub fn build(self, len: usize, value: impl Fn(usize) -> T + Send + Sync) -> Array<T, C> {
        self.try_build(len, value).unwrap_or_else(|| out_of_memory::<C>(len))
    }

    /// Makes the array as [`build`](Self::build) does. Returns `None` if there is no memory for it.
    ///
    /// # Panics
    ///
    /// Panics if `value` does.
    pub fn try_build(self, len: usize, value: impl Fn(usize) -> T + Send + Sync) -> Option<Array<T, C>> {
        let expect = Expectation { isolation: C::ISOLATION, frequency: self.frequency, read_share: 50 };
        let shared = self.runtime.shared().clone();
        let parameters = Parameters {
            first_len: len,
            workers: shared.slots.len(),
            primitive: self.pinned.unwrap_or_else(|| choose(expect)),
            frequency: self.frequency,
            is_kept_on_panic: self.is_kept_on_panic,
            free_word: shared.free_word,
        };
        let owner = Owner::new(shared, parameters)?;
        // SAFETY: the first segment has memory for `len` elements, and only this function has it.
        unsafe { fill(owner.segments(), self.runtime, 0..len, value) };
        owner.segments().set_len(len);
        Some(Array::new_from(owner))
    }
}

impl<T, C: Class<Target = T>> ArrayBuilder<'_, T, C> {
    /// Lets a panic leave an element as it is, as
    /// [`ObjectBuilder::keep_on_panic`](crate::ObjectBuilder::keep_on_panic) does for an object.
    ///
    /// ```
    /// use xtasking::{Runtime, arena::Array};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let counts = Array::plain(&rt).keep_on_panic().build(10, |_| 0);
    /// let failed = rt.task(counts.write(3)).submit(|count, _| {
    ///     *count += 1;
    ///     panic!("a bad request");
    /// });
    /// assert!(failed.join().is_err() && !counts.is_poisoned(3));
    /// assert_eq!(rt.task(counts.read(3)).submit(|count, _| *count).join()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_on_panic(mut self) -> Self
    where
        C: WrittenInPlace,
    {
        self.is_kept_on_panic = true;
        self
    }
}

/// Ends the process: there is no memory for the elements that a caller needs.
#[cold]
pub(super) fn out_of_memory<C>(elements: usize) -> ! {
    let layout = Layout::array::<Cell<C>>(elements);
    handle_alloc_error(layout.unwrap_or(Layout::new::<Cell<C>>()))
}
