//! Lists of accesses: tasks whose number of objects is known only at run time.

use super::access::{Access, AccessSet, ObjectAccess, Read, ReadLink, Write, WriteLink, value_of};
use super::grant::{Grant, Reads, Writes, sealed};
use super::multi_object::{self, AccessList, ObjectGrants};
use super::{Sink, call, call::InPlace, options::SpawnRequest, spawner::sealed::Spawn};
use crate::limit::Limit;
use crate::object::{Class, Version, Versioned};
use crate::scheduler::{Context, RuntimeState};
use alloc::{sync::Arc, vec::Vec};
use core::any::type_name;
use core::marker::PhantomData;
use core::ops::Deref;

/// An access that lists consist of: any [`Access`], or a [`ReadOrWrite`] or [`ReadOrWriteLink`].
pub trait ListAccess: sealed::Sealed {
    #[doc(hidden)]
    type Grant: ListGrant;
    #[doc(hidden)]
    fn listed(&self) -> ObjectAccess;
    /// Returns the limit of the object's tasks.
    #[doc(hidden)]
    fn listed_limit(&self) -> Option<&Limit>;
}

/// How the runtime hands one object of a list to a task.
///
/// # Safety
///
/// As for [`Grant`].
#[doc(hidden)]
pub unsafe trait ListGrant: 'static {
    type View<'v>;
    type Local;
    fn is_in_place(target: &ObjectAccess) -> bool;
    fn data() -> &'static str;
    /// # Safety
    ///
    /// The object is alive.
    unsafe fn copy_of(target: &ObjectAccess) -> Self::Local;
    /// # Safety
    ///
    /// The object is alive, and the task has entered it in the mode of the target, for `'v`.
    unsafe fn view_of<'v>(target: &ObjectAccess, local: &'v mut Self::Local) -> Self::View<'v>;
    /// # Safety
    ///
    /// The object is alive.
    unsafe fn publish_to(target: &ObjectAccess, local: Self::Local);
}

impl<A: Access> ListAccess for A {
    type Grant = A::Grant;
    fn listed(&self) -> ObjectAccess {
        self.object_access()
    }
    fn listed_limit(&self) -> Option<&Limit> {
        self.limit()
    }
}

// SAFETY: all of it is the grant's own. The access that was listed fixes class and mode.
unsafe impl<G: Grant> ListGrant for G {
    type View<'v> = G::View<'v>;
    type Local = G::Local;
    fn is_in_place(_: &ObjectAccess) -> bool {
        G::IN_PLACE
    }
    fn data() -> &'static str {
        type_name::<<G::Class as Class>::Target>()
    }
    unsafe fn copy_of(target: &ObjectAccess) -> G::Local {
        // SAFETY: alive by this function's contract.
        G::copy(unsafe { value_of(target.reference) })
    }
    unsafe fn view_of<'v>(target: &ObjectAccess, local: &'v mut G::Local) -> G::View<'v> {
        // SAFETY: this function's contract.
        unsafe { G::view(value_of(target.reference), local) }
    }
    unsafe fn publish_to(target: &ObjectAccess, local: G::Local) {
        // SAFETY: alive by this function's contract.
        G::publish(unsafe { value_of(target.reference) }, local);
    }
}

macro_rules! read_or_write {
    ($(#[$doc:meta])* $name:ident<$($lifetime:lifetime,)? $t:ident: $bound:ident>,
        $read:ty, $write:ty, $class:ty;) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub enum $name<$($lifetime,)? $t: $bound> {
            /// Reads the object.
            Read($read),
            /// Writes the object.
            Write($write),
        }

        impl<$($lifetime,)? $t: $bound> From<$read> for $name<$($lifetime,)? $t> {
            fn from(read: $read) -> Self {
                Self::Read(read)
            }
        }

        impl<$($lifetime,)? $t: $bound> From<$write> for $name<$($lifetime,)? $t> {
            fn from(write: $write) -> Self {
                Self::Write(write)
            }
        }

        impl<$($lifetime,)? $t: $bound> sealed::Sealed for $name<$($lifetime,)? $t> {}

        impl<$($lifetime,)? $t: $bound> ListAccess for $name<$($lifetime,)? $t>
        where
            Reads<$class>: Grant<Class = $class>,
            Writes<$class>: Grant<Class = $class>,
        {
            type Grant = ReadsOrWrites<$class>;
            fn listed(&self) -> ObjectAccess {
                match self {
                    Self::Read(read) => read.listed(),
                    Self::Write(write) => write.listed(),
                }
            }
            fn listed_limit(&self) -> Option<&Limit> {
                match self {
                    Self::Read(read) => read.listed_limit(),
                    Self::Write(write) => write.listed_limit(),
                }
            }
        }
    };
}

read_or_write! {
    /// Reads or writes an object: for lists that do both. Made of a [`Read`] or [`Write`] by
    /// `From`; the body gets a [`ReadOrWriteView`].
    ReadOrWrite<'a, C: Class>, Read<'a, C>, Write<'a, C>, C;
}
read_or_write! {
    /// Reads or writes a node of a data structure: for lists that do both. Made of a
    /// [`ReadLink`](crate::arena::ReadLink) or [`WriteLink`](crate::arena::WriteLink) by `From`;
    /// the body gets a [`ReadOrWriteView`].
    ReadOrWriteLink<T: Version>, ReadLink<T>, WriteLink<T>, Versioned<T>;
}

