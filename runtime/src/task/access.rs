//! Which objects a task touches, and how: what `read()` and `write()` give, and what its body gets for it.

use super::bare;
use super::many;
use super::once::{self, Closure};
use super::{Sink, builder::Order};
use crate::annotation::Part;
use crate::object::{
    Cell, Class, Fetch, Link, Plain, Reference, Shared, Snapshot, Version, Versioned, WriteToken,
};
use crate::scheduler::Context;
use crate::task::Spawner;
use core::any::type_name;
use core::marker::PhantomData;
use core::ops::Deref;

/// How the runtime hands an object of one class to a task, in one mode.
///
/// # Safety
///
/// `view` gives out no more than the class allows to one who has entered the object in this mode.
pub unsafe trait Grant: 'static + sealed::Sealed {
    /// The object's class.
    type Class: Class;
    /// A private copy, where the class works on copies.
    type Local;
    /// What the body gets.
    type View<'v>;
    /// Whether the task writes.
    const WRITE: bool;
    /// Whether a panic may leave the object half-written.
    const IN_PLACE: bool;
    /// Whether one task with this access alone reads without entering (and may have to try again).
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
    ($($mode:ident $class:ident<$t:ident: $($bound:path),+>: $view:ty, write $write:literal, in place $place:literal,
        |$value:ident| $body:expr;)+) => {$(
        // SAFETY: the task has entered the object in this mode, so the reference is as exclusive as the mode says.
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
                // SAFETY: the caller has entered the object in this mode.
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
        |value| Written { target: &value.0, token: WriteToken::assume() };
}

// SAFETY: the view is of a private copy.
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

// SAFETY: the view is of a private copy; it is published by the only writer.
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

/// A versioned object held for writing: readers may be looking, so there is no `&mut`, but a token to set its words
/// with.
pub struct Written<'v, T> {
    target: &'v T,
    token: WriteToken<'v>,
}

impl<T> Written<'_, T> {
    /// The proof without which a [`Word`](crate::Word) cannot be set.
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

/// One object of a task, with its mode and the part that the task will touch.
pub trait Access: sealed::Sealed {
    /// How the runtime hands the object out.
    type Grant: Grant;
    #[doc(hidden)]
    fn order(&self) -> Target;
}

/// An object of a task as the runtime sees it.
#[derive(Clone, Copy)]
pub struct Target {
    pub(crate) reference: Reference,
    pub(crate) part: Part,
    pub(crate) write: bool,
    /// The address of the runtime that the object belongs to; 0 for a node, whose arena's user answers for it.
    pub(crate) runtime: usize,
}

impl Target {
    /// # Panics
    ///
    /// If the object belongs to another runtime than the spawner: nothing would keep their tasks apart.
    #[inline(always)]
    pub(crate) fn check(&self, shared: &alloc::sync::Arc<crate::scheduler::Shared>) {
        assert!(
            self.runtime == 0 || self.runtime == alloc::sync::Arc::as_ptr(shared).addr(),
            "an object is used by a task of another runtime"
        );
    }

    pub(crate) fn fetch(&self) -> Fetch {
        self.reference.fetch(self.part)
    }
}

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident grants $mode:ident, write $write:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'a, C: Class> {
            reference: Reference,
            part: Part,
            runtime: usize,
            object: PhantomData<&'a C>,
        }

        impl<C: Class> $name<'_, C> {
            pub(crate) fn new(reference: Reference, part: Part, runtime: usize) -> Self {
                Self { reference, part, runtime, object: PhantomData }
            }

            /// Names the part of the object that the task will touch; only this is fetched ahead.
            #[must_use]
            pub fn part(mut self, part: Part) -> Self {
                self.part = part;
                self
            }
        }

        impl<C: Class> sealed::Sealed for $name<'_, C> {}

        impl<C: Class> Access for $name<'_, C>
        where
            $mode<C>: Grant<Class = C>,
        {
            type Grant = $mode<C>;
            fn order(&self) -> Target {
                Target { reference: self.reference, part: self.part, write: $write, runtime: self.runtime }
            }
        }

        single!(['a, C: Class], $name<'a, C>, [$mode<C>: Grant<Class = C>]);
    )+};
}

macro_rules! single {
    ([$($generics:tt)*], $access:ty, [$($bound:tt)*]) => {
        impl<$($generics)*> AccessSet for $access where $($bound)* {
            type View<'v> = <<Self as Access>::Grant as Grant>::View<'v>;

            #[inline(always)]
            fn launch<P, F, K, R>(self, order: Order<P>, body: F, sink: K)
            where
                P: Spawner,
                F: for<'v> FnOnce(Self::View<'v>, &mut Context) -> R + Send + 'static,
                K: Sink<R>,
                R: 'static,
            {
                let body = Closure { run: body, grant: PhantomData::<<Self as Access>::Grant> };
                once::launch(order, self.order(), body, sink);
            }
        }
    };
}

modes! {
    /// Reads an object; made by [`Object::read`](crate::Object::read).
    Read grants Reads, write false;
    /// Writes an object; made by [`Object::write`](crate::Object::write).
    Write grants Writes, write true;
}

