//! Which objects a task accesses, and how: the types that `read()` and `write()` return.

use super::grant::{Grant, Reads, Writes, sealed};
use super::multi_object::{self, FixedList, ObjectGrants};
use super::single_object::{self, ClosureBody};
use super::{Sink, call, call::InPlace, options::SpawnRequest, spawner::sealed::Spawn, unbound};
use crate::annotation::Part;
use crate::limit::Limit;
use crate::object::{Cell, Class, Fetch, Link, Reference, Version, Versioned, WrittenInPlace, limit_of};
use crate::scheduler::{Context, RuntimeState};
use alloc::{sync::Arc, vec::Vec};
use core::{any::type_name, marker::PhantomData};

/// One object of a task, with its mode and the part that the task will touch.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an access",
    note = "call its `.read()` or `.write()`"
)]
pub trait Access: sealed::Sealed {
    /// What the body gets of the object.
    type Grant: Grant;
    #[doc(hidden)]
    fn object_access(&self) -> ObjectAccess;
    /// Returns the limit of the object's tasks.
    #[doc(hidden)]
    fn limit(&self) -> Option<&Limit> {
        None
    }
}

/// An access without its types: object, part, mode and runtime.
#[derive(Clone, Copy)]
pub struct ObjectAccess {
    pub(crate) reference: Reference,
    pub(crate) part: Part,
    pub(crate) write: bool,
    /// The address of the object's runtime; 0 for a node, because a link does not know its runtime.
    pub(crate) runtime: usize,
}

impl ObjectAccess {
    /// Checks that the object belongs to the spawner's runtime: only tasks of one runtime are
    /// isolated from each other.
    ///
    /// # Panics
    ///
    /// If it belongs to another one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn check(&self, shared: &Arc<RuntimeState>) {
        assert!(
            self.runtime == 0 || self.runtime == Arc::as_ptr(shared).addr(),
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
            is_bounded: bool,
            object: PhantomData<&'a C>,
        }

        impl<C: Class> $name<'_, C> {
            /// Creates the access to an element of an array.
            pub(crate) fn new(reference: Reference, part: Part, runtime: usize) -> Self {
                Self { reference, part, runtime, is_bounded: false, object: PhantomData }
            }

            /// Creates the access to the object of a handle, which the access borrows.
            #[inline]
            pub(crate) fn of_object(
                reference: Reference,
                part: Part,
                runtime: usize,
                is_bounded: bool,
            ) -> Self {
                Self { is_bounded, ..Self::new(reference, part, runtime) }
            }

            /// Names the part of the object that the task will touch; only this part is prefetched.
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
            fn object_access(&self) -> ObjectAccess {
                let &Self { reference, part, runtime, .. } = self;
                ObjectAccess { reference, part, write: $write, runtime }
            }
            fn limit(&self) -> Option<&Limit> {
                // SAFETY: the access borrows a handle of the object: `of_object` alone sets
                // `is_bounded`.
                self.is_bounded.then(|| unsafe { limit_of::<C>(self.reference) }).flatten()
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
            fn launch<P: Spawn, F, K: Sink<R>, R: 'static>(self, request: SpawnRequest<P>, body: F, sink: K)
            where
                F: for<'v> FnOnce(Self::View<'v>, &mut Context) -> R + Send + 'static,
            {
                let body = ClosureBody { run: body, grant: PhantomData::<<Self as Access>::Grant> };
                single_object::launch(request, self.object_access(), body, sink);
            }

