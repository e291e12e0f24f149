//! Object classes: the kind of data in an object determines, at compile time, what tasks may do
//! with it.
//!
//! | class | bound on `T` | reader gets | writer gets |
//! |---|---|---|---|
//! | [`Plain`] | `Send` | `&T`, alone | `&mut T` |
//! | [`Shared`] | `Send + Sync` | `&T`, beside other readers | `&mut T` |
//! | [`Snapshot`] | [`bytemuck::Pod`] | `&T` of a valid copy | `&mut T` of a copy, then published |
//! | [`Versioned`] | [`Version`] | `&T`, maybe torn, re-executable | `&T` and a write token |

use super::primitive::Isolation;
use crate::sync::{AtomicU64, Relaxed};
use core::cell::UnsafeCell;
use core::mem::{MaybeUninit, size_of};

/// A class with its data: the layout of the data in an object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a class of objects",
    label = "not a class with suitable data",
    note = "classes are `Plain<T>` where `T: Send`, `Shared<T>` where `T: Send + Sync`",
    note = "and `Snapshot<T>` where `T: bytemuck::Pod`, `Versioned<T>` where `T: Version`"
)]
pub trait Class: Send + Sync + Sized + 'static + sealed::Sealed {
    /// The data.
    type Target: 'static;
    /// Which tasks may access the data at once, unless the object's annotation is stricter.
    const ISOLATION: Isolation;
    /// Whether links may lead to objects of this class.
    #[doc(hidden)]
    const HAS_LINKS: bool = false;
    /// Wraps the data of a new object.
    fn new(value: Self::Target) -> Self;
}

/// A class whose writers change the data themselves, and no copy: a panic may leave them
/// half-written.
#[diagnostic::on_unimplemented(
    message = "no panic leaves `{Self}` half-written",
    label = "its writers change a copy",
    note = "leave out `keep_on_panic`: a panic in a writer of a snapshot changes nothing, and poisons nothing"
)]
pub trait WrittenInPlace: Class {}

impl<T: Send + 'static> WrittenInPlace for Plain<T> {}
impl<T: Send + Sync + 'static> WrittenInPlace for Shared<T> {}
impl<T: Version> WrittenInPlace for Versioned<T> {}

/// Data of any kind: one task at a time, reading or writing.
pub struct Plain<T>(pub(crate) UnsafeCell<T>);

// SAFETY: the runtime lets one task at a time access the data, so it only moves between threads.
unsafe impl<T: Send> Sync for Plain<T> {}

impl<T: Send + 'static> Class for Plain<T> {
    type Target = T;
    const ISOLATION: Isolation = Isolation::Exclusive;
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

/// Data that several threads may read at once: one writer, or several readers.
pub struct Shared<T>(pub(crate) UnsafeCell<T>);

// SAFETY: the runtime gives out either one `&mut T` or several `&T`, which `T: Send + Sync` allows.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T: Send + Sync + 'static> Class for Shared<T> {
    type Target = T;
    const ISOLATION: Isolation = Isolation::SharedReads;
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

/// Small plain-old data that is read and written as a whole, by copies: readers never wait, and
/// never see half a write. It is copied by 64-bit words, so its size must be a multiple of 8 bytes
/// (checked at compile time).
#[repr(C, align(8))]
pub struct Snapshot<T>(UnsafeCell<T>);

// SAFETY: all accesses after construction are atomic, word by word (`load`, `store`).
unsafe impl<T: Send> Sync for Snapshot<T> {}

/// Data of a snapshot: every `bytemuck::Pod` that is `Send`, with no need to implement it.
///
/// It says what to do where a type is not such data, which `Pod` does not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the data of a snapshot",
    label = "not plain data",
    note = "a snapshot is copied word by word: every bit pattern must be a valid value, without padding",
    note = "derive `bytemuck::Pod` and `bytemuck::Zeroable` for a struct of numbers",
    note = "for other data use `Runtime::shared_reads`, or `Runtime::versioned`"
)]
pub trait SnapshotData: bytemuck::Pod + Send {}

#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod + Send> SnapshotData for T {}

impl<T: bytemuck::Pod + Send> Class for Snapshot<T> {
    type Target = T;
    const ISOLATION: Isolation = Isolation::OptimisticReads;
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

impl<T: bytemuck::Pod> Snapshot<T> {
    const WORDS: usize = {
        assert!(size_of::<T>().is_multiple_of(8), "a snapshot's size is a multiple of 8 bytes: pad it");
        size_of::<T>() / 8
    };

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: `Self` is aligned to 8 bytes and `WORDS` words long without padding (`Pod`).
        // After construction only atomic accesses are made, through this slice.
        unsafe { core::slice::from_raw_parts(self.0.get().cast::<AtomicU64>(), Self::WORDS) }
    }

    /// Copies the data. The copy may be torn, which the version reveals.
    #[inline]
    pub(crate) fn load(&self) -> T {
        let mut copy = MaybeUninit::<T>::uninit();
        for (index, word) in self.words().iter().enumerate() {
            // SAFETY: `T` is `WORDS` words long; it may be aligned to less than a word.
            unsafe { copy.as_mut_ptr().cast::<u64>().add(index).write_unaligned(word.load(Relaxed)) };
        }
        // SAFETY: every byte was written, and any bytes are a valid `T: Pod`.
        unsafe { copy.assume_init() }
    }

    /// Publishes a copy. The caller must have made the version odd.
    #[inline]
    pub(crate) fn store(&self, copy: &T) {
        for (index, word) in self.words().iter().enumerate() {
            // SAFETY: `T` is `WORDS` words long, all of them initialised (`Pod` has no padding).
            let value = unsafe { core::ptr::from_ref(copy).cast::<u64>().add(index).read_unaligned() };
            word.store(value, Relaxed);
        }
    }
}

/// A data structure's node, read in place while a writer may change it.
pub struct Versioned<T>(pub(crate) T);

impl<T: Version> Class for Versioned<T> {
    type Target = T;
    const ISOLATION: Isolation = Isolation::OptimisticReads;
    const HAS_LINKS: bool = true;
    fn new(value: T) -> Self {
        Self(value)
    }
}

/// Data that may be read while it is written.
///
/// Readers and the writer have a shared reference at the same time. So what changes after the
/// publication of a value can only be what [`Sync`] types let change through such a reference,
/// preferably a [`Word`](crate::Word); the rest never changes. A reader beside a writer may see a
/// mix of old and new words, but no undefined ones.
///
/// What changes without a [`WriteToken`](crate::arena::WriteToken), such as an atomic number that
/// readers add to, is not covered by the version: a reader that sees the change does not read
/// again.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a versioned type",
    label = "may not be read while it is written",
    note = "derive `Version` for a type whose fields are `Word`, `Field` or `OptionalLink`, or never change",
    note = "for other data use `Runtime::plain`, or `Runtime::shared_reads` if readers may overlap"
)]
pub trait Version: Send + Sync + 'static {}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::Plain<T> {}
    impl<T> Sealed for super::Shared<T> {}
    impl<T> Sealed for super::Snapshot<T> {}
    impl<T> Sealed for super::Versioned<T> {}
}