/// Reads a node of a data structure; made by [`Link::read`].
#[derive(Clone, Copy)]
pub struct ReadLink<T>(pub(crate) Link<T>, pub(crate) Part);
/// Writes a node of a data structure; made by [`Link::write`].
#[derive(Clone, Copy)]
pub struct WriteLink<T>(pub(crate) Link<T>, pub(crate) Part);

macro_rules! links {
    ($($name:ident grants $mode:ident, write $write:literal;)+) => {$(
        impl<T> $name<T> {
            /// Names the part of the object that the task will touch; only this is fetched ahead.
            #[must_use]
            #[inline(always)]
            pub fn part(mut self, part: Part) -> Self {
                self.1 = part;
                self
            }
        }
        impl<T> sealed::Sealed for $name<T> {}
        impl<T: Version> Access for $name<T> {
            type Grant = $mode<Versioned<T>>;
            #[inline(always)]
            fn order(&self) -> Target {
                Target { reference: self.0.reference(), part: self.1, write: $write, runtime: 0 }
            }
        }
        single!([T: Version], $name<T>, []);
    )+};
}

links! {
    ReadLink grants Reads, write false;
    WriteLink grants Writes, write true;
}

/// All the objects of a task: none `()`, one, or a tuple of up to six.
///
/// A task gets all its objects at once. Naming the same object twice panics at the spawn, unless both only read.
///
/// While it waits for sequenced objects, a task with several objects stands in line as one of normal priority, whatever
/// its own is: so it keeps its order with tasks of normal priority on the same objects.
pub trait AccessSet {
    /// What the task's body gets.
    type View<'v>;
    #[doc(hidden)]
    fn launch<P, F, K, R>(self, order: Order<P>, body: F, sink: K)
    where
        P: Spawner,
        F: for<'v> FnOnce(Self::View<'v>, &mut Context) -> R + Send + 'static,
        K: Sink<R>,
        R: 'static;
}

impl AccessSet for () {
    type View<'v> = ();

    #[inline(always)]
    fn launch<P, F, K, R>(self, order: Order<P>, body: F, sink: K)
    where
        P: Spawner,
        F: for<'v> FnOnce((), &mut Context) -> R + Send + 'static,
        K: Sink<R>,
        R: 'static,
    {
        bare::launch(order, body, sink);
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident $index:tt),+;)+) => {$(
        // SAFETY: each part of the view is what its own grant gives, and `many` has entered all of them.
        unsafe impl<$($name: Grant),+> many::Grants<$count> for ($($name,)+) {
            type View<'v> = ($($name::View<'v>,)+);
            type Locals = ($($name::Local,)+);
            const IN_PLACE: [bool; $count] = [$($name::IN_PLACE),+];

            fn data() -> [&'static str; $count] {
                [$(type_name::<<$name::Class as Class>::Target>()),+]
            }

            unsafe fn copy(targets: &[Target; $count]) -> Self::Locals {
                // SAFETY: the caller keeps the objects alive.
                unsafe { ($($name::copy(&(*targets[$index].reference.cell::<$name::Class>()).value),)+) }
            }

            unsafe fn view<'v>(targets: &[Target; $count], locals: &'v mut Self::Locals) -> Self::View<'v> {
                // SAFETY: the caller has entered the objects, each in its own mode, and they are all different
                // (or only read).
                unsafe {
                    ($($name::view(&(*targets[$index].reference.cell::<$name::Class>()).value, &mut locals.$index),)+)
                }
            }

            unsafe fn publish(targets: &[Target; $count], locals: Self::Locals) {
                // SAFETY: the caller keeps the objects alive.
                unsafe {
                    $($name::publish(&(*targets[$index].reference.cell::<$name::Class>()).value, locals.$index);)+
                }
            }
        }

        impl<$($name: Access),+> AccessSet for ($($name,)+) {
            type View<'v> = <($($name::Grant,)+) as many::Grants<$count>>::View<'v>;

            fn launch<P, F, K, R>(self, order: Order<P>, body: F, sink: K)
            where
                P: Spawner,
                F: for<'v> FnOnce(Self::View<'v>, &mut Context) -> R + Send + 'static,
                K: Sink<R>,
                R: 'static,
            {
                let targets: [Target; $count] = [$(self.$index.order()),+];
                many::launch::<($($name::Grant,)+), $count, _, _, _, _>(order, targets, body, sink);
            }
        }
    )+};
}

/// The most objects of one task.
pub(crate) const MOST_OBJECTS: usize = 6;

tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F_ 5;
}

/// The value of a cell that is alive.
///
/// # Safety
///
/// The object is alive for `'a` and of class `C`.
#[inline(always)]
pub(crate) unsafe fn value_of<'a, C>(reference: Reference) -> &'a C {
    // SAFETY: alive and of this class, by the caller's promise.
    unsafe { &(*reference.cell::<C>().cast::<Cell<C>>()).value }
}

mod sealed {
    pub trait Sealed {}
    impl<C> Sealed for super::Reads<C> {}
    impl<C> Sealed for super::Writes<C> {}
}