            fn call_in_place<F, R>(&self, shared: &Arc<RuntimeState>, cost: u16, body: F) -> InPlace<R, F>
            where
                F: for<'v> FnOnce(Self::View<'v>) -> R,
            {
                call::call_with_one::<<Self as Access>::Grant, F, R>(shared, self.object_access(), cost, body)
            }

            fn limits(&self, limits: &mut Vec<Limit>) {
                limits.extend(self.limit().cloned());
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

impl<C: WrittenInPlace> Write<'_, C> {
    /// Lets the task enter the object even if it is poisoned, to mend it. If the body returns, the
    /// poison is cleared; if it panics, the object stays poisoned.
    ///
    /// ```
    /// use xtasking::{JoinError, Runtime};
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let halves = rt.plain((0, 0)).build();
    /// let failed = rt.task(halves.write()).submit(|halves, _| {
    ///     halves.0 += 1;
    ///     panic!("half-way");
    /// });
    /// assert!(failed.join().is_err() && halves.is_poisoned());
    /// rt.task(halves.write().even_poisoned()).submit(|halves, _| halves.1 = halves.0).join()?;
    /// assert!(rt.task(halves.read()).submit(|halves, _| *halves == (1, 1)).join()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn even_poisoned(mut self) -> Self {
        self.reference = self.reference.even_poisoned();
        self
    }
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
            /// Names the part of the node that the task will touch; only this part is prefetched.
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
            fn object_access(&self) -> ObjectAccess {
                ObjectAccess { reference: self.0.reference(), part: self.1, write: $write, runtime: 0 }
            }
        }
        single!([T: Version], $name<T>, []);
    )+};
}

links! {
    ReadLink grants Reads, write false;
    WriteLink grants Writes, write true;
}

/// The objects of a task: none `()`, one access, a tuple of up to six, or a list.
///
/// A task gets all its objects at once. To name an object twice in a tuple panics at the spawn,
/// unless both accesses read.
///
/// While it waits for sequenced objects, a task with several objects queues with normal priority,
/// whatever its own is. So it keeps its order with tasks of normal priority on the same objects.
///
/// # Lists
///
/// Where the number of objects is known only at run time, a `Vec` or slice of accesses of one type
/// names them. The body gets a `Vec` of what it would get of each, in the same order. It is empty
/// if the list is.
///
/// ```
/// use xtasking::{JoinError, Runtime};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let accounts: Vec<_> = (0..10).map(|_| rt.plain(100).build()).collect();
/// let even: Vec<_> = accounts.iter().step_by(2).map(|account| account.write()).collect();
/// let shared_out = rt.task(even).submit(|mut accounts, _cx| {
///     let total: i32 = accounts.iter().map(|account| **account).sum();
///     let share = total / accounts.len() as i32;
///     accounts.iter_mut().for_each(|account| **account = share);
///     share
/// });
/// assert_eq!(shared_out.join()?, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// If some of the accesses read and others write, they are [`ReadOrWrite`](super::ReadOrWrite), or
/// [`ReadOrWriteLink`](super::ReadOrWriteLink) for nodes:
///
/// ```
/// use xtasking::Runtime;
/// use xtasking::task::ReadOrWrite;
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let cells: Vec<_> = (0..10).map(|number| rt.plain(number).build()).collect();
/// let all = cells.iter().enumerate().map(|(at, cell)| match at {
///     0 => ReadOrWrite::from(cell.write()),
///     _ => cell.read().into(),
/// });
/// let sum = rt.task(all.collect::<Vec<_>>()).submit(|mut cells, _cx| {
///     let sum: i32 = cells.iter().map(|cell| **cell).sum();
///     **cells[0].writer().expect("the first one is written") = sum;
///     sum
/// });
/// assert_eq!(sum.join()?, 45);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A list that names an object twice, and writes it, makes the task fail with
/// [`JoinError::NamedTwice`](crate::JoinError::NamedTwice). A task allocates some memory for each
/// object of a list; a tuple does so only for sequenced ones.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a task can access",
    note = "call its `.read()` or `.write()`; a tuple has up to six of these, a list any number"
)]
pub trait AccessSet {
    /// What the task's body gets.
    type View<'v>;
    #[doc(hidden)]
    fn launch<P: Spawn, F, K: Sink<R>, R: 'static>(self, request: SpawnRequest<P>, body: F, sink: K)
    where
        F: for<'v> FnOnce(Self::View<'v>, &mut Context) -> R + Send + 'static;
    /// Runs a body on the calling thread, unless it has to be a task.
    #[doc(hidden)]
    fn call_in_place<F, R>(&self, shared: &Arc<RuntimeState>, cost: u16, body: F) -> InPlace<R, F>
    where
        F: for<'v> FnOnce(Self::View<'v>) -> R;
    /// Appends the limits of the objects.
    #[doc(hidden)]
    fn limits(&self, limits: &mut Vec<Limit>);
}

