//! What the body of a task gets of an object: one [`Grant`] for each class and mode.

use crate::object::{Class, Plain, Shared, Snapshot, Version, Versioned, WriteToken};
use core::marker::PhantomData;
use core::ops::Deref;

/// How the runtime hands an object of one class to a task, in one mode.
///
/// # Safety
///
/// For a task that has entered the object in this mode, `view` gives out no more than the class
/// allows.
pub unsafe trait Grant: 'static + sealed::Sealed {
    /// The object's class.
    type Class: Class;
    /// A private copy, for classes that work on copies.
    type Local;
    /// What the body gets.
    type View<'v>;
    /// True if the task writes.
    const WRITE: bool;
    /// True if a panic may leave the object half-written.
    const IN_PLACE: bool;
    /// True if a task with this access alone copies without entering, and retries if a writer
    /// interferes.
    const COPIES: bool;

    #[doc(hidden)]
    fn copy(value: &Self::Class) -> Self::Local;
    /// # Safety
    ///
    /// The task has entered the object in this mode, for `'v`.
    #[doc(hidden)]
    unsafe fn view<'v>(value: &'v Self::Class, local: &'v mut Self::Local) -> Self::View<'v>;
    #[doc(hidden)]
    fn publish(value: &Self::Class, local: Self::Local);
}

/// Read access to objects of class `C`.
pub struct Reads<C>(PhantomData<C>);
/// Write access to objects of class `C`.
pub struct Writes<C>(PhantomData<C>);

macro_rules! grants {
    ($($mode:ident $class:ident<$t:ident: $($bound:path),+>: $view:ty,
        write $write:literal, in place $place:literal,
        |$value:ident| $body:expr;)+) => {$(
        // SAFETY: the caller of `view` has entered the object in this mode, so the reference is as
        // exclusive as the mode requires.
        unsafe impl<$t: $($bound +)+ 'static> Grant for $mode<$class<$t>> {
            type Class = $class<$t>;
            type Local = ();
            type View<'v> = $view;
            const WRITE: bool = $write;
            const IN_PLACE: bool = $place;
            const COPIES: bool = false;
            #[inline(always)]
            fn copy(_: &Self::Class) {}
            #[inline(always)]
            unsafe fn view<'v>($value: &'v Self::Class, (): &'v mut ()) -> Self::View<'v> {
                // SAFETY: this function's contract: the caller has entered the object in this mode.
                #[allow(unused_unsafe, reason = "versioned objects are read in place without it")]
                unsafe { $body }
            }
            #[inline(always)]
            fn publish(_: &Self::Class, (): ()) {}
        }
    )+};
}

grants! {
    Reads Plain<T: Send>: &'v T, write false, in place false, |value| &*value.0.get();
    Writes Plain<T: Send>: &'v mut T, write true, in place true, |value| &mut *value.0.get();
    Reads Shared<T: Send, Sync>: &'v T, write false, in place false, |value| &*value.0.get();
    Writes Shared<T: Send, Sync>: &'v mut T, write true, in place true, |value| &mut *value.0.get();
    Reads Versioned<T: Version>: &'v T, write false, in place false, |value| &value.0;
    Writes Versioned<T: Version>: Written<'v, T>, write true, in place true,
        |value| Written::assume(&value.0);
}

// SAFETY: the view borrows a private copy.
unsafe impl<T: bytemuck::Pod + Send> Grant for Reads<Snapshot<T>> {
    type Class = Snapshot<T>;
    type Local = T;
    type View<'v> = &'v T;
    const WRITE: bool = false;
    const IN_PLACE: bool = false;
    const COPIES: bool = true;
    #[inline(always)]
    fn copy(value: &Self::Class) -> T {
        value.load()
    }
    #[inline(always)]
    unsafe fn view<'v>(_: &'v Self::Class, local: &'v mut T) -> &'v T {
        local
    }
    #[inline(always)]
    fn publish(_: &Self::Class, _: T) {}
}

// SAFETY: the view borrows a private copy, which the only writer publishes.
unsafe impl<T: bytemuck::Pod + Send> Grant for Writes<Snapshot<T>> {
    type Class = Snapshot<T>;
    type Local = T;
    type View<'v> = &'v mut T;
    const WRITE: bool = true;
    const IN_PLACE: bool = false;
    const COPIES: bool = false;
    #[inline(always)]
    fn copy(value: &Self::Class) -> T {
        value.load()
    }
    #[inline(always)]
    unsafe fn view<'v>(_: &'v Self::Class, local: &'v mut T) -> &'v mut T {
        local
    }
    #[inline(always)]
    fn publish(value: &Self::Class, local: T) {
        value.store(&local);
    }
}

/// A versioned object held for writing. Optimistic readers may read it at the same time, so the
/// body gets no `&mut`, but a token to set the object's words with.
pub struct Written<'v, T> {
    target: &'v T,
    token: WriteToken<'v>,
}

impl<'v, T> Written<'v, T> {
    /// # Safety
    ///
    /// The running task has entered the object for writing, for `'v`.
    #[inline(always)]
    pub(crate) unsafe fn assume(target: &'v T) -> Self {
        // SAFETY: this function's contract.
        Self { target, token: unsafe { WriteToken::assume() } }
    }
}

impl<T> Written<'_, T> {
    /// Returns the token that setting a [`Word`](crate::Word) requires.
    pub fn token(&self) -> &WriteToken<'_> {
        &self.token
    }
}

impl<T> Deref for Written<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.target
    }
}

pub(super) mod sealed {
    pub trait Sealed {}
    impl<C> Sealed for super::Reads<C> {}
    impl<C> Sealed for super::Writes<C> {}
}
