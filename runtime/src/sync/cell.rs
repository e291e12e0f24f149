//! A cell whose accesses a model checker can see, so that the rule which keeps them apart is
//! checked and not only stated.

/// A [`core::cell::UnsafeCell`] that is accessed by closures, which span the accesses.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T: ?Sized>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Passes a pointer for reading: no thread may write meanwhile.
    #[inline(always)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Passes a pointer for writing: no other thread may read or write meanwhile.
    #[inline(always)]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