impl AccessSet for () {
    type View<'v> = ();

    #[inline(always)]
    fn launch<P: Spawn, F, K: Sink<R>, R: 'static>(self, request: SpawnRequest<P>, body: F, sink: K)
    where
        F: for<'v> FnOnce((), &mut Context) -> R + Send + 'static,
    {
        unbound::launch(request, body, sink);
    }

    fn call_in_place<F, R>(&self, _: &Arc<RuntimeState>, _: u16, body: F) -> InPlace<R, F>
    where
        F: for<'v> FnOnce(()) -> R,
    {
        InPlace::Busy(body)
    }

    fn limits(&self, _: &mut Vec<Limit>) {}
}

macro_rules! tuples {
    ($($count:literal: $($name:ident $index:tt),+;)+) => {$(
        // SAFETY: each part of the view comes from its own grant, and `ObjectSet::enter` has
        // entered every object.
        unsafe impl<$($name: Grant),+> ObjectGrants for ($($name,)+) {
            type List = FixedList<$count>;
            type View<'v> = ($($name::View<'v>,)+);
            type Locals = ($($name::Local,)+);

            fn is_in_place(number: usize, _: &ObjectAccess) -> bool {
                [$($name::IN_PLACE),+][number]
            }

            fn data(number: usize) -> &'static str {
                [$(type_name::<<$name::Class as Class>::Target>()),+][number]
            }

            unsafe fn copy(targets: &[ObjectAccess]) -> Self::Locals {
                // SAFETY: the objects are alive by this function's contract.
                unsafe { ($($name::copy(value_of::<$name::Class>(targets[$index].reference)),)+) }
            }

            unsafe fn view<'v>(targets: &[ObjectAccess], locals: &'v mut Self::Locals) -> Self::View<'v> {
                // SAFETY: this function's contract: each object is entered in its own mode; they
                // are different, or only read.
                unsafe {
                    ($($name::view(
                        value_of::<$name::Class>(targets[$index].reference),
                        &mut locals.$index,
                    ),)+)
                }
            }

            unsafe fn publish(targets: &[ObjectAccess], locals: Self::Locals) {
                // SAFETY: the objects are alive by this function's contract.
                unsafe {
                    $($name::publish(value_of::<$name::Class>(targets[$index].reference), locals.$index);)+
                }
            }
        }

        impl<$($name: Access),+> AccessSet for ($($name,)+) {
            type View<'v> = <($($name::Grant,)+) as ObjectGrants>::View<'v>;

            fn launch<P: Spawn, F, K: Sink<R>, R: 'static>(self, request: SpawnRequest<P>, body: F, sink: K)
            where
                F: for<'v> FnOnce(Self::View<'v>, &mut Context) -> R + Send + 'static,
            {
                let list = FixedList::new([$(self.$index.object_access()),+]);
                multi_object::launch::<($($name::Grant,)+), _, _, _, _>(request, list, body, sink);
            }

            fn call_in_place<F, R>(&self, shared: &Arc<RuntimeState>, cost: u16, body: F) -> InPlace<R, F>
            where
                F: for<'v> FnOnce(Self::View<'v>) -> R,
            {
                let list = FixedList::new([$(self.$index.object_access()),+]);
                call::call_in_place::<($($name::Grant,)+), F, R>(shared, &list, cost, body)
            }

            fn limits(&self, limits: &mut Vec<Limit>) {
                $(limits.extend(self.$index.limit().cloned());)+
            }
        }
    )+};
}

/// The largest number of objects of a tuple.
pub(crate) const MOST_OBJECTS: usize = 6;

tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F_ 5;
}

/// Returns the value of an object.
///
/// # Safety
///
/// The object is alive for `'a` and of class `C`.
#[inline(always)]
pub(crate) unsafe fn value_of<'a, C>(reference: Reference) -> &'a C {
    // SAFETY: alive and of this class by this function's contract.
    unsafe { &(*reference.cell::<C>().cast::<Cell<C>>()).value }
}