/// What the body gets of an object that it reads or writes. It dereferences to the data in both
/// cases.
pub enum ReadOrWriteView<R, W> {
    /// The object is read.
    Read(R),
    /// The object is written.
    Write(W),
}

impl<R, W> ReadOrWriteView<R, W> {
    /// Returns the writer's view, if the object is written.
    pub fn writer(&mut self) -> Option<&mut W> {
        match self {
            Self::Read(_) => None,
            Self::Write(view) => Some(view),
        }
    }
}

impl<R: Deref, W: Deref<Target = R::Target>> Deref for ReadOrWriteView<R, W> {
    type Target = R::Target;
    fn deref(&self) -> &R::Target {
        match self {
            Self::Read(view) => view,
            Self::Write(view) => view,
        }
    }
}

/// Access to objects of class `C`, in a mode that each access has.
pub struct ReadsOrWrites<C>(PhantomData<C>);

// SAFETY: each mode is that of its own grant, and the target says in which mode the task has
// entered the object.
unsafe impl<C: Class> ListGrant for ReadsOrWrites<C>
where
    Reads<C>: Grant<Class = C>,
    Writes<C>: Grant<Class = C>,
{
    type View<'v> = ReadOrWriteView<<Reads<C> as Grant>::View<'v>, <Writes<C> as Grant>::View<'v>>;
    type Local = ReadOrWriteView<<Reads<C> as Grant>::Local, <Writes<C> as Grant>::Local>;

    fn is_in_place(target: &ObjectAccess) -> bool {
        if target.write { Writes::<C>::IN_PLACE } else { Reads::<C>::IN_PLACE }
    }

    fn data() -> &'static str {
        type_name::<C::Target>()
    }

    unsafe fn copy_of(target: &ObjectAccess) -> Self::Local {
        // SAFETY: this function's contract.
        unsafe {
            if target.write {
                ReadOrWriteView::Write(Writes::<C>::copy_of(target))
            } else {
                ReadOrWriteView::Read(Reads::<C>::copy_of(target))
            }
        }
    }

    unsafe fn view_of<'v>(target: &ObjectAccess, local: &'v mut Self::Local) -> Self::View<'v> {
        // SAFETY: this function's contract. The local is of the target's mode, as `copy` made it.
        unsafe {
            match local {
                ReadOrWriteView::Read(local) => ReadOrWriteView::Read(Reads::<C>::view_of(target, local)),
                ReadOrWriteView::Write(local) => ReadOrWriteView::Write(Writes::<C>::view_of(target, local)),
            }
        }
    }

    unsafe fn publish_to(target: &ObjectAccess, local: Self::Local) {
        if let ReadOrWriteView::Write(local) = local {
            // SAFETY: this function's contract.
            unsafe { Writes::<C>::publish_to(target, local) };
        }
    }
}

/// Access to all objects of a list.
pub struct ListOf<G>(PhantomData<G>);

// SAFETY: each part of the view comes from its own grant.
unsafe impl<G: ListGrant> ObjectGrants for ListOf<G> {
    type List = AccessList;
    type View<'v> = Vec<G::View<'v>>;
    type Locals = Vec<G::Local>;

    fn is_in_place(_: usize, target: &ObjectAccess) -> bool {
        G::is_in_place(target)
    }

    fn data(_: usize) -> &'static str {
        G::data()
    }

    unsafe fn copy(targets: &[ObjectAccess]) -> Self::Locals {
        // SAFETY: this function's contract.
        targets.iter().map(|target| unsafe { G::copy_of(target) }).collect()
    }

    unsafe fn view<'v>(targets: &[ObjectAccess], locals: &'v mut Self::Locals) -> Self::View<'v> {
        // SAFETY: this function's contract: each object is entered in its own mode; they are
        // different, or only read.
        targets.iter().zip(locals).map(|(target, local)| unsafe { G::view_of(target, local) }).collect()
    }

    unsafe fn publish(targets: &[ObjectAccess], locals: Self::Locals) {
        // SAFETY: this function's contract.
        targets.iter().zip(locals).for_each(|(target, local)| unsafe { G::publish_to(target, local) });
    }
}

macro_rules! lists {
    ($($list:ty),+) => {$(
        impl<A: ListAccess> AccessSet for $list {
            type View<'v> = Vec<<A::Grant as ListGrant>::View<'v>>;

            fn launch<P: Spawn, F, K: Sink<R>, R: 'static>(self, request: SpawnRequest<P>, body: F, sink: K)
            where
                F: for<'v> FnOnce(Self::View<'v>, &mut Context) -> R + Send + 'static,
            {
                let list = AccessList::new(self.iter().map(A::listed).collect());
                multi_object::launch::<ListOf<A::Grant>, _, _, _, _>(request, list, body, sink);
            }

            fn call_in_place<F, R>(&self, shared: &Arc<RuntimeState>, cost: u16, body: F) -> InPlace<R, F>
            where
                F: for<'v> FnOnce(Self::View<'v>) -> R,
            {
                let list = AccessList::new(self.iter().map(A::listed).collect());
                call::call_in_place::<ListOf<A::Grant>, F, R>(shared, &list, cost, body)
            }

            fn limits(&self, limits: &mut Vec<Limit>) {
                limits.extend(self.iter().filter_map(A::listed_limit).cloned());
            }
        }
    )+};
}

lists!(Vec<A>, &[A], &Vec<A>);
